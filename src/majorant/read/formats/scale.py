"""Scale AI: a finished task has one merged response, so it contains no individual votes.

Layout: scale.com/docs/api-reference (callbacks).
"""

from __future__ import annotations

from collections.abc import Iterator

from majorant.read.formats.base import Context, Format, Record, Vote

KEYS = frozenset(["task_id", "type", "params", "response"])


def _no_votes(task: Record, _: Context) -> Iterator[Vote]:
    raise KeyError(f"workers of task {task['task_id']}")


def _merged(keys: frozenset[str], first: Record) -> str | None:
    del keys, first
    return (
        "which holds one response per task, already merged. Ask Scale for the attempts of single workers, and give a "
        "table with the columns item, worker and label."
    )


def _is_callback(first: Record) -> bool:
    task = first.get("task")
    return isinstance(task, dict) and task.keys() >= KEYS


TASKS = Format(
    name="Scale AI task",
    recognise=lambda keys, first: keys >= KEYS or _is_callback(first),
    votes=_no_votes,
    kinds=("task",),
    refusal=_merged,
)
