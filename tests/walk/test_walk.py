# ruff: noqa: E501
"""First tries of new users: 51 files, 47 plausible Python calls, and 40 commands with their follow-up commands."""

from __future__ import annotations

import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest

import majorant as mj
import walk.files as made
from majorant.errors import MajorantError
from transcripts import run_majorant
from walk.next_steps import follow, next_command

# Files, given to `majorant check` without any flag


@pytest.mark.parametrize("name", made.FILES)
def test_files_are_read_without_flags(name, tmp_path):
    file = made.FILES[name]
    path = file.write(tmp_path)
    code, printed, said = run_majorant(["majorant", "check", path.name], tmp_path)
    if isinstance(file.read, str):
        assert code == 2
        assert re.search(file.read, said), said
        assert "Traceback" not in said
        return
    assert code == 0, said
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mj.DataNote)
        shape = mj.read(path).shape
    assert shape[:2] == file.read[:2]
    assert shape[2] == file.read[2] or not file.read[2]
    assert re.search(file.note, said), said
    assert next_command(printed) is not None


def test_walk_length_is_unchanged():
    refused = [name for name, file in made.FILES.items() if isinstance(file.read, str)]
    assert (len(made.FILES), len(GUESSES), len(CALLS)) == (51, 47, 40)
    assert len(made.FILES) - len(refused) >= 45


@pytest.mark.parametrize(
    ("name", "flags"), [("no header", "--columns item,worker,label"), ("latin-1 from Excel", "--encoding latin-1")]
)
def test_a_refused_table_works_with_the_flag_that_the_message_names(name, flags, tmp_path):
    path = made.FILES[name].write(tmp_path)
    said = run_majorant(["majorant", "check", path.name], tmp_path)[2]
    assert flags in said
    assert run_majorant(["majorant", "check", path.name, *flags.split()], tmp_path)[0] == 0


# Guesses in Python


class Votes(NamedTuple):
    """The same votes in several shapes."""

    rows: list[tuple[int, str, str]]
    frame: pd.DataFrame
    wide: pd.DataFrame
    gold: pd.DataFrame
    judges: pd.DataFrame
    result: mj.Result


@pytest.fixture(scope="module")
def votes(tmp_path_factory):
    rows, truth = made.votes(), made.draw()[0]
    frame = pd.DataFrame(rows, columns=["item", "worker", "label"])
    gold = pd.DataFrame({"item": range(40), "gold": truth[:40]})
    wide = frame.pivot(index="item", columns="worker", values="label")
    return Votes(rows, frame, wide, gold, pd.DataFrame(made.verdicts()), mj.check(frame))


def own_names(frame):
    return frame.rename(columns={"item": "image_path", "worker": "annotator_email", "label": "breed"})


def write(frame, name):
    frame.to_csv(name, index=False)
    return name


def gate(v):
    truth = made.draw(5, ("fail", "pass"))[0]
    return {f"q{i}": label for i, label in enumerate(truth)}


NAMES = {"item": "image_path", "worker": "annotator_email", "label": "breed"}
GUESSES: dict[str, Callable[[Votes], Any]] = {
    "mj.check(df)": lambda v: mj.check(v.frame),
    "mj.check(polars)": lambda v: mj.check(pl.from_pandas(v.frame)),
    "mj.check('votes.csv')": lambda v: mj.check(write(v.frame, "votes.csv")),
    "mj.check(Path)": lambda v: mj.check(Path(write(v.frame, "votes.csv"))),
    "mj.check(wide)": lambda v: mj.check(v.wide),
    "mj.check(own names)": lambda v: mj.check(own_names(v.frame)),
    "mj.check(item=, worker=, label=)": lambda v: mj.check(own_names(v.frame), **NAMES),
    "mj.check(dict of columns)": lambda v: mj.check(v.frame.to_dict("list")),
    "mj.check(df.to_dict())": lambda v: mj.check(v.frame.to_dict()),
    "mj.check(list of tuples)": lambda v: mj.check(v.rows),
    "mj.check(records)": lambda v: mj.check(v.frame.to_dict("records")),
    "mj.check({item: {worker: label}})": lambda v: mj.check({i: dict(given) for i, given in made.by_item(v.rows).items()}),
    "mj.check(matrix)": lambda v: mj.check(np.where(v.wide.isna(), -1, v.wide == "pos").astype(int)),
    "labels.to_pandas()": lambda v: v.result.labels.to_pandas().label.notna().all() or pytest.fail("a blank label"),
    "labels.to_polars()": lambda v: v.result.labels.to_polars(),
    "pd.DataFrame(labels)": lambda v: pd.DataFrame(v.result.labels).confidence.mean(),
    "df.merge(labels)": lambda v: v.frame.merge(v.result.labels.to_pandas(), on="item", validate="m:1").label_y,
    "workers.to_pandas()": lambda v: v.result.workers.to_pandas().worker,
    "review.to_pandas()": lambda v: v.result.review.to_pandas().said,
    "result.save()": lambda v: v.result.save("out"),
    "result.report()": lambda v: v.result.report("page.html"),
    "result.plot()": lambda v: v.result.plot().axes[0],
    "result.plot('workers')": lambda v: v.result.plot("workers").axes[0],
    "result.summary()": lambda v: v.result.summary().index("mj.ask(df)"),
    "repr(result)": lambda v: repr(v.result).index("majority vote"),
    "result._repr_html_()": lambda v: v.result._repr_html_().index("<div"),
    "result.to_json()": lambda v: v.result.to_json().index("answer"),
    "result.to_dict()": lambda v: v.result.to_dict()["answer"]["action"],
    "result.answer": lambda v: (v.result.answer.action, v.result.answer.certainty, v.result.answer.gain.value),
    "str(answer)": lambda v: str(v.result.answer).index("keep"),
    "mj.compare(df, list)": lambda v: repr(mj.compare(v.frame, ["majority", "dawid-skene", "mace"])).index("dawid-skene"),
    "mj.compare(df)": lambda v: mj.compare(v.frame, gold=v.gold).to_pandas().accuracy,
    "mj.aggregate(df, list)": lambda v: mj.aggregate(v.frame, ["majority", "dawid-skene"]),
    "mj.aggregate(df, 'dawid-skene')": lambda v: mj.aggregate(v.frame, "dawid-skene").to_pandas(),
    "mj.aggregate(df, method=)": lambda v: mj.aggregate(v.frame, method="mace").labels(),
    "mj.workers(df)": lambda v: mj.workers(v.frame).to_pandas(),
    "gold=frame": lambda v: mj.check(v.frame, gold=v.gold).answer.certainty,
    "gold=dict": lambda v: mj.check(v.frame, gold=dict(v.gold.values)).answer.certainty,
    "gold=Series": lambda v: mj.check(v.frame, gold=v.gold.set_index("item").gold).answer.certainty,
    "gold='truth.csv'": lambda v: mj.check(write(v.frame, "votes.csv"), gold=write(v.gold, "truth.csv")),
    "gold='column'": lambda v: mj.check(v.frame.assign(t=v.frame.item.map(dict(v.gold.values))), gold="t"),
    "ties=": lambda v: mj.check(v.frame, ties="random"),
    "compare=True": lambda v: mj.check(v.frame, compare=True).comparison[0],
    "mj.ask(df, n=)": lambda v: mj.ask(v.frame, n=9).to_pandas().item,
    "mj.ask(result)": lambda v: mj.ask(v.result, n=9),
    "mj.judges(df, gold=)": lambda v: repr(mj.judges(v.judges, gold=gate(v))).index("openai/gpt-4o"),
    "mj.rate(df, label=)": lambda v: repr(mj.rate(v.judges, gold=gate(v), label="pass")).index("from 60 labels"),
}  # fmt: skip
NOT_YET = {  # what the message says instead
    "mj.aggregate(df, list)": r"majorant\.compare\(votes, \['majority', 'dawid-skene'\]\)",
    "result.plot('workers')": "nothing to plot as 'workers'",  # a panel without gold labels
}


@pytest.mark.parametrize("guess", GUESSES)
@pytest.mark.filterwarnings("ignore::majorant.errors.DataNote")
def test_plausible_python_calls_work(guess, votes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if guess not in NOT_YET:
        assert GUESSES[guess](votes) is not None
        return
    with pytest.raises(MajorantError, match=NOT_YET[guess]):
        GUESSES[guess](votes)


# What `Next` says, followed to the end

CV = made.own("image_path", "annotator_email", "breed", ("cat", "dog", "fox"), "cv.csv")
PLAIN = made.own("item", "worker", "label")
SPACED = made.own("item", "worker", "label", name="my votes (1).csv")
DASHED = made.own("item", "worker", "label", name="-odd.csv")
VERDICTS, SENTIMENTS = ("fail", "pass"), ("negative", "neutral", "positive")
CALLS: list[tuple[Callable[[Path], Path], tuple[str, ...], str]] = [
    (made.label_studio, ("neg", "pos"), "check project-1-at-2025-05-06.json"),
    (CV, ("cat", "dog", "fox"), "check cv.csv --item image_path --worker annotator_email"),
    (CV, ("cat", "dog", "fox"), "check cv.csv --item image_path --worker annotator_email --label breed --method ds"),
    (PLAIN, ("neg", "pos"), "check own.csv --method ds"),
    (made.tags, ("no", "yes"), "check tags.csv --several --label labels"),
    (made.doctors, ("benign", "malignant"), "check x.csv --workers 'Dr Smith,Dr Lee,Dr Wu' --empty NA"),
    (made.doctors, ("benign", "malignant"), "check x.csv --workers 'Dr *'"),
    (made.doctors, ("benign", "malignant"), "check x.csv --gold Biopsy"),
    (made.judges_folder, VERDICTS, "check perjudge/claude-sonnet-4.jsonl perjudge/gemini-2.5-pro.jsonl perjudge/gpt-4o.jsonl"),
    (made.judges_folder, VERDICTS, "check perjudge --worker file"),
    (made.judges_folder, VERDICTS, "check 'perjudge/*.jsonl' --label verdict"),
    (made.models_in_one_file, VERDICTS, "check panel.jsonl --by model"),
    (made.models_in_one_file, VERDICTS, "check panel.jsonl --item question_id,model --level .9"),
    (made.models_in_one_file, VERDICTS, "rate panel.jsonl --by model"),
    (made.models_in_one_file, VERDICTS, "rate panel.jsonl --label pass"),
    (made.arena, ("gpt-4o", "qwen3"), "rate arena.csv"),
    (made.arena, ("gpt-4o", "qwen3"), "check arena.csv --tolerance .02"),
    (made.swapped, ("A", "B"), "check swap.csv"),
    (made.judges_jsonl, VERDICTS, "workers judges.jsonl"),
    (made.judges_jsonl, VERDICTS, "check judges.jsonl --seed 3 --out results"),
    (made.judges_nested, VERDICTS, "check nested.jsonl"),
    (made.judges_jsonl, VERDICTS, "check judges.jsonl -v --compare"),
    (made.judges_wide, VERDICTS, "check judges_wide_clean.csv --gold none"),
    (made.judges_wide, VERDICTS, "check judges_wide_clean.csv --gold human_label"),
    (made.floats, ("below 0.5", "at least 0.5"), "check scores01.csv --threshold .5"),
    (made.floats, ("0.25", "0.75"), "rate scores01.csv"),
    (made.essays, ("1", "2", "3", "4", "5"), "check essays.csv --order 1,2,3,4,5 --text essay"),
    (made.cases, ("no", "yes"), "check answers.csv --fold-case"),
    (made.refusals, VERDICTS, "check verdicts.jsonl --empty unclear --empty refused"),
    (made.latin, ("kleiner", "größer"), "check excel.csv --encoding cp1252 --delimiter ';'"),
    (made.headless, ("neg", "pos"), "check nohead.csv --columns item,worker,label"),
    (made.pivot, ("neg", "pos"), "check pivot.csv --wide"),
    (made.transposed, ("no", "yes"), "check form.csv"),
    (made.dates, SENTIMENTS, "check reviews.csv --seconds took --memory 1GB"),
    (made.dates, SENTIMENTS, "ask reviews.csv --n 12 --out mine.csv"),
    (made.dates, SENTIMENTS, "ask reviews.csv --rate --n 12 --label sentiment"),
    (made.inspect_eval, ("I", "C"), "check 2025-05-06T10-00-00_qa_abc.eval --report page.html"),
    (made.deepeval, VERDICTS, "check test_run_123.json --summary summary.md"),
    (SPACED, ("neg", "pos"), "check 'my votes (1).csv' --repeats first"),
    (DASHED, ("neg", "pos"), "check -- -odd.csv"),
]  # fmt: skip


@pytest.mark.parametrize(("write", "classes", "call"), CALLS, ids=[call for *_, call in CALLS])
def test_next_commands_run_to_the_end(write, classes, call, tmp_path):
    write(tmp_path)
    truth = [*made.draw(1, classes)[0], *classes * 40]

    def label(item: str) -> str:
        number = re.search(r"\d+", item)
        return truth[int(number[0]) % 100 if number else 0]  # some tools number items from 100 on

    done = follow(f"majorant {call}", tmp_path, label)
    assert len(done) > 1, "no advice was given"
    flags = [word for word in call.split() if word.startswith("--") and word not in ("--", *NOT_REPEATED)]
    for later in done[1:]:
        assert all(flag in later for flag in flags), later
    shutil.rmtree(tmp_path)


NOT_REPEATED = (  # about one call, or settled by the step that follows
    "--out", "--n", "--method", "--compare", "--report", "--summary", "--rate", "--label", "--gold",
)  # fmt: skip
