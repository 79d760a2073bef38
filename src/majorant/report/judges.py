"""Judges as plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from majorant.answer.judges import Judge, Judges


def judge_summary(found: Judges) -> dict[str, Any]:
    """The facts that the lines and --json show."""
    return {
        "gate": found.gate,
        "judges": [_facts(one) for one in found.judges],
        "panel": None if found.panel is None else _facts(found.panel),
        "repeats": [asdict(one) for one in found.repeats],
        "positions": [asdict(one) for one in found.positions],
        "worth": asdict(found.worth),
        "labels": list(found.labels),
        "gold": found.n_gold,
        "bar": found.bar,
        "level": found.level,
    }


def _facts(one: Judge) -> dict[str, Any]:
    return {
        "name": one.name,
        "right": one.right,
        "judged": one.judged,
        "accuracy": one.accuracy.value,
        "low": one.accuracy.low,
        "high": one.accuracy.high,
        "kappa": one.kappa,
        "confusion": one.confusion_kl.tolist(),
        "wrong": list(one.wrong),
    }
