"""One job on one file, in a separate process, so that it can be stopped and its input cannot harm the server.

The server writes the job as one line of JSON to standard input and reads lines of JSON from standard output: progress,
then the result or an error.  When the server exits, standard input closes and the job ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from majorant.errors import ConfigError, MajorantError, use

if TYPE_CHECKING:
    from majorant.ask.design import Design, Recognised
    from majorant.read.files import NamedFile
    from majorant.votes import Votes

Tell = Callable[..., None]
SEED = 0  # the default of the command line, so that both give the same numbers
TO_LABEL, DESIGN, LABEL_ITEMS = "to_label.csv", "to_label.design.json", "items.json"


def work(job: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """Run a job: look at a file, check its votes, or draw the items to label."""
    return {"look": look, "check": check, "ask": ask}[job["kind"]](job, tell)


def look(job: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """Recognise the file, and return its columns and first rows."""
    from majorant.read.preview import preview
    from majorant.render.notes import note_facts

    tell("looking")
    looked = preview(_file(job["file"]), **job["settings"])
    return {**asdict(looked), "notes": [note_facts(note) for note in looked.notes]}


def check(job: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """Run the whole check: write the files of the result, and draw items to label if labels would settle it."""
    labelled = _labelled(job)
    gold = _page_labels(job) if job["labels"] else _gold(job)
    with _opened(job, tell, gold=gold if labelled is None or labelled.sample else None) as votes:
        from majorant.pipeline import check as whole_line
        from majorant.render.files import write_result
        from majorant.render.html import live_map
        from majorant.render.summary import result_summary

        how = {name: job[name] for name in ("tolerance", "level")}
        result = whole_line(votes, rng=SEED, labelled=labelled, stage=tell, **how)
        tell("writing")
        summary = result_summary(result, command=job["command"], seed=SEED)
        write_result(result, summary, Path(job["folder"]) / "results")
        if labelled is None and result.answer.next.labels:
            from majorant.ask.ask import ask as draw

            _write_design(job, votes, draw(votes, n=0, rng=SEED, **how))
    shown = ("answer", "votes", "accuracy", "rate", "map", "input", "sample", "level")
    return {**{name: summary[name] for name in shown if name in summary}, "live_map": live_map(summary)}


def ask(job: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """Draw the items to label for a question other than the one that `check` draws items for."""
    with _opened(job, tell, gold=_gold(job)) as votes:
        from majorant.ask.ask import ask

        tell("comparing")
        how = {name: job[name] for name in ("between", "question", "tolerance", "level")}
        _write_design(job, votes, ask(votes, n=0, rng=SEED, **how))
    return {}


@contextlib.contextmanager
def _opened(job: Mapping[str, Any], tell: Tell, *, gold: NamedFile | None) -> Iterator[Votes]:
    from majorant.read.options import ReadOptions

    options, file = ReadOptions(**job["settings"], gold_file=gold), _file(job["file"])
    tell("reading")
    if job["memory"] is None:
        from majorant.read import read_with

        yield read_with(file, replace(options, progress=lambda rows: tell("reading", rows)))
        return
    from majorant.read.sort import prepare
    from majorant.workfolder import locked

    folder = Path(job["folder"]) / "sorted"

    def report(what: str, done: int, total: int | None) -> None:
        tell("reading", done, total, what)

    with locked(folder):
        yield prepare(file, folder, options, memory=job["memory"], resume=job["resume"], report=report)


def _labelled(job: Mapping[str, Any]) -> Recognised | None:
    """Labels given on the page, or an uploaded file of labels with its design."""
    from majorant.ask.design import recognise

    files = [_page_labels(job)] if job["labels"] else [_file(file) for file in job["gold"]]
    labelled = recognise(files) if files else None
    if labelled is None:
        if len(files) > 1:
            names = " and ".join(map(str, files))
            raise ConfigError(f"{names} were uploaded without the design that connects them: remove all but one.")
        return None
    stored = labelled.path.name
    return replace(labelled, path=Path(job["designs"].get(stored, stored)))


def _page_labels(job: Mapping[str, Any]) -> NamedFile:
    """The labels given on the page; their design is beside them."""
    return _file({"path": str(Path(job["folder"]) / "ask" / TO_LABEL), "name": TO_LABEL})


def _gold(job: Mapping[str, Any]) -> NamedFile | None:
    """The uploaded file of labels."""
    return _file(job["gold"][0]) if job["gold"] else None


def _file(given: Mapping[str, str]) -> NamedFile:
    from majorant.read.files import NamedFile

    return NamedFile(Path(given["path"]), given["name"])


def _write_design(job: Mapping[str, Any], votes: Votes, design: Design) -> None:
    """Write the design, the file to label with its first items, and what the page shows for each item."""
    from majorant.ask.questions import FIRST_BATCH
    from majorant.ask.teach import FIRST_DRAW
    from majorant.atomic import make_folder
    from majorant.output import write_files

    folder = make_folder(Path(job["folder"]) / "ask")
    design = design.more(FIRST_DRAW if design.question.kind == "teach" else FIRST_BATCH)
    # Items whose text and votes are stored. Items that teach come from anywhere in the order, others from its start,
    # and nobody labels more than 500 in one sitting.
    known = design.order if design.is_drawing else design.order[:500]
    columns = _columns(job, known)
    first = {name: [values[position] for position in design.asked] for name, values in columns.items()}
    votes_of = _votes(votes, {str(item) for item in known})
    items = [
        {"own": {name: values[n] for name, values in columns.items()}, "votes": votes_of.get(str(item), [])}
        for n, item in enumerate(known)
    ]
    design.write(folder / TO_LABEL, columns=first)
    write_files({folder / LABEL_ITEMS: json.dumps(items, ensure_ascii=False, default=str)})


def _columns(job: Mapping[str, Any], items: Sequence[Any]) -> dict[str, list[Any]]:
    """The items' own columns, such as their text; in a wide table, those that do not belong to a worker."""
    from majorant.read.item_columns import ITEMS_ALONE, item_columns
    from majorant.read.options import ReadOptions

    how, workers = ReadOptions(**job["settings"]), job["workers"]
    if workers:
        how = replace(how, **ITEMS_ALONE, item=job["item"])
    with contextlib.suppress(MajorantError):  # optional: without columns, items are shown by name
        columns = item_columns(_file(job["file"]), items, how)
        return {name: values for name, values in columns.items() if name not in workers}
    return {}


def _votes(votes: Votes, wanted: set[str]) -> dict[str, list[list[str]]]:
    """Who gave which label to these items."""

    import numpy as np

    from majorant.items import take_items

    some = take_items(votes, np.array([i for i, item in enumerate(votes.items) if str(item) in wanted], dtype=np.int64))
    votes_of = {}
    for i, item in enumerate(some.items):
        own = slice(int(some.offsets_i[i]), int(some.offsets_i[i + 1]))
        pairs = zip(some.worker_n[own], some.label_n[own], strict=True)
        votes_of[str(item)] = [[str(votes.workers[j]), str(votes.labels[k])] for j, k in pairs]
    return votes_of


def _teller(out: IO[str]) -> Tell:
    """Return a function that reports the progress of a job, at most five times a second."""
    last: dict[str, Any] = {"stage": "", "at": 0.0}

    def tell(stage: str | None, done: int | None = None, total: int | None = None, what: str = "") -> None:
        now = time.monotonic()
        stage = stage or last["stage"]
        if stage == last["stage"] and now - last["at"] < 0.2:
            return
        last.update(stage=stage, at=now)
        _say(out, {"stage": stage, "done": done, "total": total, "what": what})

    return tell


def _say(out: IO[str], message: dict[str, Any]) -> None:
    out.write(json.dumps(message, default=str) + "\n")
    out.flush()


def _end_with_the_server() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


def main() -> None:
    """Read the job from standard input and run it."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # anything that a library prints must not be mistaken for a message
    job = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    try:
        _say(out, {"result": work(job, _teller(out))})
    except MajorantError as error:
        _say(out, {"error": error.message})
    except MemoryError:
        _say(
            out,
            {"error": f"Not enough memory for these votes. Close other programs, or serve with less {use('memory')}."},
        )
    except OSError as error:
        _say(out, {"error": f"{job['file']['name']}: {error.strerror or error}."})
    except Exception as error:
        _say(out, {"error": f"Unexpected {type(error).__name__}: {error}. This is a bug in majorant."})
    out.flush()
    os._exit(0)  # the other thread would keep waiting for the server


if __name__ == "__main__":
    main()
