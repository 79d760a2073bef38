"""Files of five kinds of users are read without options, or with one flag that the error message names."""

from __future__ import annotations

import csv
import io
import json
import shlex
import shutil
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from majorant.cli.options import as_flags, takes
from majorant.cli.source import input_options
from majorant.errors import MajorantError
from majorant.options import Seed, Shown
from majorant.render.notes import note_text

HERE = Path(__file__).parent / "fixtures"
BALLOTS = {1: "pos pos neg", 2: "neg neg neg", 3: "neg pos neg", 4: "pos pos pos"}
TEXTS = {1: "great phone", 2: "broke after a week", 3: "it is a phone", 4: "best I ever had"}
WORKERS = ("ana", "bo", "cy")
LONG = [(i, w, label) for i, row in BALLOTS.items() for w, label in zip(WORKERS, row.split(), strict=True)]


@click.command()
@input_options
@takes(Seed, Shown)
def probe(source, **options):
    """Read the votes as any command does."""
    votes = source.read()
    click.echo(
        json.dumps({"shape": votes.shape, "notes": [note_text(note, flags=True) for note in votes.account.notes]})
    )


def run(*told: str) -> dict | str:
    """What was read, or the message."""
    done = CliRunner().invoke(probe, [*told, "-q"])
    if isinstance(done.exception, MajorantError):
        return as_flags(done.exception.message)
    assert done.exception is None, done.output
    return json.loads(done.output)


def table(folder: Path, name: str, header: list[str], rows: list[tuple]) -> Path:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *rows])
    (folder / name).write_text(out.getvalue())
    return folder / name


def long(*names: str, more: tuple[str, ...] = (), label=str):
    def write(folder: Path) -> Path:
        rows = [(i, w, label(x), *(f"{word} {i}" for word in more)) for i, w, x in LONG]
        return table(folder, "votes.csv", [*names, *more], rows)

    return write


def wide(name: str = "wide.csv", *, item: str = "item", more: tuple[str, ...] = (), ages: bool = False):
    def write(folder: Path) -> Path:
        rows = [
            (i, *(f"{word} of {TEXTS[i]}" for word in more), *([30 + i] if ages else []), *row.split())
            for i, row in BALLOTS.items()
        ]
        return table(folder, name, [item, *more, *(["Age"] if ages else []), *WORKERS], rows)

    return write


def lines(name: str, records: list[dict]):
    def write(folder: Path) -> Path:
        (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))
        return folder / name

    return write


def fixture(name: str):
    def write(folder: Path) -> Path:
        target = folder / name
        (shutil.copytree if (HERE / name).is_dir() else shutil.copy)(HERE / name, target)
        return target

    return write


def judged(**more):
    return [{"id": i, "judge": w, "model": "phi", "verdict": x, "response": TEXTS[i], **more} for i, w, x in LONG]


def samples_table(folder: Path) -> Path:
    """What Inspect's samples_df() holds, a column per scorer."""
    header = ["eval_id", "sample_id", "id", "epoch", "input", "target", *(f"score_{w}" for w in WORKERS)]
    rows = [("e", f"s{i}", i, 1, TEXTS[i], "x", *row.split()) for i, row in BALLOTS.items()]
    return table(folder, "samples.csv", header, rows)


def parquet_folder(folder: Path) -> Path:
    for worker in WORKERS:
        own = [(i, w, x) for i, w, x in LONG if w == worker]
        path = folder / "votes" / f"part-{worker}.parquet"
        path.parent.mkdir(exist_ok=True)
        columns = dict(zip(("item", "worker", "label"), map(list, zip(*own, strict=True)), strict=True))
        pq.write_table(pa.table(columns), path)
    return folder / "votes"


def twice(folder: Path) -> Path:
    rows = [*LONG, (1, "ana", "neg")]
    return table(folder, "votes.csv", ["item", "worker", "label"], rows)


def r_wide(folder: Path) -> Path:
    rows = [(i, *row.split()) for i, row in BALLOTS.items()]
    rows[2] = (*rows[2][:3], "NA")
    return table(folder, "r.csv", ["", *WORKERS], rows)


def several_in_csv(folder: Path) -> Path:
    return table(
        folder, "votes.csv", ["item", "worker", "label"], [(i, w, json.dumps([x, "short"])) for i, w, x in LONG]
    )


def many(*names, label=str, more=(), n_items=30):
    """A row per vote of six workers, three on each item, as a crowd or a panel gives them."""

    def write(folder: Path) -> Path:
        rows = [
            (f"x{i}", f"u{j}@lab.org", label(i, j), *(make(i, j) for make in dict(more).values()))
            for i in range(n_items)
            for j in sorted({i % 6, (i + 1) % 6, (5 * i + 3) % 6} | {(i + 2) % 6})[:3]
        ]
        return table(folder, "votes.csv", [*names, *dict(more)], rows)

    return write


def mood(i, j):
    return "neg" if (7 * i) % 5 < 2 or (i * j) % 7 == 1 else "pos"


def sheet(*names, cells, n_items=30):
    """A row per item; a cell is made from the number of the item."""

    def write(folder: Path) -> Path:
        return table(
            folder, "wide.csv", ["PatientID", *names], [(i, *(make(i) for make in cells)) for i in range(n_items)]
        )

    return write


def rated(j):
    return lambda i: mood(i, j)


def per_judge(**more):
    def write(folder: Path) -> Path:
        for j, judge in enumerate(("claude", "gemini", "gpt")):
            records = [{"id": f"q{i}", "verdict": mood(i, j), **more} for i in range(30)]
            lines(f"{judge}.jsonl", records)(folder)
        return folder

    return write


def panel(*models):
    records = [
        {"question_id": f"q{i}", "model": model, "judge": judge, "verdict": mood(i + m, j)}
        for i in range(15)
        for m, model in enumerate(models)
        for j, judge in enumerate(("claude", "gemini", "gpt"))
    ]
    return lines("panel.jsonl", records)


def responses(n_kept):
    """What lm-eval logs of a model that answered eight times."""
    said = [[mood(i, j) for j in range(8)] for i in range(15)]
    return lines("samples_mood.jsonl", [
        {"doc_id": i, "doc": {}, "target": "pos", "arguments": {}, "filter": "none", "doc_hash": "h", "resps": [row],
         "filtered_resps": [row[:n_kept]] if n_kept > 1 else row[:1]}
        for i, row in enumerate(said)
    ])  # fmt: skip


def joined_files(folder: Path) -> Path:
    text = long("item", "worker", "label")(folder).read_text()
    more = text.replace("\n1,", "\n5,").replace("\n2,", "\n6,").replace("\n3,", "\n7,").replace("\n4,", "\n8,")
    (folder / "both.csv").write_text(text + more)
    return folder / "both.csv"


def for_excel(folder: Path) -> Path:
    path = long("item", "worker", "label")(folder)
    path.write_text("sep=;\n" + path.read_text().replace(",", ";"))
    return path


ABOUT = {"width": lambda i, j: 640, "taken": lambda i, j: f"2024-01-{i % 28 + 1:02} 10:{j:02}:0{j}"}
# who, what, how it is made, the flags that the message names (none: at the first try), items, workers and classes
AT_ONCE: tuple[str, ...] = ()
ROWS = [
    ("crowd", "task, worker, label", long("task", "worker", "label"), AT_ONCE, (4, 3, 2)),
    ("crowd", "performer", long("task", "performer", "label"), AT_ONCE, (4, 3, 2)),
    ("crowd", "own names", long("phone", "who", "mood"), ("--item phone --worker who --label mood",), (4, 3, 2)),
    ("crowd", "one name of one's own", long("task", "who", "label"), ("--worker who",), (4, 3, 2)),
    ("crowd", "several labels", several_in_csv, ("--several",), (12, 3, 2)),
    ("judges", "judges.jsonl", lines("judges.jsonl", judged()), AT_ONCE, (4, 3, 2)),
    ("judges", "score", long("sample", "judge", "score", label={"pos": 0.9, "neg": 0.2}.get), AT_ONCE, (4, 3, 2)),
    ("judges", "winner", long("question", "judge", "winner", more=("answer",)), AT_ONCE, (4, 3, 2)),
    ("judges", "clean wide table", wide(), AT_ONCE, (4, 3, 2)),
    ("judges", "wide table with texts", wide(more=("prompt", "response")), AT_ONCE, (4, 3, 2)),
    ("judges", "Inspect .json", fixture("inspect.json"), AT_ONCE, (4, 3, 2)),
    ("judges", "Inspect .eval", fixture("inspect.eval"), AT_ONCE, (4, 3, 2)),
    ("judges", "Inspect samples table", samples_table, AT_ONCE, (4, 3, 2)),
    ("judges", "promptfoo", fixture("promptfoo.json"), AT_ONCE, (4, 3, 2)),
    ("judges", "lm-eval", fixture("lm_eval"), AT_ONCE, (4, 3, 2)),
    ("judges", "DeepEval", fixture("deepeval.json"), AT_ONCE, (4, 3, 2)),
    ("judges", "Ragas", fixture("ragas.csv"), AT_ONCE, (4, 3, 2)),
    ("raters", "Likert, long", fixture("r_long.csv"), ("--empty NA",), (4, 3, 2)),
    ("raters", "R's write.csv", r_wide, ("--empty NA",), (4, 3, 2)),
    ("raters", "Excel", fixture("wide.xlsx"), AT_ONCE, (4, 3, 2)),
    ("raters", "OpenDocument", fixture("long.ods"), AT_ONCE, (4, 3, 2)),
    ("raters", "wide with a covariate", wide(ages=True), AT_ONCE, (4, 3, 2)),
    ("labelling", "Label Studio JSON", fixture("label_studio.json"), AT_ONCE, (4, 3, 2)),
    ("labelling", "Label Studio JSON-MIN", fixture("label_studio_min.json"), AT_ONCE, (4, 3, 2)),
    ("labelling", "Label Studio CSV", fixture("label_studio.csv"), AT_ONCE, (4, 3, 2)),
    ("labelling", "Prodigy", fixture("prodigy.jsonl"), AT_ONCE, (4, 3, 2)),
    ("labelling", "doccano", fixture("doccano"), AT_ONCE, (4, 3, 2)),
    ("labelling", "Argilla, flat", fixture("argilla_flat.jsonl"), AT_ONCE, (4, 3, 2)),
    ("labelling", "Argilla, nested", fixture("argilla.json"), AT_ONCE, (4, 3, 2)),
    ("labelling", "Toloka", fixture("toloka.tsv"), AT_ONCE, (4, 3, 2)),
    ("labelling", "Mechanical Turk", fixture("mturk.csv"), AT_ONCE, (4, 3, 2)),
    ("labelling", "Labelbox", fixture("labelbox.ndjson"), AT_ONCE, (4, 3, 2)),
    ("labelling", "CVAT", fixture("cvat"), AT_ONCE, (4, 3, 2)),
    ("labelling", "Ground Truth", fixture("ground_truth_responses"), AT_ONCE, (4, 3, 2)),
    ("labelling", "several choices", fixture("several.jsonl"), ("--several",), (12, 3, 2)),
    ("platform", "folder of Parquet", parquet_folder, AT_ONCE, (4, 3, 2)),
    ("platform", "a vote that was changed", twice, ("--repeats last", "--repeats first"), (4, 3, 2)),
    ("crowd", "image_path, annotator_email", many("image_path", "annotator_email", "class_name", label=mood,
     more=tuple(ABOUT.items())), AT_ONCE, (30, 6, 2)),
    ("crowd", "review_id, sentiment", many("review_id", "annotator", "sentiment", label=mood), AT_ONCE, (30, 6, 2)),
    ("crowd", "essay, points", many("essay", "rater", "points", label=lambda i, j: (i + j) % 3), AT_ONCE, (30, 6, 3)),
    ("crowd", "phone, who, mood", many("phone", "who", "mood", label=mood), AT_ONCE, (30, 6, 2)),
    ("crowd", "a row number beside the task", many("task_id", "annotator", "label", label=mood,
     more=(("id", lambda i, j: 10 * i + j),)), AT_ONCE, (30, 6, 2)),
    ("crowd", "two files joined", joined_files, AT_ONCE, (8, 3, 2)),
    ("crowd", "Yes and yes", many("item", "worker", "label", label=lambda i, j: ("Yes", "yes", "no")[(i + j) % 3]),
     ("--fold-case",), (30, 6, 2)),
    ("judges", "several models", panel("phi", "tau"), AT_ONCE, (30, 3, 2)),
    ("judges", "a file per judge", per_judge(), AT_ONCE, (30, 3, 2)),
    ("judges", "a file per judge, one model", per_judge(model="my-llm"), AT_ONCE, (30, 3, 2)),
    ("judges", "scores of 0 to 1", many("sample", "judge", "score", label=lambda i, j: (7 * i + j) % 10 / 10),
     ("--threshold 0.45",), (30, 6, 2)),
    ("judges", "unclear verdicts", many("item", "judge", "verdict", label=lambda i, j: ("pass", "fail", "unclear")[
     (i + j * j) % 3]), ("--empty unclear",), (30, 6, 2)),
    ("judges", "lm-eval, eight responses", responses(8), AT_ONCE, (15, 8, 2)),
    ("judges", "lm-eval, one of eight kept", responses(1), AT_ONCE, (15, 1, 2)),
    ("raters", "doctors, NA and a biopsy", sheet("Dr Smith", "Dr Lee", "Dr Wu", "Biopsy", cells=[
     lambda i: "NA" if i % 9 == 4 else mood(i, 0), rated(1), rated(2), rated(0)]), ("--empty NA",), (30, 3, 2)),
    ("raters", "covariates", sheet("Age", "Sex", "Ward", "reader1", "reader2", cells=[
     lambda i: 30 + i, lambda i: "MF"[i % 2], lambda i: "ABC"[i % 3], rated(1), rated(2)]), AT_ONCE, (30, 2, 2)),
    ("raters", "a consensus beside them", sheet("ana", "bo", "cy", "consensus", cells=[rated(0), rated(1), rated(2),
     rated(0)]), AT_ONCE, (30, 3, 2)),
    ("raters", "for Excel, sep=;", for_excel, AT_ONCE, (4, 3, 2)),
    ("labelling", "Label Studio JSON-MIN, short texts", lines("min.json", [
     {"id": i, "text": TEXTS[i], "mood": x, "annotator": w, "annotation_id": n, "lead_time": 2.5}
     for n, (i, w, x) in enumerate(LONG)]), AT_ONCE, (4, 3, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("who", "what", "make", "flags", "shape"), ROWS, ids=[f"{r[0]}: {r[1]}" for r in ROWS])
def test_files_are_read_directly_or_with_the_suggested_flag(who, what, make, flags, shape, tmp_path):
    path = str(make(tmp_path))
    first = run(path)
    if not flags:
        assert first["shape"] == list(shape)
        return
    said = first if isinstance(first, str) else " ".join(first["notes"])  # NA is a class until it is said to be none
    for word in shlex.split(flags[0]):
        assert word in said, said
    for told in flags:
        assert run(path, *shlex.split(told))["shape"] == list(shape)


SCALE = {"task_id": "a", "type": "categorization", "status": "completed", "params": {}, "response": {"category": "red"}}
BOX = {"type": "rectanglelabels", "from_name": "b", "value": {"rectanglelabels": ["car"]}}
SPAN = {"text": "a", "spans": [], "answer": "accept", "_input_hash": 1, "_view_id": "ner_manual", "_session_id": "w"}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lines("scale.jsonl", [SCALE]), "Scale AI task, which holds one response per task, already merged"),
        (
            lines("boxes.json", [{"id": 1, "data": {}, "annotations": [{"completed_by": 1, "result": [BOX]}]}]),
            "Ask a choice per task",
        ),
        (lines("spans.jsonl", [SPAN]), "Export a binary recipe"),
        (lambda _: "s3://bucket/votes.parquet", "--allow-network"),
        (lambda _: "gs://bucket/votes.parquet", "--allow-network"),
    ],
    ids=["Scale", "boxes", "spans", "s3", "gs"],
)
def test_files_without_votes_get_a_message_with_the_next_step(make, words, tmp_path):
    assert words in run(str(make(tmp_path)))


def test_left_out_worker_columns_are_reported(tmp_path):
    path = str(wide(more=("prompt",))(tmp_path))
    assert "--workers" in run(path, "--wide", "--worker", "ana,bo,cy")
    assert "--workers ana,bo,cy" in " ".join(run(path, "--wide")["notes"])
