"""The uploaded files and the jobs that process them: two at a time, each in a process that can be killed."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import majorant
from majorant.ask.journal import journal_path
from majorant.defaults import LEVEL, RESULT_FILES
from majorant.errors import ConfigError, DataError
from majorant.evidence.rules import AUTO
from majorant.filetypes import PACKINGS, type_of_ending
from majorant.output import write_files
from majorant.read.files import NamedFile
from majorant.read.tasks import DESIGN_ENDING, free_name, renamed
from majorant.web.fields import Form, command_of, settings_of, tolerance_of
from majorant.web.job import DESIGN, TO_LABEL


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kept:
    """A file, how to read it, the state of its run, and the result."""

    id: str
    name: str  # the user's name for it
    file: NamedFile  # where it is stored, and its name in messages
    size: int
    folder: Path
    state: str = "looking"  # looking | columns | waiting | running | drawing | done
    form: Form = field(default_factory=dict)
    gold: tuple[NamedFile, ...] = ()  # uploaded files of labels and designs
    preview: Mapping[str, Any] | None = None
    detected: tuple[str, ...] = ()  # the worker columns of a wide table, as detected before any choice of the user
    trouble: str = ""  # error message, in the library's terms
    progress: Mapping[str, Any] = field(default_factory=dict)
    started: float = 0.0
    seconds: float = 0.0
    facts: Mapping[str, Any] | None = None  # of the result
    command: str = ""
    settled: bool = False  # the result uses labels that were given on the page
    in_sight: frozenset[int] = frozenset()  # draws that were labelled with the votes shown
    large: bool = False  # processed on disk
    run: int = 0  # number of the current run; messages of earlier runs are ignored

    @property
    def busy(self) -> bool:
        """Whether a run is in progress."""
        return self.state in ("looking", "waiting", "running", "drawing")

    def told(self, form: Form) -> dict[str, Any]:
        """The reading settings of a form."""
        return settings_of(form, self.preview["names"] if self.preview else (), self.detected)

    @property
    def earlier(self) -> list[Path]:
        """The folders of items that were labelled before others were drawn."""
        return sorted(self.folder.glob("ask-*"), key=lambda path: int(path.name.removeprefix("ask-")))

    @property
    def downloads(self) -> dict[str, Path]:
        """The files that can be downloaded now, by name."""
        files = {name: self.folder / "results" / name for name in RESULT_FILES if self.facts is not None}
        files |= {name: self.folder / "ask" / name for name in (TO_LABEL, DESIGN) if not self.busy}
        for number, folder in enumerate(self.earlier, start=1):
            files |= {f"earlier-{number}-{name}": folder / name for name in (TO_LABEL, DESIGN)}
        return {name: path for name, path in files.items() if path.is_file()}


class Runs:
    """All files, in one folder; values are replaced under a lock, so that readers always see consistent ones."""

    def __init__(self, folder: Path, *, memory: int) -> None:
        self.folder, self.memory = folder, memory
        self._lock = threading.Lock()
        self._kept: dict[str, Kept] = {}
        self._closed = False
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._pool = ThreadPoolExecutor(2)  # jobs at once
        self._number = 0

    def all(self) -> list[Kept]:
        """All files, newest first."""
        with self._lock:
            return list(self._kept.values())[::-1]

    def get(self, id: str) -> Kept | None:
        """A file by its id."""
        with self._lock:
            return self._kept.get(id)

    def place(self, name: str) -> tuple[str, NamedFile]:
        """The id of a new file and where to store its content; `name` is what the browser sent."""
        with self._lock:
            self._number += 1
            id = str(self._number)
        for folder in ("files", "cwd"):
            (self.folder / id / folder).mkdir(parents=True)
        shown = clean_name(name)
        return id, NamedFile(self.folder / id / "files" / f"votes{_known_ending(shown)}", shown)

    def place_labels(self, kept: Kept, names: Sequence[str]) -> list[NamedFile]:
        """Where to store labels files; a design is stored beside the labels file with the matching name."""
        numbers = {_stem(file.name): int(file.path.name.split(".")[0].split("-")[1]) for file in kept.gold}
        files = []
        for shown in map(clean_name, names):
            number = numbers.setdefault(_stem(shown), max(numbers.values(), default=0) + 1)
            ending = DESIGN_ENDING if shown.endswith(DESIGN_ENDING) else _known_ending(shown)
            files.append(NamedFile(kept.folder / "files" / f"labels-{number}{ending}", shown))
        return files

    def add(self, id: str, file: NamedFile) -> Kept:
        """Add a stored upload, or a local file in place, and look at it."""
        size, name = file.path.stat().st_size, Path(file.name).name
        kept = Kept(id=id, name=name, file=file, size=size, folder=self.folder / id, started=time.monotonic())
        kept = replace(kept, large=8 * size > self.memory)  # a table in memory is about 8 times as large as its file
        with self._lock:
            self._kept[id] = kept
        self._start(kept, {"kind": "look"})
        return kept

    def add_local(self, path: Path) -> Kept:
        """Add a local file without copying it."""
        if not path.is_file():
            raise DataError(f"{path}: no such file. Check the name and the folder ({Path.cwd()}).")
        id, _ = self.place(path.name)
        return self.add(id, NamedFile(path.absolute(), str(path.absolute())))

    def add_labels(self, id: str, files: Sequence[NamedFile]) -> None:
        """Add stored labels files; new labels replace earlier ones, and a design replaces one of the same name."""
        paths, stems = {file.path for file in files}, {_stem(file.name) for file in files}
        new_labels = any(not is_design(file) for file in files)
        old = self._free(id).gold
        had_labels = any(not is_design(file) for file in old)

        def stays(file: NamedFile) -> bool:
            if file.path in paths:
                return False
            return not new_labels or (is_design(file) and (not had_labels or _stem(file.name) in stems))

        self._keep_labels(id, [*filter(stays, old), *files])

    def drop_labels(self, id: str, name: str) -> None:
        """Remove a labels file by its stored name."""
        self._keep_labels(id, [file for file in self._free(id).gold if file.path.name != name])

    def _keep_labels(self, id: str, files: Sequence[NamedFile]) -> None:
        before = self._free(id).gold
        self._change(id, gold=tuple(files))
        for file in before:
            if file.path not in [kept.path for kept in files]:
                file.path.unlink(missing_ok=True)

    def look(self, id: str, form: Form) -> None:
        """Preview a file again with the settings of the form."""
        kept = self._free(id)
        settings = self._settings(kept, form)
        if settings is not None:
            self._begin(kept, "looking", {"kind": "look", "settings": settings}, form=form)

    def check(self, id: str, form: Form) -> None:
        """Check a file with the settings of the form."""
        kept = self._free(id)
        settings = self._settings(kept, form)
        if settings is None:
            return
        shutil.rmtree(kept.folder / "results", ignore_errors=True)
        self._set_aside(kept)
        self._begin(
            kept,
            "waiting",
            self._job(kept, "check", settings, form),
            form=form,
            facts=None,
            settled=False,
            in_sight=frozenset(),
        )

    def check_labels(self, id: str) -> None:
        """Check again with the labels given on the page."""
        kept = self._free(id)
        settings = kept.told(kept.form)
        job = self._job(kept, "check", settings, kept.form)
        job |= {"labels": True, "resume": True, "command": command_of(
            kept.name, settings, tolerance=job["tolerance"], gold=TO_LABEL
        )}  # fmt: skip
        self._begin(kept, "waiting", job, settled=True, facts=None)

    def stop_stale_check(self, id: str) -> bool:
        """Stop a running check that does not know a new label; raise an error if another kind of run is in progress."""
        kept = self.get(id)
        stale = kept is not None and kept.busy and kept.settled
        if stale:
            self.stop(id)
        self._free(id)
        return stale

    def draw(self, id: str, question: str) -> None:
        """Draw the items to label for a question; labels for an earlier question are set aside."""
        kept = self._free(id)
        self._set_aside(kept)
        between = [(kept.facts or {})["answer"]["rule"]] if question != AUTO else None
        job = self._job(kept, "ask", kept.told(kept.form), kept.form)
        job |= {"question": question, "between": between, "resume": True}
        self._begin(kept, "drawing", job, in_sight=frozenset())

    def _set_aside(self, kept: Kept) -> None:
        """Make room for other items to label; those with labels stay, and can be downloaded."""
        current = kept.folder / "ask"
        if journal_path(current / TO_LABEL).exists():
            current.rename(kept.folder / f"ask-{len(kept.earlier) + 1}")
        else:
            shutil.rmtree(current, ignore_errors=True)

    def save_labels(self, folder: Path) -> list[Path]:
        """Write all labels that were given on the page to a folder, before everything else is deleted."""
        saved = []
        for kept in self.all():
            for drawn in (*kept.earlier, kept.folder / "ask"):
                if journal_path(drawn / TO_LABEL).exists():
                    names = (TO_LABEL, DESIGN, journal_path(Path(TO_LABEL)).name)
                    files = {folder / name: (drawn / name).read_bytes() for name in names}
                    free = free_name(folder / TO_LABEL, files)
                    saved += write_files({renamed(file, folder / TO_LABEL, free): own for file, own in files.items()})
        return [file for file in saved if file.suffix == ".csv"]

    def note_in_sight(self, id: str, draw: int, *, in_sight: bool) -> None:
        """Record whether the votes were shown when an item was labelled."""
        with self._lock:
            kept = self._kept[id]
            self._kept[id] = replace(kept, in_sight=kept.in_sight | {draw} if in_sight else kept.in_sight - {draw})

    def stop(self, id: str) -> None:
        """Stop the current run."""
        with self._lock:
            kept, process = self._kept.get(id), self._processes.get(id)
            if kept is None or not kept.busy:
                return
            self._kept[id] = replace(kept, state="columns", trouble="", progress={}, run=kept.run + 1)
        _end(process)

    def remove(self, id: str) -> None:
        """Remove a file and its results; a local file itself is not deleted."""
        self.stop(id)
        with self._lock:
            kept = self._kept.pop(id, None)
        if kept is not None:
            shutil.rmtree(kept.folder, ignore_errors=True)

    def close(self) -> None:
        """Kill all jobs and remove the folder."""
        with self._lock:
            self._closed = True
            processes = list(self._processes.values())
        for process in processes:
            _end(process)
        self._pool.shutdown(wait=True, cancel_futures=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def discard(self, id: str) -> None:
        """Remove the folder of a file whose upload failed."""
        shutil.rmtree(self.folder / id, ignore_errors=True)

    def free(self, id: str) -> None:
        """Raise an error if a run is in progress."""
        self._free(id)

    def _free(self, id: str) -> Kept:
        kept = self.get(id)
        if kept is None:
            raise DataError("This file is no longer kept.")
        if kept.busy:
            raise ConfigError(f"{kept.name} is being processed. Wait until it is done, or stop it first.")
        return kept

    def _settings(self, kept: Kept, form: Form) -> dict[str, Any] | None:
        """The settings of the form; None if they are contradictory, in which case the page shows the error."""
        try:
            settings = kept.told(form)
            tolerance_of(form)
        except ConfigError as error:
            self._change(kept.id, form=form, trouble=error.message, state="columns")
            return None
        return settings

    def _job(self, kept: Kept, kind: str, settings: dict[str, Any], form: Form) -> dict[str, Any]:
        preview = kept.preview or {"workers": (), "columns": {}}
        tolerance = tolerance_of(form)
        designs = [file for file in kept.gold if is_design(file)]
        labels = [file for file in kept.gold if not is_design(file)]
        wide = bool(preview["workers"] or settings.get("wide") or settings.get("workers"))
        return {
            "kind": kind,
            "settings": settings,
            "gold": [_plain(file) for file in labels],
            "designs": {file.path.name: file.name for file in designs},
            "labels": False,
            "memory": self.memory if kept.large and not wide else None,
            "resume": False,
            "tolerance": tolerance,
            "level": LEVEL,
            "workers": list(preview["workers"]),
            "item": settings.get("item") or preview["columns"].get("item", ""),
            "command": command_of(kept.file.name, settings, tolerance=tolerance, gold=labels[0].name if labels else ""),
        }

    def _begin(self, kept: Kept, state: str, job: dict[str, Any], **changes: Any) -> None:
        changed = self._change(
            kept.id, state=state, trouble="", progress={}, started=time.monotonic(),
            command=job.get("command", kept.command), **changes,
        )  # fmt: skip
        self._start(changed, job)

    def _start(self, kept: Kept, job: dict[str, Any]) -> None:
        run = self._change(kept.id, run=kept.run + 1).run
        whole = {"settings": {}, "file": _plain(kept.file), "folder": str(kept.folder), **job}
        self._pool.submit(self._work, kept.id, run, whole)

    def _work(self, id: str, run: int, job: dict[str, Any]) -> None:
        """Run a job in a process, follow its progress and store its outcome."""
        with self._lock:
            kept = self._kept.get(id)
            if kept is None or kept.run != run or self._closed:
                return
            process = subprocess.Popen(
                job_command(), cwd=kept.folder / "cwd", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True, encoding="utf-8", start_new_session=True,
            )  # fmt: skip
            self._processes[id] = process
        if job["kind"] == "check":
            self._follow(id, run, state="running", started=time.monotonic())
        outcome: dict[str, Any] = {
            "error": "The process for this file ended unexpectedly; perhaps it ran out of memory."
        }
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps(job) + "\n")
                process.stdin.flush()
            for line in process.stdout:
                message = json.loads(line)
                if "stage" in message:
                    self._follow(id, run, progress=message)
                else:
                    outcome = message
            with contextlib.suppress(OSError):
                process.stdin.close()
        with self._lock:
            if self._processes.get(id) is process:
                del self._processes[id]
        self._finish(id, run, job["kind"], outcome)

    def _finish(self, id: str, run: int, kind: str, outcome: dict[str, Any]) -> None:
        kept = self.get(id)
        if kept is None:
            return
        changes: dict[str, Any] = {"state": "done"}
        if "error" in outcome:
            changes = {"state": "columns", "trouble": outcome["error"], "facts": None}
        elif kind == "look":
            trouble = outcome["result"].pop("trouble")
            changes = {"state": "columns", "preview": outcome["result"], "trouble": trouble}
            changes |= {} if kept.preview else {"detected": tuple(outcome["result"]["workers"])}
        elif kind == "check":
            changes |= {"facts": outcome["result"], "seconds": time.monotonic() - kept.started}
        self._follow(id, run, progress={}, **changes)

    def _follow(self, id: str, run: int, **changes: Any) -> None:
        """Apply changes from a run, unless the file was removed or the run was stopped."""
        with self._lock:
            kept = self._kept.get(id)
            if kept is not None and kept.run == run:
                self._kept[id] = replace(kept, **changes)

    def _change(self, id: str, **changes: Any) -> Kept:
        with self._lock:
            if id not in self._kept:
                raise DataError("This file is no longer kept.")
            self._kept[id] = replace(self._kept[id], **changes)
            return self._kept[id]


def job_command() -> list[str]:
    """The command that starts a job, set up so that no module is ever imported from the current folder.

    `-P` keeps the current folder off the path while Python starts. The server's own path, without the folder in which
    the server was started, then replaces it, so that an upload cannot be imported because of its name.
    """
    home = Path(majorant.__file__).resolve().parent.parent
    folders = [str(Path(entry).absolute()) for entry in sys.path if entry]
    path = [entry for entry in folders if Path(entry) != Path.cwd() or Path(entry).resolve() == home]
    start = "import sys; sys.path[:] = sys.argv[1:]; from majorant.web.job import main; main()"
    return [sys.executable, "-P", "-c", start, *path, *([str(home)] if str(home) not in path else [])]


def is_design(file: NamedFile) -> bool:
    """Whether an upload is a design rather than labels, judging by its name."""
    return file.name.endswith(DESIGN_ENDING)


def _plain(file: NamedFile) -> dict[str, str]:
    return {"path": str(file.path), "name": file.name}


def _stem(name: str) -> str:
    """The part of the name that a labels file and its design share."""
    return name.removesuffix(DESIGN_ENDING if name.endswith(DESIGN_ENDING) else Path(name).suffix)


def _known_ending(name: str) -> str:
    """The extension of a name if it is one of a table, else an empty string."""
    ending = Path(name).suffix.lower()
    return ending if type_of_ending(ending) is not None or ending in PACKINGS else ""


def clean_name(name: str) -> str:
    """The name of an upload as the page shows it: no folders, no leading dots, no unusual characters, not too long.

    >>> [clean_name(name) for name in ("C:\\\\data\\\\my votes.csv", "../../etc/passwd", "-", "~x\\n.csv")]
    ['my votes.csv', 'passwd', 'votes', 'x.csv']
    """
    longest_file_name = 120
    last = re.split(r"[/\\\\]", name)[-1]
    plain = "".join(sign for sign in last if sign.isprintable() and sign not in '<>:"|?*').strip().lstrip(".-~ ")
    if len(plain) > longest_file_name:
        ending = "".join(Path(plain).suffixes[-2:])[-20:]
        plain = plain[: longest_file_name - len(ending)] + ending
    return plain or "votes"


def _end(process: subprocess.Popen[str] | None) -> None:
    if process is not None and process.poll() is None:
        process.kill()
