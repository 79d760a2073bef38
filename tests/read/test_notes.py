"""Notes that change what votes mean: typed facts, shown on the terminal by default, and a warning in Python."""

import re
import unicodedata
import warnings

import pandas as pd
import pytest
from click.testing import CliRunner

import majorant as mj
from majorant.cli import majorant
from majorant.read.build import alike, id_notes, mask_account
from majorant.read.table import fold
from majorant.render.notes import account_facts, note_facts, note_text
from majorant.votes import Account, Note, NoteKind

ITEMS = [f"q{i}" for i in range(30)]


def votes_of(*labels, workers=("ana", "bo", "cy"), **reading):
    """Votes in which the labels take turns."""
    rows = [(item, worker, labels[i * (j + 1) % len(labels)]) for i, item in enumerate(ITEMS)
            for j, worker in enumerate(workers)]  # fmt: skip
    return mj.read(rows, **reading)


def noted(votes):
    return {note.kind: note.facts for note in votes.account.notes}


@pytest.mark.parametrize("word", ["NA", "n/a", "unclear", "refused", "Don't know", "ERROR", "?", "can't tell"])
def test_a_label_that_may_mean_no_vote_is_noted_with_its_votes(word):
    labels = noted(votes_of("yes", "no", word))[NoteKind.MISSING_LABEL]["labels"]
    assert list(labels) == [word]
    assert labels[word] > 0
    assert NoteKind.MISSING_LABEL not in noted(votes_of("yes", "no", word, empty=word))


@pytest.mark.parametrize("label", ["yes", "unclear picture", "naan", "valid", "0"])
def test_other_labels_are_not_gold(label):
    assert NoteKind.MISSING_LABEL not in noted(votes_of("no", label))


LOOK_ALIKE = ["Yes", "yes ", "y\u200bes", "YES"]


def test_labels_that_look_alike_are_noted_and_can_be_merged():
    votes = votes_of("yes", *LOOK_ALIKE, "no")
    (group,) = noted(votes)[NoteKind.LABEL_VARIANTS]["groups"]
    assert {label for label, _ in group} == {"yes", *LOOK_ALIKE}
    assert sum(n for _, n in group) == (votes.label_n != votes.labels.index("no")).sum()
    folded = votes_of("yes", "yes", "no", *LOOK_ALIKE, fold_case=True)
    assert folded.labels == ("no", "yes")  # the most common spelling
    assert NoteKind.LABEL_VARIANTS not in noted(folded)
    assert noted(folded)[NoteKind.FOLDED_LABELS]["groups"][0][0][0] == "yes"


def test_composed_and_decomposed_accents_numbers_and_text_look_alike():
    cafe = "caf\xe9"
    assert fold(cafe) == fold(unicodedata.normalize("NFD", cafe))
    assert alike([1, "1", 1.5, "01", "1.0"]) == [[1, "1", "01", "1.0"]]
    assert not alike(["a1", "a2", "x", 10, 100, "2024-01-01", "2024-01-02"])
    votes = mj.read([("a", "w", 1), ("a", "x", "1"), ("b", "w", 0), ("b", "x", "0")], fold_case=True)
    assert len(votes.labels) == 2


def test_gold_labels_are_folded_like_votes():
    rows = [("a", "w", "yes"), ("a", "x", "yes"), ("b", "w", "No"), ("b", "x", "No")]
    votes = mj.read(rows, gold={"a": "YES", "b": "no "}, fold_case=True)
    assert [votes.labels[k] for k in votes.gold_i] == ["yes", "No"]


def test_numbers_of_any_kind_as_classes_hint_at_scores():
    many = noted(votes_of(*[n / 10 for n in range(8)]))[NoteKind.NUMBER_LABELS]
    assert many == {"classes": 8, "low": 0.0, "high": 0.7}
    stars = pd.DataFrame({"item": ITEMS * 2, "rater": ["a"] * 30 + ["b"] * 30, "stars": [1, 2, 3, 4, 5, 3] * 10})
    assert NoteKind.NUMBER_LABELS in noted(mj.read(stars, label="stars"))
    assert NoteKind.NUMBER_LABELS not in noted(mj.read(stars.rename(columns={"stars": "class"})))  # codes of classes
    assert NoteKind.NUMBER_LABELS not in noted(votes_of(0, 1))
    assert NoteKind.NUMBER_LABELS not in noted(votes_of(0.1, 0.5, 0.9, threshold=0.5))


def test_votes_that_never_differ_look_like_combined_labels():
    rows = [(item, worker, "yn"[i % 2]) for i, item in enumerate(ITEMS) for worker in ("ana", "bo")]
    assert noted(mj.read(rows))[NoteKind.UNANIMOUS] == {"items": 30}
    assert NoteKind.UNANIMOUS not in noted(mj.read([*rows, ("q0", "cy", "n")]))
    assert NoteKind.UNANIMOUS not in noted(mj.read([(item, "ana", "yn"[i % 2]) for i, item in enumerate(ITEMS)]))


def test_a_label_or_id_with_a_control_character_looks_like_the_one_without(tmp_path):
    """A zero byte, which a declared encoding permits, does not silently create another label."""
    lines = [
        f"{item},{'ana' if n % 7 else 'ana' + chr(0)}{n % 3},yes{chr(0) * (n == 40)}"
        for n, item in enumerate(ITEMS * 3)
    ]
    (tmp_path / "votes.csv").write_text("\n".join(["item,worker,label", *lines]), encoding="latin-1")
    facts = noted(mj.read(tmp_path / "votes.csv", encoding="latin-1", repeats="each"))
    assert facts[NoteKind.LABEL_VARIANTS]["groups"] == [[["yes", 89], ["yes\0", 1]]]
    assert facts[NoteKind.ID_VARIANTS]["groups"][0] == ["ana\x000", "ana0"]


def test_ids_that_look_alike_are_noted_and_stay_apart():
    votes = votes_of("yes", "no", workers=("Ana", "ana", "bo"))
    assert votes.shape[1] == 3
    assert noted(votes)[NoteKind.ID_VARIANTS] == {"role": "worker", "groups": [["Ana", "ana"]], "count": 1}
    assert not id_notes("item", "item", ["q1", "q10", "Q2"])


def test_look_alike_ids_are_found_in_large_tables(tmp_path):
    path = tmp_path / "votes.csv"
    rows = [f"item{n},w{n % 7},{'yn'[n % 2]}\n" for n in range(5_000)]
    path.write_text("item,worker,label\n" + "".join(rows))
    assert NoteKind.ID_VARIANTS not in noted(mj.read(path))
    path.write_text("item,worker,label\n" + "".join(rows) + "Item7,w1,y\ncafe\u0301,w,y\ncaf\xe9,w,y\n")
    assert noted(mj.read(path))[NoteKind.ID_VARIANTS]["groups"] == [["Item7", "item7"], ["cafe\u0301", "caf\xe9"]]


def test_ids_that_a_spreadsheet_has_rounded_are_noted(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("item,worker,label\n1.23457E+17,w,y\n1.23457E+17,x,n\n2.5E+16,w,n\n")
    assert noted(mj.read(path))[NoteKind.ROUNDED_IDS] == {"role": "item", "column": "item", "example": "1.23457E+17"}


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_repeated_headers_are_not_votes(tmp_path, mark):
    header, rows = "item,worker,label\n", "a,w,1\na,x,0\n"
    path = tmp_path / "votes.csv"
    path.write_text(mark + header + rows + mark + header + "b,w,1\nb,w,0\n", encoding="utf-8")
    with pytest.raises(mj.DataError, match=r"row 6: worker 'w' labels item 'b' a second time, 0 after 1 in row 5"):
        mj.read(path)
    votes = mj.read(path, repeats="first")
    assert votes.shape == (2, 2, 2)
    assert noted(votes)[NoteKind.REPEATED_HEADER] == {"rows": 1}
    assert votes.account.rows == 4


def test_repeated_headers_of_a_wide_table_are_not_votes(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("item,ana,bo\na,y,n\nitem,ana,bo\nb,y,y\n")
    votes = mj.read(path)
    assert (votes.items, votes.labels) == (("a", "b"), ("n", "y"))
    assert noted(votes)[NoteKind.REPEATED_HEADER] == {"rows": 1}


class TestInPython:
    def test_warnings_point_to_the_caller_once_per_read(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            mj.check([(i, w, label) for i in "abc" for w, label in zip("uvw", ("yes", "no", "NA"), strict=True)])
        (warning,) = (one for one in caught if issubclass(one.category, mj.DataNote))
        assert warning.filename == __file__
        assert str(warning.message) == "'NA' (3 votes) counts as a label. If it means no vote, pass empty='NA'."
        assert warning.message.note.facts == {"labels": {"NA": 3}}

    def test_note_can_be_turned_into_an_error(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error", mj.DataNote)
            with pytest.raises(mj.DataNote, match="look alike"):
                votes_of("yes", "Yes", "no")

    def test_public_data_sets_and_votes_without_notes_do_not_warn(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            votes_of("yes", "no")


class TestOnTheTerminal:
    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "votes.csv"
        rows = [f"q{i},{w},{('yes', 'no', 'NA')[(i + j * j) % 3]}\n" for i in range(30) for j, w in enumerate("abc")]
        path.write_text("item,worker,label\n" + "".join(rows))
        return str(path)

    @pytest.mark.parametrize("command", ["check", "certify", "aggregate", "workers", "agreement"])
    def test_every_command_shows_them_unless_quiet(self, command, path, tmp_path):
        more = ["--out", str(tmp_path / "out.csv")] if command in ("aggregate", "workers") else []
        done = CliRunner().invoke(majorant, [command, path, *more])
        assert done.exit_code in (0, 3), done.output
        assert "If it means no vote, pass --empty NA." in done.stderr
        assert done.output.count("counts as a label") == 1
        assert "counts as a label" not in CliRunner().invoke(majorant, [command, path, *more, "-q"]).output

    def test_masked_votes_hide_names(self, tmp_path):
        path = tmp_path / "votes.csv"
        path.write_text(
            "item,worker,label\n" + "".join(f"q{i},{w},{i % 2}\n" for i in range(30) for w in ("Zoe", "zoe"))
        )
        done = CliRunner().invoke(majorant, ["check", str(path), "--mask"])
        assert "Some workers look alike" in done.stderr
        assert "zoe" not in done.output.lower()


EXAMPLES = {
    NoteKind.MISSING_LABEL: {"labels": {"NA": 3, "don't know": 1}},
    NoteKind.LABEL_VARIANTS: {"groups": [[["Yes", 3], ["yes", 1]]]},
    NoteKind.COLLAPSED: {"method": "dawid-skene", "label": "description", "given": 0.99, "voted": 0.28},
    NoteKind.MIXED_LABELS: {"kinds": ["bool", "number", "text"]},
    NoteKind.NUMBER_LABELS: {"classes": 79, "low": 0.01, "high": 0.99},
    NoteKind.ID_VARIANTS: {"role": "worker", "groups": [["Ana", "ana"]], "count": 4},
    NoteKind.ROUNDED_IDS: {"role": "item", "column": "id", "example": "1.2E+17"},
    NoteKind.WIDE: {"workers": ["Dr Lee", "Smith, John"], "left_out": {"Age": "about", "Biopsy": "unlike"}},
    NoteKind.GUESSED_COLUMNS: {"columns": {"item": "the image", "label": "mood"}},
    NoteKind.FILE_WORKERS: {"workers": ["gpt", "claude"]},
    NoteKind.JOINED_ITEMS: {"columns": ["question", "model"]},
    NoteKind.DROPPED_RESPONSES: {"kept": 15, "total": 120},
    NoteKind.BOTH_ORDERS: {"verdicts": 180, "changed": 14, "places": ["A", "B"]},
    NoteKind.NESTED: {"column": "votes"},
    NoteKind.ROW_PER_WORKER: {"column": "Email", "items": ["Q1", "Q2", "Q3"], "left_out": {"Timestamp": "about"}},
    NoteKind.SEVERAL_IN_CELL: {"example": "food|price", "labels": 3},
    NoteKind.REPEATED_HEADER: {"rows": 2},
    NoteKind.UNANIMOUS: {"items": 60},
    NoteKind.GOLD_UNKNOWN_ITEMS: {"source": "gold.csv", "items": ["a", "b"], "count": 12},
    NoteKind.GOLD_UNUSED: {"names": ["maybe"], "count": 1},
    NoteKind.THRESHOLD: {"threshold": 0.5},
    NoteKind.ORDER: {"labels": ["low", "high"]},
    NoteKind.SEVERAL: {},
    NoteKind.FOLDED_LABELS: {"groups": [[["Yes", 3], ["yes", 1]]]},
    NoteKind.ABSTAINED: {"rows": 1},
    NoteKind.MERGED: {"rows": 2},
    NoteKind.DROPPED: {"rows": 1, "repeats": "first"},
    NoteKind.SINGLE_CLASS: {"label": "yes"},
    NoteKind.UNLABELLED_ITEMS: {"names": ["a"], "count": 1},
    NoteKind.SILENT_WORKERS: {"names": ["w"], "count": 7},
    NoteKind.EQUAL_TRUST: {"column": "trust", "value": 1.0},
    NoteKind.GOLD_SAMPLE: {"source": "gold.csv", "labels": 40},
    NoteKind.GOLD_SKIPPED: {"items": 3},
    NoteKind.GOLD_WITHOUT_DESIGN: {"source": "to_label.csv", "labels": 12, "disagreed": 1},
}


@pytest.mark.parametrize("kind", NoteKind, ids=str)
def test_every_note_has_text_for_python_and_the_command_line(kind):
    note = Note(kind, EXAMPLES[kind])
    for flags in (False, True):
        text = note_text(note, flags=flags)
        assert text[0].isupper() or text[0] in "'0123456789"
        assert text.endswith((".", "?"))
    assert not re.search(r"\w=", note_text(note, flags=True))
    assert " --" not in note_text(note)
    (masked,) = mask_account(Account(source="x", notes=(note,))).notes
    assert note_text(masked)
    assert note_facts(note)["facts"] == note.facts


def test_flags_in_notes_can_be_pasted():
    text = note_text(Note(NoteKind.WIDE, EXAMPLES[NoteKind.WIDE]), flags=True)
    assert "--gold Biopsy" in text
    assert "--workers 'Dr Lee,Smith? John'" in text
    assert "--empty NA --empty 'don'\"'\"'t know'" in note_text(
        Note(NoteKind.MISSING_LABEL, EXAMPLES[NoteKind.MISSING_LABEL]), flags=True
    )


def test_the_account_as_json_has_kind_text_and_facts():
    facts = account_facts(votes_of("yes", "no", "NA").account)
    assert facts["notes"] == [
        {
            "kind": "missing-label",
            "text": "'NA' (20 votes) counts as a label. If it means no vote, pass empty='NA'.",
            "changes_meaning": True,
            "facts": {"labels": {"NA": 20}},
        }
    ]
