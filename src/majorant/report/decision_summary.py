"""Which rule to use and what it changes, as plain data."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from majorant import wording
from majorant.answer.answer import Answer
from majorant.answer.calibrate import Labels
from majorant.answer.choice import Alternative, Decision
from majorant.answer.review import Reviewed, review_table
from majorant.answer.workers import Workers
from majorant.certify.certificate import Dependence
from majorant.estimate.fit import Fit
from majorant.gold.question import Outcome
from majorant.pipeline import Result
from majorant.report.certificate_summary import loss_facts
from majorant.report.plain import number, plain
from majorant.slices import Slice
from majorant.votes import IntArray, Votes
from majorant.wording import certificate_sentence

MOST_REVIEWED = 20
MOST_SIGNS = 300  # of an item's text
MOST_LABELS = 6  # of an item to review
MOST_FLOWS = 12  # labels that the flow shows one by one; the rest is pooled
TIE, OTHERS = "tie", "others"
MOST_WORKERS = 500  # those with the most votes
MOST_CONFUSIONS, MOST_CLASSES = 12, 12


def answer_summary(answer: Answer) -> dict[str, Any]:
    """The facts of the answer, with its sentences; percentage points throughout, but for the gold labels' own lead."""
    return {
        **{name: getattr(answer, name) for name in ("action", "rule", "other", "present", "grade", "basis")},
        "headline": answer.headline,
        "gain_sentence": wording.gain_line(answer),
        "labels_sentence": wording.labels_line(answer),
        "why": answer.why,
        "next": answer.next,
        "command": answer.command,
        "gain": asdict(answer.gain),
        **{name: getattr(answer, name) for name in ("items", "differ", "stake", "tied", "tie_gain", "tolerance")},
        "gold": None if answer.gold is None else asdict(answer.gold),
        "expert": None if answer.expert is None else {**expert_summary(answer.expert), "command": answer.go_on},
        "model": None if answer.model is None else asdict(answer.model),
        "withdrawn": None if answer.withdrawn is None else asdict(answer.withdrawn),
        "ask": None if answer.ask is None else asdict(answer.ask),
    }


def expert_summary(outcome: Outcome) -> dict[str, Any]:
    """What labels drawn by design say, with its sentence and what to know about the labels."""
    names = ("kind", "verdict", "decided", "labels", "skipped", "more", "leader", "below", "tolerance")
    return {
        **{name: getattr(outcome, name) for name in names},
        "value": asdict(outcome.value),
        "rules": list(outcome.rules),
        "alive": list(outcome.alive),
        "right": dict(outcome.right),
        "sentence": wording.outcome_sentence(outcome),
        "notes": [*wording.answers_notes(outcome), wording.A_SAMPLE if outcome.uniform else wording.NOT_A_SAMPLE],
    }


def decision_summary(decision: Decision) -> dict[str, Any]:
    """The facts of a decision."""
    return {
        "method": decision.method,
        "chosen_by": decision.chosen_by,
        "labels_changed": decision.labels_changed,
        "ties_settled": decision.ties_settled,
        "alternatives": [alternative_summary(one) for one in decision.alternatives],
    }


def alternative_summary(one: Alternative) -> dict[str, Any]:
    """The facts of a method that was used, or could have been."""
    return asdict(one)


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
    """How often majority vote and the other rule are right, one figure each, and what majority vote may lose."""
    named = result.certificate.named
    return {
        "majority": asdict(result.accuracy("majority")),
        "other": asdict(result.accuracy(result.decision.method)),
        "source": "model" if result.gold is None else "gold",
        "loss_anonymous": loss_facts(result.certificate.anonymous),
        "loss_named": None if named is None else loss_facts(named),
    }


def confidence_summary(labels: Labels) -> dict[str, Any]:
    """How confident the labels are, and how often they are right where the truth is known."""
    return {
        "source": labels.source,
        "temperature": None if labels.calibration is None else labels.calibration.temperature,
        "slip": None if labels.calibration is None else labels.calibration.epsilon,
        "echo": labels.echo,
        "ece": labels.reliability.ece,
        "gold_items": labels.reliability.gold_items,
        "bins": [asdict(one) for one in labels.reliability.bins],
    }


def review_summary(reviewed: Reviewed) -> dict[str, Any]:
    """The items where a look pays most; the first of them one by one."""
    found, table = reviewed.review, review_table(*reviewed)
    if "text" in table:
        table["text"] = [None if text is None else shortened(text) for text in table["text"]]
    rows = zip(*(table[name][:MOST_REVIEWED] for name in table), strict=True)
    return {
        "items": len(found.item_p),
        "resource": found.resource,
        "gain": found.gain,
        "rows": [
            {
                **{name: _cell(value) for name, value in zip(table, row, strict=True)},
                "ballot": ballot(reviewed.votes, i),
            }
            for i, row in zip(found.item_p, rows, strict=False)
        ],
    }


def shortened(text: str, most: int = MOST_SIGNS) -> str:
    """The beginning of a text, in one line.

    >>> shortened("a  long\\nstory", 8)
    'a long …'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()} …"[:most]


def ballot(votes: Votes, item: int) -> list[dict[str, Any]]:
    """The labels that an item was given and how often, the commonest first; the first few of many.

    >>> two = Votes.from_codes([0, 0, 0], [0, 1, 2], [1, 0, 1], items="a", workers="xyz", labels=("no", "yes"))
    >>> ballot(two, 0)
    [{'label': 'yes', 'votes': 2}, {'label': 'no', 'votes': 1}]
    """
    votes_k = np.bincount(votes.label_n[votes.offsets_i[item] : votes.offsets_i[item + 1]], minlength=len(votes.labels))
    order = [k for k in np.argsort(-votes_k, kind="stable")[:MOST_LABELS] if votes_k[k]]
    return [{"label": plain(votes.labels[k]), "votes": int(votes_k[k])} for k in order]


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
        "standing": certificate.standing.kind,
        "verdict": certificate.anonymous.verdict,
        "named": None if certificate.named is None else certificate.named.verdict,
        "gold": None if certificate.gold is None else certificate.gold.verdict,
        "sentence": certificate_sentence(certificate),
        "loss_anonymous": loss_facts(certificate.anonymous),
        "loss_named": None if certificate.named is None else loss_facts(certificate.named),
    }


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
