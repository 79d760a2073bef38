"""All that a reader sees, as plain data: text, JSON and pages are made from it, so their numbers cannot differ."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from majorant import __version__, wording
from majorant.defaults import MAJORITY
from majorant.evidence.evidence import Status
from majorant.render.answer import accuracy_warning, answer_text
from majorant.render.ask import answers_notes, outcome_sentence, sample_note
from majorant.render.certificate import certificate_summary, dependence_summary
from majorant.render.notes import account_facts, note_text
from majorant.render.plain import facts_of, plain, to_plain
from majorant.render.plan import plan_facts
from majorant.render.rates import rate_facts
from majorant.render.review import review_facts
from majorant.render.workers import copies_facts, workers_facts, workers_line

if TYPE_CHECKING:
    from majorant.ask.question import Outcome
    from majorant.backend import Backend
    from majorant.evidence.certificate.certificate import Certificate
    from majorant.evidence.certificate.claims import Counts
    from majorant.evidence.evidence import Evidence
    from majorant.methods.fit import Fit
    from majorant.pipeline import Result
    from majorant.results.agreement import Agreement
    from majorant.results.agreement.scores import Scores
    from majorant.results.calibrate import Labels
    from majorant.results.labels import LabelCounts
    from majorant.results.map import MapPanel
    from majorant.results.rates import Rates
    from majorant.results.slices import SliceAnswer
    from majorant.results.workers import Workers
    from majorant.votes import IntArray

SCHEMA = 4  # rises when a field changes its meaning or goes
TIE = "tie"


def result_summary(
    result: Result,
    *,
    command: str | None = None,
    next_command: str = "",
    seed: int | None = None,
    details: bool = True,
) -> dict[str, Any]:
    """The facts of a check, and how they were found.

    Without `details` it holds what the terminal shows; the rest takes longer.
    """
    backend, changes = result.backend, result.changes
    switched = result.rule != MAJORITY
    written = changes.rule if switched and result.rule == result.answer.other else changes.majority
    facts: dict[str, Any] = {
        "majorant": __version__,
        "schema": SCHEMA,
        "command": command,
        "versions": versions(),
        "level": result.level,
        "seed": seed,
        "tolerance": result.tolerance,
        "answer": answer_summary(result, next_command=next_command),
        "input": account_facts(backend.votes.account),
        "votes": votes_summary(backend, result.counts),
        "majority": labels_summary(result.chosen.majority.here, changes.majority),
        "labels": {
            **labels_summary(result.chosen.rule.here, written),
            "changed": changes.changed if switched else 0,
            "ties": result.tied,
            "tie_breaker": result.tie_breaker,
        },
        "accuracy": accuracy_summary(result),
        "rules": to_plain(result.rated),
        "copies": copies_facts(result.copy_groups),
        "flow": {**flow_summary(changes.flow_kl, backend.votes.labels), "changed": changes.changed},
        "gold": to_plain(result.gold),
        "slices": [slice_answer_summary(one) for one in result.slices],
        "comparison": to_plain(result.comparison),
        "details": details,
    }
    if details:
        facts |= {
            "confidence": confidence_summary(result.confidence),
            "workers": {
                **workers_facts(result.workers),
                "sentence": workers_line(result.workers, result.copy_groups, result.removal),
                "removal": to_plain(result.removal),
                "confusions": confusions_summary(backend.votes.workers, result.workers, result.worker_fit),
                "dependence": dependence_summary(result.certificate.dependence),
            },
            "review": review_facts(result.review),
            "agreement": agreement_summary(result.agreement, backend.votes.workers),
            "certificate": certificate_summary(result.certificate),
            "plan": None if result.plan is None else plan_facts(result.plan),
            "map": map_summary(result.map) if _map_holds(result.certificate) else [],
            "rate": None if result.rates is None else rate_summary(result.rates),
        }
    about_claims = [note for note in backend.votes.account.notes if note.kind in ("threshold", "order", "several")]
    if about := " ".join(map(note_text, about_claims)):
        facts["answer"]["evidence"] = f"{facts['answer']['evidence']} {about}"
    if backend.whole is None:  # which of the items the others were learned from
        facts["sample"] = {"items": len(result.votes.items), "of": backend.votes.shape[0]}
    return facts


def versions() -> dict[str, str]:
    """What computed the numbers."""
    import platform

    import scipy

    return {
        "majorant": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def votes_summary(backend: Backend, counts: Counts) -> dict[str, Any]:
    """How many votes there are, and how they spread over items, workers and labels."""
    votes_jl, (n_items, n_workers, n_classes) = counts.votes_jl, backend.votes.shape
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
            for label, n in zip(backend.votes.labels, votes_jl.sum(axis=0), strict=True)
        ],
    }


def agreement_summary(agreement: Agreement, workers: Sequence[Hashable]) -> dict[str, Any]:
    """Each coefficient with its interval, and the pairs of workers with the most items in common."""
    pairs = agreement.pairs
    rows = range(0) if pairs is None else np.argsort(-pairs.items_p, kind="stable")[:10]
    return {
        **facts_of(agreement, " ".join(wording.COEFFICIENTS)),
        **facts_of(
            agreement, "classes=n_classes level items=n_items items_with_two_votes=n_paired intervals=resampling"
        ),
        "n_pairs": None if pairs is None else pairs.n_pairs,
        "pairs": [
            {
                "workers": [plain(workers[pairs.worker_a_p[p]]), plain(workers[pairs.worker_b_p[p]])],
                "items": int(pairs.items_p[p]),
                "agreed": float(pairs.agreed_p[p]),
                "cohen": float(pairs.kappa_p[p]) if pairs.defined_p[p] else None,
            }
            for p in rows
            if pairs is not None
        ],
    }


def labels_summary(fit: Fit, counts: LabelCounts) -> dict[str, Any]:
    """How many items got which label, and how many none."""
    return {
        "method": fit.method,
        "converged": fit.converged,
        "steps": fit.n_iter,
        "labelled": int(counts.items_k.sum()),
        "tied": counts.tied,
        "without_votes": counts.without_votes,
        "by_label": [
            {"label": plain(label), "items": int(n)} for label, n in zip(fit.label_values, counts.items_k, strict=True)
        ],
    }


def answer_summary(result: Result, *, next_command: str = "") -> dict[str, Any]:
    """The facts of the answer with its sentences; gains are shares of the items."""
    answer, text = result.answer, answer_text(result)
    basis = answer.basis
    return {
        "action": str(answer.action),
        "rule": result.rule,
        "other": answer.other,
        "certainty": str(answer.certainty),
        "source": None if answer.source is None else str(answer.source),
        **text._asdict(),
        "command": next_command,
        "gain": to_plain(answer.gain),
        "items": result.differ.items,
        "differ": result.differ.differ,
        "tied": result.tied,
        "panel": result.setting.panel,
        "record": None if basis is None else to_plain(basis.record),
        "labels": 0 if basis is None else basis.n_labels,
        "step": {"kind": str(answer.next.step), "labels": answer.next.labels, "items": answer.next.items},
        "evidence_found": [_evidence_facts(one) for one in answer.evidence],
        "expert": None if result.expert is None else expert_summary(result.expert),
        "asked_for": result.asked_for,
    }


def _evidence_facts(one: Evidence) -> dict[str, Any]:
    return {
        "source": str(one.source),
        "other": wording.shown(one.other),
        "gain": to_plain(one.gain),
        "level": one.level,
        "labels": one.n_labels,
        "assumptions": [
            {"assumption": tested.assumption.name.lower(), "status": str(tested.status), "p_value": tested.p_value}
            for tested in one.assumptions
        ],
    }


def slice_answer_summary(one: SliceAnswer) -> dict[str, Any]:
    """The facts of a slice: its size and its answer."""
    return {
        "value": plain(one.value),
        "items": one.n_items,
        "votes": one.n_votes,
        "differ": one.differ,
        "action": str(one.answer.action),
        "certainty": str(one.answer.certainty),
        "rule": one.answer.rule,
        "gain": to_plain(one.answer.gain),
    }


def expert_summary(outcome: Outcome) -> dict[str, Any]:
    """What labels drawn by design say, with its sentence and what to know about the labels."""
    return {
        **facts_of(outcome, "kind verdict decided labels skipped more leader below tolerance value rules alive right"),
        "sentence": outcome_sentence(outcome),
        "notes": [*answers_notes(outcome), sample_note(outcome)],
    }


def flow_summary(items_kl: IntArray, labels: Sequence[Hashable]) -> dict[str, Any]:
    """How many items go from each label of majority vote (or a tie) to each of the rule; the commonest one by one."""
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
    names = [plain(labels[k]) for k in shown_k] + ["others"] * pooled + [TIE]
    return {"from": names, "to": names, "items": items.tolist()}


def accuracy_summary(result: Result) -> dict[str, Any]:
    """How often majority vote and the other rule are right, and how far to believe it."""
    by_gold = result.gold is not None
    return {
        "majority": to_plain(result.accuracy(MAJORITY)),
        "other": to_plain(result.accuracy(result.rated[1].method if len(result.rated) > 1 else MAJORITY)),
        "written": to_plain(result.accuracy(result.rule)),  # of the rule behind the labels
        "source": "gold" if by_gold else "model",
        "warning": "" if by_gold else accuracy_warning(result.setting.panel),
    }


def confidence_summary(labels: Labels) -> dict[str, Any]:
    """How confident the labels are, and how often they are right where the truth is known."""
    calibration = {"temperature": None, "error_rate": None}
    if labels.calibration is not None:
        calibration = facts_of(labels.calibration, "temperature error_rate=epsilon")
    reliability = facts_of(labels.reliability, "ece gold_items bins")
    return {"source": labels.source, **calibration, "dependence": labels.dependence, **reliability}


def confusions_summary(names: Sequence[Hashable], workers: Workers, fit: Fit) -> list[dict[str, Any]]:
    """The confusion matrices of the workers with the most votes, where each has one and classes are few."""
    few = len(fit.label_values) <= 12
    if workers.panel or fit.confusion is None or fit.confusion.ndim != 3 or not few:
        return []
    busiest = np.argsort(-workers.votes_j, kind="stable")[:12]
    return [{"worker": plain(names[j]), "matrix": fit.confusion[j].round(6).tolist()} for j in busiest]


def rate_summary(rates: Rates) -> dict[str, Any]:
    """The share of a class, with what each rule and judge reports."""
    facts = rate_facts(rates)
    names = ("label", "overall", "more", "order", "headline", "panel", "sure")
    return {"title": f"Share of {wording.quoted_number(rates.label)}", **{name: facts[name] for name in names}}


def _map_holds(certificate: Certificate) -> bool:
    """Whether what the map assumes could be tested, and passed."""
    claim = certificate.anonymous
    statuses = set() if claim is None else {tested.status for tested in claim.assumptions}
    return Status.PASSED in statuses and not statuses & {Status.FAILED, Status.UNTESTABLE}


def map_summary(panels: Sequence[MapPanel]) -> list[dict[str, Any]]:
    """The planes of the map; lines as two lists."""
    return [
        {
            **facts_of(panel, "title x_name y_name point point_margin note"),
            "model": facts_of(panel, "prior confusion votes=n_votes"),
            "optimal": _line(panel.optimal),
            "region": None if panel.region is None else _line(panel.region),
        }
        for panel in panels
    ]


def _line(line: tuple[tuple[float, ...], tuple[float, ...]]) -> dict[str, list[float]]:
    return {"x": list(line[0]), "y": list(line[1])}


def score_summary(scores: Scores) -> dict[str, Any]:
    """The facts: each coefficient with its interval or the reason why there is none, each rule's distance from gold."""
    return {
        **facts_of(scores, f"{' '.join(wording.SCORE_COEFFICIENTS)} distance nearer closest"),
        "about": "ranks" if scores.ranked else "scores",
        "level": scores.level,
    }
