"""The n-th call of the operating system fails, for n = 1, 2, ... until a command succeeds.

A small library, preloaded, counts every open, write, sync, rename, link and mkdir on files below a folder, also those
of DuckDB and Arrow, and lets one of them fail.  After each run the files must be in the old state or the new one, and
nothing else may be left.  A process forks for each n, so that imports are paid for once.

    python -m corpus.faults check --every 1
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib
import io
import os
import pkgutil
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

LIBRARY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char root[PATH_MAX];
static volatile long seen, target;
static char failed[64];
static char ours[1 << 16];

void fault_arm(const char *folder, long n) {
  strncpy(root, folder, sizeof root - 1); seen = 0; target = n; failed[0] = 0; memset(ours, 0, sizeof ours);
}
long fault_seen(void) { return seen; }
const char *fault_failed(void) { return failed; }

static int below(const char *path) {
  char here[PATH_MAX];
  if (!target || !path) return 0;
  if (path[0] == '/') return !strncmp(path, root, strlen(root));
  return getcwd(here, sizeof here) && !strncmp(here, root, strlen(root));
}
static int fails(const char *name, int how) {
  if (__sync_add_and_fetch(&seen, 1) != target) return 0;
  strncpy(failed, name, sizeof failed - 1); errno = how; return 1;
}
static int kept(int handle, int is_ours) {
  if (handle >= 0 && handle < (int)sizeof ours) ours[handle] = (char)is_ours;
  return handle;
}
#define NEXT(name) static __typeof__(&name) next; if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define MODE mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list more; va_start(more, flags); \
  mode = va_arg(more, mode_t); va_end(more); }

int open(const char *path, int flags, ...) { NEXT(open); MODE int mine = below(path);
  if (mine && fails("open", EIO)) return -1; return kept(next(path, flags, mode), mine); }
int open64(const char *path, int flags, ...) { NEXT(open64); MODE int mine = below(path);
  if (mine && fails("open", EIO)) return -1; return kept(next(path, flags, mode), mine); }
int openat(int at, const char *path, int flags, ...) { NEXT(openat); MODE int mine = below(path);
  if (mine && fails("open", EIO)) return -1; return kept(next(at, path, flags, mode), mine); }
int openat64(int at, const char *path, int flags, ...) { NEXT(openat64); MODE int mine = below(path);
  if (mine && fails("open", EIO)) return -1; return kept(next(at, path, flags, mode), mine); }
int close(int handle) { NEXT(close); kept(handle, 0); return next(handle); }
static int is_ours(int handle) { return target && handle >= 0 && handle < (int)sizeof ours && ours[handle]; }
ssize_t write(int handle, const void *data, size_t n) { NEXT(write);
  if (is_ours(handle) && fails("write", ENOSPC)) return -1; return next(handle, data, n); }
ssize_t pwrite64(int handle, const void *data, size_t n, off64_t at) { NEXT(pwrite64);
  if (is_ours(handle) && fails("write", ENOSPC)) return -1; return next(handle, data, n, at); }
ssize_t pwrite(int handle, const void *data, size_t n, off_t at) { NEXT(pwrite);
  if (is_ours(handle) && fails("write", ENOSPC)) return -1; return next(handle, data, n, at); }
int fsync(int handle) { NEXT(fsync); if (is_ours(handle) && fails("fsync", EIO)) return -1; return next(handle); }
int fdatasync(int handle) { NEXT(fdatasync);
  if (is_ours(handle) && fails("fsync", EIO)) return -1; return next(handle); }
int rename(const char *a, const char *b) { NEXT(rename);
  if (below(b) && fails("rename", EIO)) return -1; return next(a, b); }
int mkdir(const char *path, mode_t mode) { NEXT(mkdir);
  if (below(path) && fails("mkdir", ENOSPC)) return -1; return next(path, mode); }
int link(const char *a, const char *b) { NEXT(link);
  if (below(b) && fails("link", EMLINK)) return -1; return next(a, b); }
int linkat(int p, const char *a, int q, const char *b, int flags) { NEXT(linkat);
  if (below(b) && fails("link", EMLINK)) return -1; return next(p, a, q, b, flags); }
"""
VOTES = "item,worker,label\n" + "".join(
    f"q{i},{w},{'yn'[(i * i + 3 * (j == i % 5)) % 7 % 2]}\n" for i in range(40) for j, w in enumerate("abcde")
)
COMMANDS = {  # the words of a command, what is typed, and the words of the command that made the old state
    "check": (["check", "v.csv", "--out", "out", "-q"], "", ["check", "old.csv", "--out", "out", "-q"]),
    "memory": (
        ["check", "v.csv", "--out", "out", "--memory", "1GB", "-q"], "",
        ["check", "old.csv", "--out", "out", "-q"],
    ),
    "aggregate": (
        ["aggregate", "v.csv", "--out", "labels.csv", "--overwrite", "-q"], "",
        ["aggregate", "old.csv", "--out", "labels.csv", "-q"],
    ),
    "ask": (["ask", "v.csv", "--n", "6", "-q"], "", None),
    "label": (["label", "to_label.csv"], "121q", ["ask", "v.csv", "--n", "6", "-q"]),
}  # fmt: skip


def library(folder: Path) -> Path | None:
    """The library, compiled; None where there is no compiler or no LD_PRELOAD."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    (folder / "faults.c").write_text(LIBRARY)
    made = folder / "faults.so"
    words = [compiler, "-shared", "-fPIC", "-O1", "-o", str(made), str(folder / "faults.c"), "-ldl"]
    return made if subprocess.run(words, capture_output=True, check=False).returncode == 0 else None


def run(name: str, every: int = 1, start: int = 1) -> list[str]:
    """The faults found for a command, in a process with the library; empty where there is no compiler."""
    with tempfile.TemporaryDirectory(prefix="majorant-faults-") as folder:
        made = library(Path(folder))
        if made is None:
            return []
        command = [sys.executable, "-m", "corpus.faults", name, "--every", str(every), "--start", str(start)]
        path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "LD_PRELOAD": str(made), "PYTHONPATH": path, "MAJORANT_FAULTS": str(made)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        if done.returncode not in (0, 1):
            return [f"{name}: the harness ended with {done.returncode}: {done.stderr[-300:]}"]
        return done.stdout.splitlines()[:-1]


def _import_everything() -> None:
    import majorant

    for module in pkgutil.walk_packages(majorant.__path__, "majorant."):
        if not module.name.startswith(("majorant.web", "majorant.read.spark", "majorant.spark", "majorant.__main__")):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    for name in ("duckdb", "pyarrow.parquet", "scipy.stats", "scipy.optimize", "scipy.special", "matplotlib.figure",
                 "matplotlib.backends.backend_svg"):  # fmt: skip
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _main(words: list[str], typed: str) -> None:
    from majorant.cli import main

    sys.argv, sys.stdin = ["majorant", *words], io.StringIO(typed)
    main()


def state(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _allowed(name: str, folder: Path, words: list[str], typed: str, old: dict[str, bytes]) -> list[dict[str, bytes]]:
    """The states in which a command may leave the files."""
    states = [old]
    for keys in [typed[:n] + "q" for n in range(1, len(typed))] if name == "label" else [typed]:
        shutil.rmtree(folder)
        _fill(folder, old)
        _watched(folder, words, keys, lambda: None)
        states.append(state(folder))
    return states


def _fill(folder: Path, files: dict[str, bytes]) -> None:
    (folder / "tmp").mkdir(parents=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _seen(files: dict[str, bytes]) -> dict[str, bytes]:
    """What counts: a journal may be ahead of its file."""
    return {name: content for name, content in files.items() if not name.endswith(".journal")}


def search(name: str, every: int, start: int) -> list[str]:
    """Let each call in turn fail."""
    faults = ctypes.CDLL(os.environ["MAJORANT_FAULTS"])
    faults.fault_failed.restype = ctypes.c_char_p
    _import_everything()
    words, typed, first = COMMANDS[name]
    found: list[str] = []
    with tempfile.TemporaryDirectory(prefix="majorant-faults-") as place:
        folder = Path(place) / "files"
        _fill(folder, {"v.csv": VOTES.encode(), "old.csv": VOTES.replace("q1,", "p1,").encode()})
        if first is not None:
            assert _watched(folder, first, "", lambda: None) == 0, (Path(place) / "error").read_text()
        old = state(folder)
        allowed = [_seen(files) for files in _allowed(name, folder, words, typed, old)]
        n = start
        while True:
            shutil.rmtree(folder)
            _fill(folder, old)
            read, write = os.pipe()

            def before(n: int = n) -> None:
                faults.fault_arm(os.fsencode(folder), ctypes.c_long(n))

            code = _watched(folder, words, typed, before, faults, write)
            os.close(write)
            told = os.read(read, 64).decode()
            os.close(read)
            now, error = _seen(state(folder)), (Path(place) / "error").read_text(errors="replace")
            where = f"{name}, call {n} ({told or 'none'})"
            if code not in (0, 1, 2):
                found.append(f"{where}: ended with {code}: {error[-200:]}")
            if "Unexpected" in error or "Traceback" in error:
                found.append(f"{where}: {error[-300:]}")
            if now not in allowed:
                changed = {file for file in {*now, *old} if now.get(file) != old.get(file)}
                found.append(f"{where}: a mix or litter, exit {code}: {sorted(changed)}")
            if code == 0 and name != "label" and now != allowed[-1]:
                found.append(f"{where}: exit 0 without the result")
            if not told:
                break
            n += every
    print("\n".join([*found, f"{n} calls of {name}"]))
    return found


def _watched(
    folder: Path,
    words: list[str],
    typed: str,
    before: Callable[[], None],
    faults: ctypes.CDLL | None = None,
    write: int = -1,
) -> int:
    """The exit code of a command in a fork; which call failed is written to a pipe before the process ends."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 99
    try:
        os.chdir(folder)
        for number, name in ((1, "said"), (2, "error")):
            handle = os.open(folder.parent / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(handle, number)
        tempfile.tempdir = str(folder / "tmp")
        before()
        _main(words, typed)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        if faults is not None:
            os.write(write, faults.fault_failed() or b"")
        os._exit(code)


def run_fault(number: int) -> tuple[int, str | None]:
    """Case of the campaign: one command from one call on, every hundredth."""
    name = list(COMMANDS)[number % len(COMMANDS)]
    found = run(name, every=40, start=1 + number // len(COMMANDS))
    return number, "; ".join(found) or None


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=COMMANDS)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--start", type=int, default=1)
    given = parser.parse_args()
    sys.exit(1 if search(given.name, given.every, given.start) else 0)
