"""The examples in README and docs. Run as a script, this updates the output in every transcript."""

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

from majorant.cli import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRESS = re.compile(r"^majorant: .* % done after .*\n", re.MULTILINE)  # timing depends on the machine
OURS = re.compile(r"(majorant [^|&;<>]*)(.*)")
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def transcript(block: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with its output."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)
    return [tuple(part.split("\n", 1)) for part in parts if part]


def run_command(command: str, folder: Path) -> str:
    """Run a command in `folder` and return its output; `majorant` runs in this process, the rest in a shell."""
    ours = OURS.match(command)
    if ours is None:
        return shell(command, folder)
    code, printed, said = run_majorant(shlex.split(ours[1]), folder)
    printed = shell(f"(cat; exit {code}) {ours[2]}", folder, printed) if ours[2] else printed
    return printed + PROGRESS.sub("", said)


def run_majorant(words: list[str], folder: Path) -> tuple[object, str, str]:
    """Call our own command; return the exit code, standard output and standard error."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="", write_through=True) for _ in range(2))
    code: object = 0
    with (
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, COLUMNS="100"),
        mock.patch.object(sys, "argv", words),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
    return code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()


def shell(command: str, folder: Path, given: str = "") -> str:
    """Run a shell command and return its output."""
    done = subprocess.run(command, shell=True, cwd=folder, input=given, capture_output=True, text=True)
    return done.stdout + done.stderr


def run_python(block: str, names: dict[str, object], page: Path) -> None:
    """Run a Python block of a page, whose later blocks and commands may need what it does."""
    if not block.startswith(">>> "):
        exec(compile(block, page.name, "exec"), names)
        return
    example = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), 0)
    done = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, clear_globs=False)
    names.update(example.globs)
    if done.failed:
        raise AssertionError(f"{page}: an example does not print what it shows.")


def refresh(page: Path) -> None:
    """Rewrite the transcripts of a page: its commands and Python blocks run in the order in which they stand."""
    names: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):

        def rerun(match: re.Match) -> str:
            kind, block = match.groups()
            if kind == "python":
                run_python(block, names, page)
                return match.group()
            lines = (f"$ {command}\n{run_command(command, Path(folder))}" for command, _ in transcript(block))
            return f"```console\n{''.join(lines)}```"

        text = BLOCK.sub(rerun, page.read_text(encoding="utf-8"))
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:] or PAGES:
        refresh(Path(name).resolve())
