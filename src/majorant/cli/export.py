"""Labels back into a labelling tool: --export, for the commands that write labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from majorant.cli.source import DATASET, Source

ENDINGS = {"label-studio": ".json", "argilla": ".json", "prodigy": ".jsonl"}


def export_option(what: str) -> Callable[[Any], Any]:
    """The option --export, with what it does there."""
    return click.option("--export", type=click.Choice([*ENDINGS]), help=what)


def export_text(name: str, table: Any, labels: Sequence[Any], votes: Any, source: Source) -> str:
    """The labels as a file that a tool imports; of its own export, with the items' fields and the names of controls."""
    from majorant.io.consensus import Consensus, Tool, control_of, item_fields
    from majorant.io.consensus import export_text as text_of

    file: Any = source.file[0] if len(source.file) == 1 else list(source.file)
    found = [
        Consensus(item, label, None if confidence != confidence else float(confidence))
        for item, label, confidence in zip(table["item"], table["label"], table["confidence"], strict=True)
    ]
    public = source.file[0].startswith(DATASET) or source.file[0] == "-"
    fields = {} if public else item_fields(file, item=source.options.item)
    if not fields and getattr(votes, "text", None) is not None:
        texts = votes.text([one.item for one in found])
        fields = {str(one.item): {"text": text} for one, text in zip(found, texts, strict=True) if text is not None}
    question, about = control_of(file) or (source.options.label or "label", "text")
    return text_of(name, found, Tool(fields, labels, question, about))


def export_path(folder: str, name: str) -> Path:
    """Where the labels for a tool go in a folder of results."""
    return Path(folder) / f"labels-for-{name}{ENDINGS[name]}"
