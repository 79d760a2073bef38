"""Who is good, as plain data."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from majorant.answer.workers import Workers
from majorant.certify.certificate import Dependence
from majorant.estimate.fit import Fit
from majorant.report.plain import number, plain

MOST_WORKERS = 500  # those with the most votes
MOST_CONFUSIONS, MOST_CLASSES = 12, 12


def workers_summary(names: Sequence[Hashable], workers: Workers, method: str) -> dict[str, Any]:
    """How many workers stand out and how, and the ones with the most votes."""
    flags = [flag for one in workers.flags for flag in one]
    busiest = np.argsort(-workers.votes_j, kind="stable")[:MOST_WORKERS]
    return {
        "method": method,
        "level": workers.level,
        "workers": len(names),
        "unit": workers.unit,
        "flagged": {flag: flags.count(flag) for flag in dict.fromkeys(flags)},
        "rows": [
            {
                "worker": plain(names[j]),
                "votes": int(workers.votes_j[j]),
                **{name: number(getattr(workers, f"{name}_j")[j]) for name in NUMBERS},
                "flags": [
                    {"flag": flag, "evidence": evidence}
                    for flag, evidence in zip(workers.flags[j], workers.evidence[j], strict=True)
                ],
            }
            for j in busiest
        ],
    }


NUMBERS = ("accuracy", "low", "high", "chance", "agreement", "weight")


def confusions_summary(names: Sequence[Hashable], workers: Workers, fit: Fit) -> list[dict[str, Any]]:
    """The confusion matrices of the workers with the most votes, where each has one and classes are few."""
    if fit.confusion is None or fit.confusion.ndim != 3 or len(fit.label_values) > MOST_CLASSES:
        return []
    busiest = np.argsort(-workers.votes_j, kind="stable")[:MOST_CONFUSIONS]
    return [{"worker": plain(names[j]), "matrix": fit.confusion[j].round(6).tolist()} for j in busiest]


def dependence_summary(found: Dependence | None) -> dict[str, Any] | None:
    """Which workers of a panel err together, and what the panel is worth."""
    if found is None:
        return None
    names: list[Hashable] = list(dict.fromkeys(name for pair in found.pairs for name in pair.workers))
    return {
        "gate": asdict(found.gate),
        "truth": found.truth,
        "n_eff": asdict(found.n_eff),
        "redundant": [plain(name) for name in found.redundant],
        "workers": [plain(name) for name in names],
        "pairs": [
            {
                "workers": [plain(name) for name in pair.workers],
                "correlation": pair.correlation,
                "p_value": pair.p_value,
            }
            for pair in found.pairs
        ],
    }
