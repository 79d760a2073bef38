"""Which rule to use and what it changes, as plain data."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from majorant.answer.calibrate import Labels
from majorant.answer.choice import Alternative, Decision
from majorant.answer.review import Reviewed, review_table
from majorant.pipeline import Result
from majorant.report.certificate_summary import certificate_sentence
from majorant.report.plain import number, plain
from majorant.slices import Slice
from majorant.votes import IntArray

MOST_REVIEWED = 20
MOST_FLOWS = 12  # labels that the flow shows one by one; the rest is pooled
TIE, OTHERS = "tie", "others"


def decision_summary(decision: Decision) -> dict[str, Any]:
    """The facts of a decision."""
    return {
        "method": decision.method,
        "reason": decision.reason,
        "majority_enough": decision.majority_enough,
        "labels_changed": decision.labels_changed,
        "ties_settled": decision.ties_settled,
        "alternatives": [alternative_summary(one) for one in decision.alternatives],
        "gold_test": None if decision.gold_test is None else asdict(decision.gold_test),
    }


def alternative_summary(one: Alternative) -> dict[str, Any]:
    """The facts of a method that was used, or could have been."""
    return {**asdict(one), "accuracy": asdict(one.accuracy), "gold": asdict(one.gold)}


def flow_summary(items_kl: IntArray, labels: Sequence[Hashable]) -> dict[str, Any]:
    """How many items go from each label of majority vote (or a tie) to each of the rule; the commonest one by one."""
    n_classes = len(labels)
    common_k = np.argsort(-items_kl[:, :-1].sum(axis=0), kind="stable")[:MOST_FLOWS]
    shown_k = np.sort(common_k)
    place_k = np.full(n_classes + 1, len(shown_k))  # the last stands for NO_LABEL
    place_k[shown_k] = np.arange(len(shown_k))
    pooled = n_classes > MOST_FLOWS
    place_k[-1] = len(shown_k) + pooled
    size = len(shown_k) + pooled + 1
    items = np.zeros((size, size), dtype=np.int64)
    np.add.at(items, (place_k[:, None], place_k), items_kl)
    names = [plain(labels[k]) for k in shown_k] + [OTHERS] * pooled + [TIE]
    return {"from": names, "to": names, "items": items.tolist()}


def accuracy_summary(result: Result) -> dict[str, Any]:
    """How often the labels are expected to be right, and what majority vote gives away."""
    named = result.certificate.named
    return {
        "majority": asdict(result.majority_accuracy),
        "recommended": asdict(result.labels.accuracy),
        "source": result.labels.source,
        "loss_anonymous": asdict(result.certificate.anonymous.loss),
        "loss_named": None if named is None else asdict(named.loss),
    }


def confidence_summary(labels: Labels) -> dict[str, Any]:
    """How confident the labels are, and how often they are right where the truth is known."""
    return {
        "temperature": labels.temperature,
        "slip": labels.slip,
        "echo": labels.echo,
        "ece": labels.reliability.ece,
        "gold_items": labels.reliability.gold_items,
        "bins": [asdict(one) for one in labels.reliability.bins],
    }


def review_summary(reviewed: Reviewed) -> dict[str, Any]:
    """The items where a look pays most; the first of them one by one."""
    found, table = reviewed.review, review_table(*reviewed)
    rows = zip(*(table[name][:MOST_REVIEWED] for name in table), strict=True)
    return {
        "items": len(found.item_p),
        "resource": found.resource,
        "gain": found.gain,
        "rows": [{name: _cell(value) for name, value in zip(table, row, strict=True)} for row in rows],
    }


def _cell(value: Any) -> Any:
    value = plain(value)
    return number(value) if isinstance(value, float) else value


def slice_summary(one: Slice) -> dict[str, Any]:
    """The facts of a slice: its verdict in a sentence, and what is lost."""
    certificate = one.certificate
    return {
        "value": plain(one.value),
        "items": one.n_items,
        "votes": one.n_votes,
        "level": certificate.level,
        "verdict": certificate.anonymous.verdict,
        "named": None if certificate.named is None else certificate.named.verdict,
        "gold": None if certificate.gold is None else certificate.gold.verdict,
        "sentence": certificate_sentence(certificate),
        "loss_anonymous": asdict(certificate.anonymous.loss),
        "loss_named": None if certificate.named is None else asdict(certificate.named.loss),
    }
