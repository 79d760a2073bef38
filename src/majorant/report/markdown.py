"""The answer in Markdown, for the summary of a run in continuous integration or a comment on a change."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from majorant.errors import ConfigError
from majorant.output import write_files
from majorant.wording import printable, votes_counted

EMOJI = {"keep": "✅", "switch": "🔁", "ask": "❓"}
MARKDOWN_SIGNS = re.compile(r"([\\`*_\[\]<>|~#!])")
JOB_SUMMARY = "GITHUB_STEP_SUMMARY"  # the file to which every command of a job's step adds its part


def markdown(summary: dict[str, Any]) -> str:
    """A heading with the answer, what it does to the labels, and a table: gain, evidence, what next, which votes."""
    answer = summary["answer"]
    source = re.split(r"[/\\]", summary["input"]["source"])[-1]
    rows = {
        "Gain": inert(answer["gain_sentence"]),
        "Evidence": inert(answer["why"]),
        "Next": _with_code(answer["next"], answer["command"]),
        "Votes": f"{inert(source)}: {votes_counted(summary['votes'])}",
    }
    lines = [
        f"### {EMOJI[answer['action']]} {inert(answer['headline'])}",
        "",
        inert(answer["labels_sentence"]),
        "",
        "| | |",
        "|---|---|",
        *(f"| **{name}** | {text} |" for name, text in rows.items()),
    ]
    if summary["slices"]:
        lines += ["", "| part | items | verdict |", "|---|---:|---|"]
        lines += [f"| {inert(str(one['value']))} | {one['items']:,} | {one['verdict']} |" for one in summary["slices"]]
    return "\n".join(lines) + "\n"


def write_markdown(summary: dict[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write the Markdown to a file; to a job's summary it is added, since other commands write there too."""
    target = Path(path)
    if os.environ.get(JOB_SUMMARY) != str(path):
        return write_files({target: markdown(summary)})[0]
    try:
        with target.open("a", encoding="utf-8") as file:
            file.write(f"{markdown(summary)}\n")
    except OSError as error:
        raise ConfigError(f"Cannot write {target}: {error.strerror}.") from error
    return target


def inert(text: str) -> str:
    """Text in which no name makes a link, an image, a tag or a cell of its own.

    >>> inert("a|b <script> [x](y)")
    'a\\\\|b \\\\<script\\\\> \\\\[x\\\\](y)'
    """
    return MARKDOWN_SIGNS.sub(r"\\\1", printable(" ".join(text.split())))


def _with_code(text: str, command: str) -> str:
    """The sentence with the command that it ends with as code, where nothing in it could end the code."""
    if not command or not text.endswith(command) or "`" in command or "|" in command:
        return inert(text)
    return f"{inert(text[: -len(command)])} `{printable(command)}`"
