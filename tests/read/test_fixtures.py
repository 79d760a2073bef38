"""A small file of every format is read without options, described, and never silently misread."""

import gzip
import json
import shutil
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import majorant as mj
import sizes
from majorant.errors import MajorantError
from majorant.read import files, opening
from majorant.read.formats import FORMATS, fits_table, recognise, recognise_table
from majorant.read.formats.base import Context, Format, TableFormat, write_votes
from majorant.read.options import Choice, ReadOptions
from majorant.render.notes import note_text

RECORDS = [format for format in FORMATS if isinstance(format, Format)]
TABLES = [format for format in FORMATS if isinstance(format, TableFormat)]
HERE = Path(__file__).parent / "fixtures"
PASS = {"pos": "pass", "neg": "fail"}
LETTER = {"pos": "C", "neg": "I"}
NUMBER = {"pos": 1, "neg": 0}
STARS = {"pos": 5, "neg": 2}
SCORE = {"pos": 0.9, "neg": 0.2}
SAME = {"pos": "pos", "neg": "neg"}
BALLOTS = ["pos pos neg", "neg neg neg", "neg pos -", "pos pos pos"]  # of ana, bo and cy on the four items

# file, settings, how it is described, how labels are called, and the number of abstentions
CASES = [
    ("crowd_kit.csv", {}, "CSV", SAME, 1),
    ("performers.tsv", {}, "CSV, tab-separated", SAME, 1),
    ("votes.parquet", {}, "Parquet", SAME, 1),
    ("judges.jsonl", {}, "JSON Lines", PASS, 1),
    ("scores.csv", {}, "CSV", SCORE, 1),
    ("inspect.json", {}, "Inspect log, 3 scorers, 4 samples", LETTER, 1),
    ("inspect.eval", {}, "Inspect log, 3 scorers, 4 samples", LETTER, 1),
    ("inspect_*.eval", {}, "Inspect log, 1 scorer, 4 samples", LETTER, 1),
    ("promptfoo.json", {}, "promptfoo results file, 3 assertions, 4 outputs", PASS, 1),
    ("promptfoo.jsonl", {}, "promptfoo results file, 3 assertions, 4 outputs", PASS, 1),
    ("promptfoo.json", {"label": "score"}, "promptfoo results file, 3 assertions, 4 outputs", SCORE, 1),
    ("lm_eval/*/samples_*.jsonl", {}, "lm-eval samples log, 1 model, 4 samples", SAME, 1),
    ("deepeval.json", {}, "DeepEval test run, 3 metrics, 4 test cases", PASS, 1),
    ("ragas.csv", {}, "Ragas results (CSV", NUMBER, 0),
    ("label_studio.json", {}, "Label Studio export, 3 annotators, 4 tasks", SAME, 1),
    ("label_studio_min.json", {}, "Label Studio JSON-MIN export, 3 annotators, 4 tasks", SAME, 0),
    ("label_studio.csv", {}, "Label Studio table (CSV", SAME, 0),
    ("label_studio_min_rating.json", {}, "Label Studio JSON-MIN export, 3 annotators, 4 tasks", STARS, 0),
    ("label_studio_rating.csv", {}, "Label Studio table (CSV", STARS, 0),
    ("argilla.json", {}, "Argilla export, 3 annotators, 4 records", SAME, 0),
    ("argilla_flat.jsonl", {}, "flat Argilla export, 3 annotators, 4 records", SAME, 1),
    ("prodigy.jsonl", {}, "Prodigy export, 3 annotators, 4 examples", SAME, 1),
    ("doccano/*.jsonl", {}, "doccano export, 1 member, 4 examples", SAME, 1),
    ("doccano_user.jsonl", {}, "JSON Lines", SAME, 1),
    ("labelbox.ndjson", {}, "Labelbox export, 3 labelers, 4 data rows", SAME, 0),
    ("toloka.tsv", {}, "Toloka assignments (CSV", SAME, 0),
    ("mturk.csv", {}, "Mechanical Turk results (CSV", SAME, 1),
    ("mturk_json.csv", {}, "Mechanical Turk results (CSV", SAME, 1),
    ("cvat/*.xml", {}, "CVAT export, 1 annotator, 4 images", SAME, 1),
    ("ground_truth_request.json", {}, "Ground Truth consolidation request, 3 workers, 4 objects", SAME, 0),
    ("ground_truth_manifest.jsonl", {}, "Ground Truth output manifest, 3 workers, 4 objects", SAME, 0),
    ("ground_truth_responses/iteration-1/*/*.json", {}, "Ground Truth worker response, 3 workers, 1 object", SAME, 0),
    ("wide.csv", {}, "CSV", SAME, 0),
    ("wide_text.csv", {"workers": "ana,bo,cy"}, "CSV", SAME, 0),
    ("r_wide.csv", {"empty": ["NA"]}, "CSV", SAME, 1),
    ("r_long.csv", {"empty": ["NA"]}, "CSV", STARS, 1),
    ("spss.csv", {"codes": "1=pos,2=neg", "empty": ["9"]}, "CSV", SAME, 1),
    ("wide.xlsx", {}, "spreadsheet, sheet 'ratings', wide", SAME, 0),
    ("long.ods", {}, "spreadsheet, sheet 'ratings'", SAME, 1),
]
IDS = [f"{name} {settings}" for name, settings, *_ in CASES]


def ballots(votes) -> list[str]:
    """The labels of each item, by worker."""
    found = [["-"] * len(votes.workers) for _ in votes.items]
    order = sorted(range(len(votes.workers)), key=lambda j: _rank(votes.workers[j]))
    for i, j, k in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True):
        found[i][order.index(j)] = str(votes.labels[k])
    return [" ".join(row) for row in found]


ORDER = ("ana", "bo", "cy", "strict", "lenient", "model_graded_qa", "phi", "tau", "chi", "is_positive", "is_polite")


def _rank(worker) -> tuple[int, str]:
    return next((n for n, name in enumerate(ORDER) if name in str(worker)), len(ORDER)), str(worker)


def as_written(names) -> list[str]:
    return [" ".join(str(names.get(word, word)) for word in row.split()) for row in BALLOTS]


@pytest.mark.parametrize(("name", "settings", "described", "labels", "abstained"), CASES, ids=IDS)
def test_every_format_is_read_and_described(name, settings, described, labels, abstained):
    votes = mj.read(HERE / name, **settings)
    assert ballots(votes) == as_written(labels)
    assert votes.account.format.startswith(described)
    assert votes.account.abstained == abstained
    assert votes.account.balanced


def flat_files() -> list[Path]:
    """One file of each format: the first of a folder stands for all in it."""
    found: dict[Path, Path] = {}
    for path in sorted(HERE.rglob("*")):
        if path.is_file() and path.name not in UNLIKE:
            own = path.relative_to(HERE)
            found.setdefault(own if own.parent == Path() else Path(own.parts[0]), path)
    return list(found.values())


UNLIKE = (  # these ask other questions, or are like the one before them
    "several.jsonl", "spss.csv", "ordered.csv", "pairwise.csv", "judges_of_models.jsonl", "inspect_bo.eval",
    "inspect_cy.eval",
)  # fmt: skip


def same_votes(votes) -> bool:
    """Whether the votes of a file came out as they are, no matter what its labels are called."""
    known = {tuple(row) for row in zip(*(row.split() for row in BALLOTS), strict=True)}
    columns = list(zip(*(row.split() for row in ballots(votes)), strict=True))
    words = {str(value): key for names in (PASS, LETTER, NUMBER, STARS, SCORE, SAME) for key, value in names.items()}
    told = {tuple(words.get(word, "-" if word == "NA" else word) for word in column) for column in columns}
    own = {tuple(words.get(w, w) for w in col) for col in told}
    return own <= known or len(votes.items) == 1  # one of the four files of a folder


@pytest.mark.parametrize("path", flat_files(), ids=lambda path: str(path.relative_to(HERE)))
def test_no_reader_of_another_format_misreads_a_file_in_silence(path, tmp_path):
    """A file with the wrong extension or format option is rejected or read correctly."""
    silent = []
    settings = {"workers": "ana,bo,cy"} if path.name == "wide_text.csv" else {}
    for ending in (".csv", ".json", *((".parquet", ".eval", ".xlsx", ".xml", "") if sizes.LONG else ())):
        copy = tmp_path / f"{path.parent.name}-{path.stem}{ending}"
        shutil.copy(path, copy)
        told = {"": ["csv", "json", None], ".csv": [None, "json"], ".json": [None, "csv"]}.get(ending, [None])
        for format in told:
            try:
                votes = mj.read(copy, format=format, **settings)
            except MajorantError:
                continue
            if not same_votes(votes):
                silent.append((ending, format, votes.account.format, ballots(votes)))
    assert not silent


TABLE_FILES = [path for path in flat_files() if path.suffix in (".csv", ".tsv", ".xlsx", ".ods", ".parquet")]


@pytest.mark.parametrize("path", TABLE_FILES, ids=lambda path: path.name)
def test_no_reader_of_another_tools_table_misreads_a_table_in_silence(path, monkeypatch):
    names = _columns(path)
    own = recognise_table(names)
    assert sum(fits_table(tool, names) for tool in TABLES) <= 1
    settings = {"workers": "ana,bo,cy"} if path.name == "wide_text.csv" else {}
    for other in TABLES:
        if other is own:
            continue
        monkeypatch.setattr(opening, "recognise_table", lambda _, other=other: other)
        try:
            votes = mj.read(path, **settings)
        except MajorantError:
            continue
        assert same_votes(votes), (other.name, ballots(votes))


def _columns(path) -> tuple[str, ...]:
    with opening.open_rows(path, ReadOptions()) as every:
        return every[0].names


def json_records() -> list[Path]:
    return [path for path in flat_files() if path.suffix in (".json", ".jsonl", ".ndjson")]


def records_of(path) -> list[dict]:
    text = path.read_text()
    try:
        value = json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("path", json_records(), ids=lambda path: path.name)
def test_a_record_belongs_to_one_format_and_the_others_refuse_it(path, tmp_path):
    records = records_of(path)
    keys = frozenset(key for record in records for key in record)
    claims = [format for format in RECORDS if format.recognise(keys, records[0])]
    assert len(claims) <= 1
    mine = recognise(list(keys), records[0], path.name)
    for format in RECORDS:
        if format is mine or (mine is not None and format.name == mine.name):
            continue
        with pytest.raises(MajorantError):
            write_votes(tmp_path / "votes.jsonl", records, format, Context(source=path.name), Choice.of())


def test_logs_of_another_model_add_items_and_of_the_same_model_add_judges(tmp_path):
    def log(name, model):
        document = json.loads((HERE / "inspect.json").read_text())
        document["eval"]["model"] = model
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(document))
        return path

    phi, again, tau = log("one", "phi"), log("two", "phi"), log("three", "tau")
    assert mj.read([phi, again]).shape[:2] == (4, 6)
    assert "strict in two" in mj.read([phi, again]).workers
    both = mj.read([phi, tau])
    assert both.shape[:2] == (8, 3)
    assert "tau: 3" in both.items


def test_epochs_are_repeats(tmp_path):
    document = json.loads((HERE / "inspect.json").read_text())
    document["samples"] += [{**sample, "epoch": 2} for sample in document["samples"]]
    document["samples"][-1]["scores"] = {"strict": {"value": "I"}}
    path = tmp_path / "epochs.json"
    path.write_text(json.dumps(document))
    with pytest.raises(MajorantError, match="repeats="):
        mj.read(path)
    assert mj.read(path, repeats="first").shape[:2] == (4, 3)


def changed(tmp_path, name, change):
    """A copy of a log with something changed."""
    document = json.loads((HERE / name).read_text())
    change(document)
    path = tmp_path / name
    path.write_text(json.dumps(document))
    return path


def test_scorers_of_the_same_name_are_separate_judges(tmp_path):
    def twice(log):
        log["eval"]["scorers"] = [
            {"name": "pkg/model_graded_qa", "options": {"model": "openai/phi"}},
            {"name": "pkg/model_graded_qa", "options": {"model": "openai/tau"}},
        ]
        for sample in log["samples"]:
            sample["scores"] = {"model_graded_qa": {"value": "C"}, "model_graded_qa1": {"value": "I"}}

    votes = mj.read(changed(tmp_path, "inspect.json", twice))
    assert votes.workers == ("model_graded_qa by openai/phi", "model_graded_qa1 by openai/tau")
    assert ballots(votes) == ["C I"] * 4


def test_old_logs_have_one_score_and_invalid_samples_none(tmp_path):
    def older(log):
        for sample in log["samples"]:
            sample["score"] = sample.pop("scores")["strict"]
        log["samples"][0]["invalidation"] = {"author": "ana"}

    votes = mj.read(changed(tmp_path, "inspect.json", older))
    assert votes.workers == ("strict",)
    assert ballots(votes) == ["-", "I", "I", "C"]


def test_samples_in_pieces_are_read_without_their_messages(tmp_path):
    path = tmp_path / "large.eval"
    document = json.loads((HERE / "inspect.json").read_text())
    samples = document.pop("samples")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({**document, "version": 3}))
        for sample in samples:
            folder = f"samples/{sample['id']}_epoch_1"
            archive.writestr(f"{folder}/sample.json", json.dumps(sample))
            archive.writestr(f"{folder}/messages/0.json", "[]")
            archive.writestr(f"{folder}/events/stats.json", "{}")
    assert ballots(mj.read(path)) == as_written(LETTER)


def test_labelbox_benchmarks_are_gold_and_other_labels_votes(tmp_path):
    """Labelbox writes the benchmark's id on the labels that are compared with it."""
    records = [json.loads(line) for line in (HERE / "labelbox.ndjson").read_text().splitlines()]
    (project,) = records[0]["projects"].values()
    expert = json.loads(json.dumps(project["labels"][0]))
    expert |= {"id": "expert", "label_details": {"created_by": "eve@example.org"}}
    for label in project["labels"]:
        label["performance_details"]["benchmark_reference_label"] = "expert"
    project["labels"].append(expert)
    path = tmp_path / "benchmark.ndjson"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    votes = mj.read(path)
    assert ballots(votes) == as_written(SAME)
    assert votes.gold_i.tolist() == [votes.labels.index("pos"), -1, -1, -1]


def test_the_target_of_a_choice_is_a_position_written_as_text(tmp_path):
    """lm-eval writes the target as text, so that of a multiple choice is "1"."""
    sample = {
        "doc_id": 0, "doc": {}, "target": "1", "filter": "none", "resps": [], "doc_hash": "h",
        "arguments": {f"gen_args_{n}": {"arg_0": "Q", "arg_1": f" {word}"} for n, word in enumerate(("neg", "pos"))},
        "filtered_resps": [["-3.5", "False"], ["-1.5", "True"]],
    }  # fmt: skip
    path = tmp_path / "phi" / "samples_mood.jsonl"
    path.parent.mkdir()
    path.write_text(json.dumps(sample) + "\n" + json.dumps({**sample, "doc_id": 1, "target": "0"}) + "\n")
    votes = mj.read(path)
    assert ballots(votes) == ["pos", "pos"]
    assert [votes.labels[k] for k in votes.gold_i] == ["pos", "neg"]


def test_codes_have_names_and_a_code_without_one_is_refused(tmp_path):
    with pytest.raises(MajorantError, match=r"code 9 has no name. List it in codes=, or pass empty='9'"):
        mj.read(HERE / "spss.csv", codes="1=pos,2=neg")
    votes = mj.read({"item": [1, 1], "worker": [1, 2], "label": [1.0, 2.0], "gold": [2, 2]}, codes={1: "yes", 2: "no"})
    assert votes.labels == ("no", "yes")
    assert votes.gold_i.tolist() == [0]
    assert mj.read(HERE / "spss.csv", codes="1=pos,2=neg", order="neg,pos", empty=["9"]).ordered
    with pytest.raises(MajorantError, match="codes= names every code once"):
        mj.read(HERE / "spss.csv", codes="1,2")
    (tmp_path / "study.sav").write_bytes(b"$FL2@(#) SPSS DATA FILE")
    with pytest.raises(MajorantError, match=r"an SPSS data file.*Save it as CSV"):
        mj.read(tmp_path / "study.sav")


def test_a_file_per_worker(tmp_path):
    for name, label in (("ana", "yes"), ("bo", "no")):
        (tmp_path / f"{name}.csv").write_text(f"id,text,label\n1,hi,{label}\n2,ho,yes\n")
    for settings in ({}, {"worker": "file"}):
        votes = mj.read(tmp_path, **settings)
        assert votes.workers == ("ana", "bo")
        assert ballots(votes) == ["yes no", "yes yes"]


def test_items_are_joined_with_models_if_judges_rate_several_models():
    votes = mj.read(HERE / "judges_of_models.jsonl")
    assert votes.shape == (8, 3, 2)
    assert "1 | tau" in votes.items
    assert [note.kind for note in votes.account.notes] == ["joined-items"]


def test_other_columns_of_a_wide_table_are_left_out_and_named():
    for settings in ({}, {"wide": True}):
        votes = mj.read(HERE / "wide_text.csv", **settings)
        assert votes.workers == ("ana", "bo", "cy")
        (note,) = (note for note in votes.account.notes if note.kind == "wide")
        assert note.facts["left_out"]["prompt"] == "about"
        assert "workers=['ana', 'bo', 'cy']" in note_text(note)
    with pytest.raises(MajorantError, match="workers='eve' matches no column"):
        mj.read(HERE / "wide_text.csv", workers="eve")
    assert mj.read(HERE / "wide_text.csv", workers=["a*", "bo"]).workers == ("ana", "bo")


def test_unreadable_export_error_names_a_readable_one(tmp_path):
    def refused(name, content, words):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        with pytest.raises(MajorantError, match=words):
            mj.read(path)

    header = json.loads((HERE / "inspect.json").read_text())
    refused("header.json", {**header, "samples": []}, r"Inspect log, without samples.*\.eval")
    merged = {"source": "a", "mood": 0, "mood-metadata": {"class-name": "pos", "confidence": 0.9}}
    refused("output.manifest.jsonl", merged, "already merged.*worker-response")
    box = {"type": "rectanglelabels", "from_name": "b", "value": {"rectanglelabels": ["car"]}}
    task = {"id": 1, "data": {}, "annotations": [{"completed_by": 1, "result": [box]}]}
    refused("boxes.json", [task], "boxes or spans only")
    refused("old.json", [{"ID": "1", "DataRow ID": "d", "Label": {}}], "Labelbox export, of the old kind.*export v2")
    shapes = "<annotations><image name='a'><box label='car'/></image></annotations>"
    refused("shapes.xml", shapes, "CVAT export, with shapes only")
    shared = {"id": 1, "text": "a", "label": ["pos"], "Comments": []}
    refused("all.jsonl", shared, "doccano export, of a project whose members share.*one file per member")
    refused("ana.jsonl", {**shared, "label": [[0, 1, "PER"]]}, "doccano export, with spans")
    alone = {"text": "a", "_input_hash": 1, "_task_hash": 2, "label": "economy", "answer": "accept"}
    refused("alone.jsonl", alone, "Prodigy export, without the names of annotators.*session=NAME")
    header, row = "id,annotator,annotation_id,boxes", '1,1,1,"[{""x"": 1, ""rectanglelabels"": [""car""]}]"'
    refused("boxes.csv", f"{header}\n{row}\n", "column 'boxes'.*is not a single answer")


def test_several_labels_are_a_yes_or_no_on_each(tmp_path):
    path = HERE / "several.jsonl"
    with pytest.raises(MajorantError, match="several=True"):
        mj.read(path)
    votes = mj.read(path, several=True)
    assert votes.labels == ("no", "yes")
    assert votes.slices == ("neg", "pos", "short")
    assert votes.shape == (12, 3, 2)
    assert ballots(votes)[:3] == ["no no yes", "yes yes no", "yes yes yes"]  # item 1: neg, pos, short
    assert ballots(votes)[8] == "yes yes -" or ballots(votes)[8] == "yes yes no"
    table = tmp_path / "votes.csv"
    table.write_text("item,worker,label\n1,ana,pos|short\n1,bo,pos\n2,ana,\n2,bo,neg\n")
    assert mj.read(table, several=True).account.abstained == 3
    listed = tmp_path / "listed.csv"
    listed.write_text('item,worker,label\n1,ana,"[""pos"", ""short""]"\n1,bo,"[""pos""]"\n')
    with pytest.raises(MajorantError, match="several=True"):
        mj.read(listed)
    assert mj.read(listed, several=True).shape == (2, 2, 2)


class TestPlatforms:
    @staticmethod
    def table(path, rows, **more):
        path.parent.mkdir(parents=True, exist_ok=True)
        columns = {"item": [i for i, _, _ in rows], "worker": [w for _, w, _ in rows], "label": [x for *_, x in rows]}
        pq.write_table(pa.table(columns | more), path)

    def test_a_folder_is_one_table_and_its_partitions_are_columns(self, tmp_path):
        self.table(tmp_path / "day=1" / "lang=en" / "part-0.parquet", [("a", "w", 1), ("a", "x", 0)])
        self.table(tmp_path / "day=2" / "lang=d%20e" / "part-0.parquet", [("b", "w", 1)])
        (tmp_path / "_SUCCESS").write_text("")
        (tmp_path / "notes.md").write_text("no votes")
        votes = mj.read(tmp_path, by="lang")
        assert votes.shape == (2, 2, 2)
        assert votes.slices == ("d e", "en")
        assert mj.read(tmp_path, by="day").slices == ("1", "2")

    def test_workers_may_be_partitions(self, tmp_path):
        for worker in ("ana", "bo"):
            path = tmp_path / f"worker={worker}" / "votes.csv.gz"
            path.parent.mkdir()
            path.write_bytes(gzip.compress(b"item,label\nq1,yes\nq2,no\n"))
        assert mj.read(tmp_path).workers == ("ana", "bo")

    def test_delta_and_iceberg_tables_are_rejected(self, tmp_path):
        self.table(tmp_path / "part-0.parquet", [("a", "w", 1)])
        (tmp_path / "_delta_log").mkdir()
        with pytest.raises(MajorantError, match="Delta"):
            mj.read(tmp_path)

    def test_an_address_is_fetched_only_where_that_is_allowed(self, tmp_path, monkeypatch):
        with pytest.raises(MajorantError, match="allow_network=True"):
            mj.read("s3://bucket/votes.parquet")
        self.table(tmp_path / "votes.parquet", [("a", "w", 1), ("a", "x", 0)])
        monkeypatch.setattr(files, "fetch", lambda name, folder: [(name, tmp_path / "votes.parquet")])
        assert mj.read("s3://bucket/votes.parquet", allow_network=True).shape == (1, 2, 2)
