"""Scale AI: refused, because a finished task has one merged response and no individual votes.

Layout: scale.com/docs/api-reference (callbacks).
"""

from __future__ import annotations

from majorant.read.formats.base import Format, Record

KEYS = frozenset(["task_id", "type", "params", "response"])


def _is_callback(first: Record) -> bool:
    task = first.get("task")
    return isinstance(task, dict) and task.keys() >= KEYS


FORMATS = [
    Format(
        name="Scale AI task",
        recognise=lambda keys, first: keys >= KEYS or _is_callback(first),
        votes=lambda *_: iter(()),
        refusal=lambda *_: (
            "which holds one response per task, already merged. Ask Scale for the attempts of single workers, and give "
            "a table with the columns item, worker and label."
        ),
    )
]
