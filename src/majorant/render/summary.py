"""The facts of a result as plain data, from which result.json, the report and its figures are made."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from majorant.defaults import MAJORITY
from majorant.evidence.evidence import Status
from majorant.render.agreement import agreement_facts
from majorant.render.answer import accuracy_warning, judges_line, say_answer
from majorant.render.ask import answers_notes, outcome_sentence, sample_note
from majorant.render.certificate import certificate_summary, dependence_summary
from majorant.render.known import known_facts
from majorant.render.map import map_facts
from majorant.render.notes import account_facts
from majorant.render.plain import Facts, facts_of, plain, to_plain
from majorant.render.plan import plan_facts
from majorant.render.rates import rate_facts
from majorant.render.review import review_facts
from majorant.render.words import quoted_number, shown
from majorant.render.workers import copies_facts, workers_facts, workers_line
from majorant.values import Estimate
from majorant.version import __version__

if TYPE_CHECKING:
    from majorant.ask.question import Outcome
    from majorant.evidence.certificate.certificate import Certificate
    from majorant.evidence.certificate.claims import Counts
    from majorant.evidence.evidence import Evidence
    from majorant.methods.fit import Fit
    from majorant.results.calibrate import Confidence
    from majorant.results.comparison import Alternative
    from majorant.results.labels import LabelCounts
    from majorant.results.rates import Rates
    from majorant.results.result import Result
    from majorant.results.slices import SliceAnswer
    from majorant.results.workers import Workers
    from majorant.votes import IntArray, Votes

SCHEMA = 5  # incremented when a field changes its meaning or is removed


def result_summary(
    result: Result,
    *,
    command: str | None = None,
    next_command: str = "",
    seed: int | None = None,
    details: bool = True,
) -> Facts:
    """The facts of a check and how they were found; `details=False` is faster and gives only those of the answer."""
    votes, changes = result.votes, result.changes
    facts = {
        "majorant": __version__,
        "schema": SCHEMA,
        "command": command,
        "versions": versions(),
        "level": result.level,
        "seed": seed,
        "tolerance": result.settings.tolerance,
        "answer": answer_facts(result, next_command=next_command),
        "input": account_facts(votes.account),
        "votes": votes_facts(votes, result.counts),
        "majority": labels_facts(result.majority, changes.majority),
        "labels": {
            **labels_facts(result.written, result.written_counts),
            "changed": changes.changed if result.rule != MAJORITY else 0,
            "ties": result.tied,
            "tie_breaker": result.tie_breaker,
        },
        "accuracy": accuracy_facts(result),
        "rules": [alternative_facts(one) for one in result.rated],
        "judges": judges_facts(result),
        "copies": copies_facts(result.copy_groups),
        "flow": {**flow_facts(changes.flow_kl, votes.labels), "changed": changes.changed},
        "gold": to_plain(result.gold),
        "slices": [slice_facts(one) for one in result.slices],
        "comparison": [alternative_facts(one) for one in result.comparison],
        "details": details,
    }
    if details:
        facts |= {
            "confidence": confidence_facts(result.confidence),
            "workers": {
                **workers_facts(result.workers),
                "sentence": workers_line(result.workers, result.copy_groups, result.removal),
                "removal": to_plain(result.removal),
                "confusions": confusion_facts(votes.workers, result.workers, result.worker_fit),
                "dependence": dependence_summary(result.certificate.dependence),
            },
            "review": review_facts(result.review),
            "agreement": agreement_facts(result.agreement, votes.workers),
            "certificate": certificate_summary(result.certificate),
            "plan": None if result.plan is None else plan_facts(result.plan),
            "map": map_facts(result.map) if _map_holds(result.certificate) else [],
            "rate": None if result.rates is None else share_facts(result.rates),
        }
    if len(result.some.votes.items) < len(votes.items):
        facts["sample"] = {"items": len(result.some.votes.items), "of": len(votes.items)}
    return facts


def judges_facts(result: Result) -> Facts | None:
    """Who the judges of a panel are, and what that changes."""
    judges = result.setting.judges
    return None if judges is None else {"sentence": judges_line(result), **known_facts(judges)}


def versions() -> dict[str, str]:
    """The versions of the software that computed the numbers."""
    import platform

    import scipy

    return {
        "majorant": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def votes_facts(votes: Votes, counts: Counts) -> Facts:
    """How many votes there are, and how they are distributed over items, workers and labels."""
    votes_jl, (n_items, n_workers, n_classes) = counts.votes_jl, votes.shape
    items_s = np.bincount(counts.patterns.votes_p, weights=counts.patterns.items_p).astype(np.int64)
    least, middle, most = np.quantile(votes_jl.sum(axis=1), [0, 0.5, 1]) if n_workers else (0, 0, 0)
    return {
        "votes": int(votes_jl.sum()),
        "items": n_items,
        "workers": n_workers,
        "classes": n_classes,
        "votes_per_item": [{"votes": int(s), "items": int(items_s[s])} for s in np.flatnonzero(items_s)],
        "votes_per_worker": {"least": int(least), "median": float(middle), "most": int(most)},
        "label_votes": [
            {"label": plain(label), "votes": int(n)}
            for label, n in zip(votes.labels, votes_jl.sum(axis=0), strict=True)
        ],
    }


def labels_facts(fit: Fit, counts: LabelCounts) -> Facts:
    """How many items got each label, how many are ties, and how many have no votes."""
    return {
        **facts_of(fit, "method converged steps=n_iter"),
        "labelled": int(counts.items_k.sum()),
        **facts_of(counts, "tied without_votes"),
        "by_label": [
            {"label": plain(label), "items": int(n)} for label, n in zip(fit.label_values, counts.items_k, strict=True)
        ],
    }


def answer_facts(result: Result, *, next_command: str = "") -> Facts:
    """The facts of the answer with its sentences; gains are shares of the items."""
    answer, basis = result.answer, result.answer.basis
    return {
        **facts_of(answer, "action certainty source other gain"),
        "rule": result.rule,
        **say_answer(result)._asdict(),
        "command": next_command,
        **facts_of(result.differ, "items differ=disagree"),
        "tied": result.tied,
        "panel": result.setting.panel,
        "record": None if basis is None else to_plain(basis.record),
        "labels": 0 if basis is None else basis.n_labels,
        "step": facts_of(answer.next, "kind=step labels items"),
        "evidence_found": [_evidence_facts(one) for one in answer.evidence],
        "expert": None if result.expert is None else expert_facts(result.expert),
        "asked_for": result.settings.method is not None,
    }


def _evidence_facts(one: Evidence) -> Facts:
    return {
        **facts_of(one, "source gain level labels=n_labels"),
        "other": shown(one.other),
        "assumptions": [
            {"assumption": tested.assumption.name.lower(), **facts_of(tested, "status p_value")}
            for tested in one.assumptions
        ],
    }


def alternative_facts(one: Alternative) -> Facts:
    """A method with its accuracy and a note."""
    return {**facts_of(one, "method accuracy source agreement"), "note": str(one.note or "")}


def slice_facts(one: SliceAnswer) -> Facts:
    """A slice: its size and its answer."""
    return {
        **facts_of(one, "value items=n_items votes=n_votes differ"),
        **facts_of(one.answer, "action certainty rule gain"),
    }


def expert_facts(outcome: Outcome) -> Facts:
    """What the labels of a design show, with a sentence and notes on the labels."""
    return {
        **facts_of(outcome, "kind verdict decided labels skipped more leader below tolerance value rules alive right"),
        "sentence": outcome_sentence(outcome),
        "notes": [*answers_notes(outcome), sample_note(outcome)],
    }


def flow_facts(items_kl: IntArray, labels: Sequence[Hashable]) -> Facts:
    """How many items move from each label of majority vote (or a tie) to each label of the rule."""
    most_flows = 12  # labels that the flow shows one by one; the rest is pooled
    n_classes = len(labels)
    common_k = np.argsort(-items_kl[:, :-1].sum(axis=0), kind="stable")[:most_flows]
    shown_k = np.sort(common_k)
    place_k = np.full(n_classes + 1, len(shown_k))  # the last stands for NO_LABEL
    place_k[shown_k] = np.arange(len(shown_k))
    pooled = n_classes > most_flows
    place_k[-1] = len(shown_k) + pooled
    size = len(shown_k) + pooled + 1
    items = np.zeros((size, size), dtype=np.int64)
    np.add.at(items, (place_k[:, None], place_k), items_kl)
    names = [plain(labels[k]) for k in shown_k] + ["others"] * pooled + ["tie"]
    return {"from": names, "to": names, "items": items.tolist()}


def accuracy_facts(result: Result) -> Facts:
    """How often majority vote and the other rule are right, and how far to trust that."""
    by_gold = result.gold is not None
    return {
        "majority": to_plain(result.accuracy(MAJORITY)),
        "other": to_plain(result.accuracy(result.rated[1].method if len(result.rated) > 1 else MAJORITY)),
        "written": to_plain(result.accuracy(result.rule) if by_gold else Estimate(result.expected_accuracy)),
        "source": "gold" if by_gold else "model",
        "warning": "" if by_gold else accuracy_warning(result.setting.panel),
    }


def confidence_facts(labels: Confidence) -> Facts:
    """How confident the labels are, and how often they are right where the truth is known."""
    calibration: Facts = {"temperature": None, "error_rate": None}
    if labels.calibration is not None:
        calibration = facts_of(labels.calibration, "temperature error_rate=epsilon")
    reliability = facts_of(labels.reliability, "ece gold_items bins")
    return {"source": labels.source, **calibration, "dependence": labels.dependence, **reliability}


def confusion_facts(names: Sequence[Hashable], workers: Workers, fit: Fit) -> list[Facts]:
    """The confusion matrices of the workers with the most votes, if there are few classes and each worker has one."""
    few = len(fit.label_values) <= 12
    if workers.panel or fit.confusion is None or fit.confusion.ndim != 3 or not few:
        return []
    busiest = np.argsort(-workers.votes_j, kind="stable")[:12]
    return [{"worker": plain(names[j]), "matrix": fit.confusion[j].round(6).tolist()} for j in busiest]


def share_facts(rates: Rates) -> Facts:
    """The share of a class, with what each rule and judge reports."""
    facts = rate_facts(rates)
    names = ("label", "overall", "more", "order", "headline", "panel", "sure")
    return {"title": f"Share of {quoted_number(rates.label)}", **{name: facts[name] for name in names}}


def _map_holds(certificate: Certificate) -> bool:
    """Whether the assumptions of the map were tested and passed."""
    claim = certificate.anonymous
    statuses = set() if claim is None else {tested.status for tested in claim.assumptions}
    return Status.PASSED in statuses and not statuses & {Status.FAILED, Status.UNTESTABLE}
