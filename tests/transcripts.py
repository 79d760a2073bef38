"""The examples in README and docs; run as a script, it writes into every transcript what its commands print now."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRESS = re.compile(r"^majorant: .* % done after .*\n", re.MULTILINE)  # how long it takes is the machine's affair
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def transcript(block: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with what it prints."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)
    return [tuple(part.split("\n", 1)) for part in parts if part]


def run_command(command: str, folder: Path) -> str:
    """What a command prints in `folder`, with this environment's `majorant` first on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    place = {**os.environ, "PATH": path, "COLUMNS": "100"}
    done = subprocess.run(command, shell=True, cwd=folder, env=place, capture_output=True, text=True)
    return done.stdout + PROGRESS.sub("", done.stderr)


def refresh(page: Path) -> None:
    """Rewrite the transcripts of a page."""
    with tempfile.TemporaryDirectory() as folder:

        def rerun(match: re.Match) -> str:
            kind, block = match.groups()
            if kind == "python":
                return match.group()
            lines = (f"$ {command}\n{run_command(command, Path(folder))}" for command, _ in transcript(block))
            return f"```console\n{''.join(lines)}```"

        page.write_text(BLOCK.sub(rerun, page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:] or PAGES:
        refresh(Path(name))
