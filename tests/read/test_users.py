"""Files as five kinds of users bring them: read at the first try, or with one flag that the message names."""

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

from majorant.cli.options import as_flags, common_options
from majorant.cli.source import input_options
from majorant.errors import MajorantError
from majorant.render.notes import note_text

HERE = Path(__file__).parent / "fixtures"
BALLOTS = {1: "pos pos neg", 2: "neg neg neg", 3: "neg pos neg", 4: "pos pos pos"}
TEXTS = {1: "great phone", 2: "broke after a week", 3: "it is a phone", 4: "best I ever had"}
WORKERS = ("ana", "bo", "cy")
LONG = [(i, w, label) for i, row in BALLOTS.items() for w, label in zip(WORKERS, row.split(), strict=True)]


@click.command()
@input_options
@common_options
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
        return as_flags(str(done.exception))
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
]  # fmt: skip


@pytest.mark.parametrize(("who", "what", "make", "flags", "shape"), ROWS, ids=[f"{r[0]}: {r[1]}" for r in ROWS])
def test_every_file_answers_at_the_first_try_or_with_the_flag_that_the_message_names(
    who, what, make, flags, shape, tmp_path
):
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
def test_what_holds_no_votes_or_lies_elsewhere_says_what_to_do(make, words, tmp_path):
    assert words in run(str(make(tmp_path)))


def test_names_of_workers_in_a_wide_table_are_not_left_out_in_silence(tmp_path):
    path = str(wide(more=("prompt",))(tmp_path))
    assert "--workers" in run(path, "--wide", "--worker", "ana,bo,cy")
    assert "--workers ana,bo,cy" in " ".join(run(path, "--wide")["notes"])
