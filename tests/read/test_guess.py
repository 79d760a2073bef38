"""Columns guessed from their content are right or rejected, never wrong, and the guess is printed."""

import random

import pandas as pd
import pytest

import majorant as mj
from majorant.votes import NoteKind

TRUTH = ["pos" if (7 * i) % 5 < 3 else "neg" for i in range(60)]


def said(i, j):
    """What worker j says of item i: mostly the truth."""
    return TRUTH[i] if (i * 13 + j * 7) % 6 else ("neg" if TRUTH[i] == "pos" else "pos")


def long(item, worker, label, **more):
    rows = [(i, j) for i in range(60) for j in sorted({i % 6, (i * 5 + 1) % 6, (i + 3) % 6})]
    columns = {
        item: [f"x{i}" for i, _ in rows],
        worker: [f"u{j}" for _, j in rows],
        label: [said(*row) for row in rows],
    }
    return pd.DataFrame(
        {**columns, **{name: [make(n, *row) for n, row in enumerate(rows)] for name, make in more.items()}}
    )


def guessed(votes):
    return next((dict(note.facts["columns"]) for note in votes.account.notes if note.kind == "guessed-columns"), None)


@pytest.mark.parametrize(
    "names",
    [
        ("image_path", "annotator_email", "class_name"),
        ("review_id", "annotator", "sentiment"),
        ("essay", "rater", "points"),
        ("tweet", "crowdworker_id", "stance"),
        ("phone", "who", "mood"),
        ("clip_url", "by", "emotion"),
        ("patient", "radiologist_name", "severity"),
    ],
    ids=" ".join,
)
def test_common_custom_names(names):
    more = {
        "text": lambda n, i, j: f"a long text that belongs to {i}",
        "created_at": lambda n, i, j: f"2024-01-02 {n % 24:02}:{n % 60:02}:07",
        "country": lambda n, i, j: ("US", "IN")[j % 2],
        "language": lambda n, i, j: ("en", "de", "fr")[i % 3],
    }
    votes = mj.read(long(*names, **more))
    roles = dict(zip(("item", "worker", "label"), names, strict=True))
    assert {role: votes.account.columns[role] for role in roles} == roles
    assert votes.shape == (60, 6, 2)
    assert guessed(votes).items() <= roles.items()


def test_a_row_number_beside_the_item_is_not_the_item():
    votes = mj.read(long("task_id", "annotator", "label", id=lambda n, i, j: n))
    assert votes.account.columns["item"] == "task_id"
    assert guessed(votes) == {"item": "task_id"}


def test_two_label_columns_are_ambiguous():
    with pytest.raises(mj.DataError, match="cannot tell which column is the label"):
        mj.read(long("item", "worker", "aaa", bbb=lambda n, i, j: "xyz"[(n * n) % 3]))


def test_uninformative_names_are_an_error():
    with pytest.raises(mj.DataError, match=r"item='NAME' worker='NAME' label='NAME'"):
        mj.read(long("aa", "bb", "cc"))


def test_guess_matches_reading_with_explicit_flags(tmp_path):
    frame = long("image_path", "annotator_email", "class_name")
    path = tmp_path / "votes.csv"
    frame.to_csv(path, index=False)
    votes = mj.read(path)
    told = mj.read(path, **guessed(votes))
    assert guessed(told) is None
    assert votes.items == told.items
    assert (votes.label_n == told.label_n).all()


DISTRACTORS = {
    "rowno": lambda n, i, j: n,
    "when": lambda n, i, j: f"2024-01-01 {(n * 7) % 24:02}:{(n * 13) % 60:02}",
    "txt": lambda n, i, j: f"some longer text number {i}",
    "lang": lambda n, i, j: ("en", "de", "fr")[i % 3],
    "ctry": lambda n, i, j: ("US", "IN")[j % 2],
    "batch": lambda n, i, j: f"b{n // 10}",
    "conf": lambda n, i, j: 1 + (n * n) % 3,
    "const": lambda n, i, j: "v1",
    "hit": lambda n, i, j: f"h{i // 5}",
    "dur": lambda n, i, j: f"{(n * 37) % 500 / 10}",
}


def random_table(rng):
    n_items, n_workers = rng.choice([5, 8, 20, 60, 200]), rng.choice([3, 5, 8, 20, 60])
    per_item, n_classes = min(rng.choice([1, 2, 3, 5]), n_workers), rng.choice([2, 3, 5])
    rows = [(i, j) for i in range(n_items) for j in rng.sample(range(n_workers), per_item)]
    rng.shuffle(rows)
    truth = [rng.randrange(n_classes) for _ in range(n_items)]
    labels = [truth[i] if rng.random() < 0.75 else rng.randrange(n_classes) for i, _ in rows]
    names = rng.choice([("image_path", "annotator_email", "sentiment"), ("aa", "bb", "cc")])
    columns = dict(
        zip(names, ([f"i{i}" for i, _ in rows], [f"w{j}" for _, j in rows], [f"l{k}" for k in labels]), strict=True)
    )
    for name in rng.sample(list(DISTRACTORS), rng.choice([0, 1, 2, 3])):
        columns[name] = [str(DISTRACTORS[name](n, *row)) for n, row in enumerate(rows)]
    order = list(columns)
    rng.shuffle(order)
    return {name: columns[name] for name in order}, names


def test_column_guesses_are_never_wrong():
    rng, right, asked = random.Random(7), 0, 0
    for _ in range(150):
        table, names = random_table(rng)
        try:
            columns = mj.read(table, repeats="each").account.columns
        except mj.DataError:
            asked += 1
            continue
        assert (columns["worker"], columns["label"]) == names[1:], list(table)
        assert columns["item"] in (names[0], "txt"), list(table)
        right += 1
    assert right > 30
    assert asked > 30


class TestFilesOfOneWorker:
    @pytest.fixture
    def folder(self, tmp_path):
        for j, judge in enumerate(("claude", "gemini", "gpt")):
            lines = [f'{{"id": "q{i}", "verdict": "{said(i, j)}", "reason": "{i} {judge}"}}\n' for i in range(30)]
            (tmp_path / f"{judge}.jsonl").write_text("".join(lines))
        return tmp_path

    def test_the_name_of_the_file_is_the_worker(self, folder):
        votes = mj.read(folder)
        assert votes.workers == ("claude", "gemini", "gpt")
        (note,) = (note for note in votes.account.notes if note.kind == NoteKind.FILE_WORKERS)
        assert note.facts == {"workers": ["claude", "gemini", "gpt"]}

    def test_model_that_is_constant_across_files_is_the_judged_model(self, folder):
        for path in folder.iterdir():
            path.write_text(path.read_text().replace('"verdict"', '"model": "my-llm", "verdict"'))
        assert mj.read(folder).workers == ("claude", "gemini", "gpt")
        for n, path in enumerate(folder.iterdir()):
            path.write_text(path.read_text().replace("my-llm", f"model-{n}"))
        assert set(mj.read(folder).workers) == {"model-0", "model-1", "model-2"}

    def test_files_of_the_same_name_are_distinguished_by_folder(self, folder, tmp_path_factory):
        place = tmp_path_factory.mktemp("runs")
        for path in folder.iterdir():
            (place / path.stem).mkdir()
            path.rename(place / path.stem / "results.jsonl")
        assert mj.read(place).workers == ("claude/results", "gemini/results", "gpt/results")

    def test_single_file_without_workers_is_an_error(self, folder):
        with pytest.raises(mj.DataError, match="worker='file'"):
            mj.read(folder / "gpt.jsonl")

    def test_files_with_and_without_workers_are_not_mixed(self, folder):
        (folder / "more.jsonl").write_text('{"id": "q1", "judge": "phi", "verdict": "pos"}\n')
        with pytest.raises(mj.DataError, match="has no column for the worker, and other files have"):
            mj.read(folder)


WIDE = {f"rater{j}": [said(i, j) for i in range(60)] for j in (1, 2, 3)}


def wide(**more):
    return pd.DataFrame({"item": range(60), **WIDE, **more})


def left_out(frame, **reading):
    votes = mj.read(frame, **reading)
    (note,) = (note for note in votes.account.notes if note.kind == NoteKind.WIDE)
    assert note.facts["workers"] == list(map(str, votes.workers))
    return note.facts["left_out"]


class TestOtherColumnsOfWideTables:
    @pytest.mark.parametrize(
        "name", ["label", "consensus", "majority", "final", "adjudicated", "target", "correct", "answer_key",
                 "reference", "MV", "prediction"],
    )  # fmt: skip
    def test_possible_truth_columns_are_not_workers(self, name):
        assert left_out(wide(**{name: TRUTH})) == {name: "truth"}
        votes = mj.read(wide(**{name: TRUTH}), gold=name)
        assert (votes.shape[1], (votes.gold_i >= 0).sum()) == (3, 60)

    @pytest.mark.parametrize("name", ["gt", "y_true", "truth", "human label"])
    def test_true_label_columns_are_gold(self, name):
        votes = mj.read(wide(**{name: TRUTH}))
        assert (votes.shape[1], (votes.gold_i >= 0).sum()) == (3, 60)

    @pytest.mark.parametrize(
        "name", ["is_test", "fold", "train", "count", "n_votes", "flagged", "idx", "batch", "difficulty", "Age"]
    )
    def test_item_descriptions_are_not_workers(self, name):
        assert left_out(wide(**{name: TRUTH})) == {name: "about"}

    def test_column_with_a_dissimilar_name_is_not_a_worker(self):
        assert left_out(wide(Biopsy=TRUTH)) == {"Biopsy": "unlike"}
        assert left_out(wide(rater4=TRUTH)) == {}
        people = pd.DataFrame({"item": range(60), "ana": WIDE["rater1"], "bo": WIDE["rater2"], "cy": TRUTH})
        assert left_out(people) == {}

    def test_columns_of_text_or_unique_values_are_not_workers(self):
        frame = wide(notes2=[f"text {i}" for i in range(60)], ward=["A", "B", "C"] * 20)
        assert left_out(frame) == {"notes2": "values", "ward": "alone"}

    def test_column_repeating_the_labels_in_another_spelling_is_a_worker(self):
        assert left_out(wide(rater4=[label.upper() for label in TRUTH])) == {}

    def test_excluded_columns_can_be_included(self):
        assert mj.read(wide(Biopsy=TRUTH), workers="*").shape[1] == 4


def test_the_note_can_be_pasted_for_names_with_blanks_and_commas(tmp_path):
    import shlex

    from click.testing import CliRunner

    from majorant.cli import majorant
    from majorant.render.notes import note_text

    path = tmp_path / "x.csv"
    frame = wide(Age=[30 + i % 40 for i in range(60)])
    frame.columns = ["item", "Dr Lee, A", "Dr Smith", "Dr Wu [x]", "Age"]
    frame.to_csv(path, index=False)
    (note,) = (note for note in mj.read(path).account.notes if note.kind == NoteKind.WIDE)
    flags = shlex.split(note_text(note, flags=True).split("To choose others: ")[1].rstrip("."))
    done = CliRunner().invoke(majorant, ["agreement", str(path), *flags])
    assert done.exit_code == 0, done.output
    assert "One row per item" not in done.output
    assert mj.read(path, workers=flags[1]).workers == ("Dr Lee, A", "Dr Smith", "Dr Wu [x]")
