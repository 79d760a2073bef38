"""All that a reader sees, as plain data: text, JSON and pages are made from it, so their numbers cannot differ."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from majorant import __version__, wording
from majorant.render.certificate import certificate_summary, dependence_summary, slice_summary
from majorant.render.plain import facts_of, number, plain, to_plain

if TYPE_CHECKING:
    from majorant.ask.question import Outcome
    from majorant.backend import Backend
    from majorant.evidence.certificate.claims import Counts
    from majorant.methods.fit import Fit
    from majorant.pipeline import Result
    from majorant.results.agreement import Agreement
    from majorant.results.agreement.scores import Scores
    from majorant.results.answer import Answer
    from majorant.results.calibrate import Labels
    from majorant.results.judges import Judge, Judges
    from majorant.results.labels import LabelCounts
    from majorant.results.map import MapPanel
    from majorant.results.plan import Plan
    from majorant.results.review import Reviewed
    from majorant.results.workers import Workers
    from majorant.votes import IntArray, Votes

SCHEMA = 4  # rises when a field changes its meaning or goes
WORKER_NUMBERS = ("accuracy", "low", "high", "chance", "agreement", "weight")
PAIRS_SHOWN = 10
SAID_OF_CLAIMS = ("threshold", "order", "several")  # notes that say what all claims are about
MOST_REVIEWED = 20
MOST_SIGNS = 300  # of an item's text
MOST_LABELS = 6  # of an item to review
MOST_FLOWS = 12  # labels that the flow shows one by one; the rest is pooled
TIE, OTHERS = "tie", "others"
WORKERS_SHOWN = 500  # those with the most votes
MOST_CONFUSIONS, CONFUSION_CLASSES = 12, 12


def result_summary(
    result: Result, *, command: str | None = None, seed: int | None = None, with_map: bool = True
) -> dict[str, Any]:
    """The facts of a check, and how they were come by; without the map, which only pages and files show."""
    backend, outcome = result.backend, result.outcome
    switched = result.answer.rule == result.answer.other
    written = outcome.rule if switched else outcome.majority
    facts: dict[str, Any] = {
        "majorant": __version__,
        "schema": SCHEMA,
        "command": command,
        "versions": versions(),
        "level": result.level,
        "seed": seed,
        "tolerance": result.tolerance,
        "answer": answer_summary(result.answer),
        "input": to_plain(backend.votes.account),
        "votes": votes_summary(backend, result.counts),
        "agreement": agreement_summary(result.agreement, backend.votes.workers),
        "certificate": certificate_summary(result.certificate),
        "majority": labels_summary(result.majority, outcome.majority),
        "labels": {
            **labels_summary(result.fit, written),
            "changed": outcome.changed if switched else 0,
            "ties_settled": outcome.settled if switched else 0,
        },
        "accuracy": accuracy_summary(result),
        "decision": {
            **facts_of(result.decision, "method chosen_by"),
            **facts_of(outcome, "labels_changed=changed ties_settled=settled"),
            "alternatives": to_plain(result.decision.alternatives),
        },
        "flow": flow_summary(outcome.flow_kl, backend.votes.labels),
        "gold": to_plain(result.gold),
        "confidence": confidence_summary(result.labels),
        "workers": {
            **workers_summary(backend.votes.workers, result.workers, result.worker_fit.method),
            "removal": to_plain(result.removal),
            "confusions": confusions_summary(backend.votes.workers, result.workers, result.worker_fit),
            "dependence": dependence_summary(result.certification.certificate.dependence),
        },
        "review": review_summary(result.reviewed),
        "plan": None if result.plan is None else plan_summary(result.plan),
        "map": map_summary(result.map if with_map else ()),
        "path": facts_of(result.path, "steps end outcome"),
        "slices": [slice_summary(one) for one in result.slices],
        "comparison": to_plain(result.comparison),
    }
    if about := " ".join(note.text for note in backend.votes.account.notes if note.kind in SAID_OF_CLAIMS):
        facts["certificate"]["sentence"] = f"{about} {facts['certificate']['sentence']}"
        facts["answer"]["why"] = f"{facts['answer']['why']} {about}"
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
    rows = range(0) if pairs is None else np.argsort(-pairs.items_p, kind="stable")[:PAIRS_SHOWN]
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


def answer_summary(answer: Answer) -> dict[str, Any]:
    """The facts of the answer, with its sentences; percentage points throughout, but for the gold labels' own lead."""
    return {
        **facts_of(answer, "action rule other present grade basis headline"),
        "gain_sentence": wording.gain_line(answer),
        "labels_sentence": wording.labels_line(answer),
        **facts_of(answer, "why next command gain items differ stake tied tie_gain tolerance gold"),
        "expert": None if answer.expert is None else {**expert_summary(answer.expert), "command": answer.go_on},
        **facts_of(answer, "model withdrawn ask"),
    }


def expert_summary(outcome: Outcome) -> dict[str, Any]:
    """What labels drawn by design say, with its sentence and what to know about the labels."""
    return {
        **facts_of(outcome, "kind verdict decided labels skipped more leader below tolerance value rules alive right"),
        "sentence": wording.outcome_sentence(outcome),
        "notes": [*wording.answers_notes(outcome), wording.A_SAMPLE if outcome.uniform else wording.NOT_A_SAMPLE],
    }


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
        "majority": to_plain(result.accuracy("majority")),
        "other": to_plain(result.accuracy(result.decision.method)),
        "source": "model" if result.gold is None else "gold",
        "loss_anonymous": to_plain(result.certificate.anonymous.loss),
        "loss_named": None if named is None else to_plain(named.loss),
    }


def confidence_summary(labels: Labels) -> dict[str, Any]:
    """How confident the labels are, and how often they are right where the truth is known."""
    calibration = {"temperature": None, "error_rate": None}
    if labels.calibration is not None:
        calibration = facts_of(labels.calibration, "temperature error_rate=epsilon")
    reliability = facts_of(labels.reliability, "ece gold_items bins")
    return {"source": labels.source, **calibration, "dependence": labels.dependence, **reliability}


def review_summary(reviewed: Reviewed) -> dict[str, Any]:
    """The items where a look pays most; the first of them one by one."""
    from majorant.results.review import review_table

    review, table = reviewed.review, review_table(*reviewed)
    if "text" in table:
        table["text"] = [None if text is None else shortened(text) for text in table["text"]]
    rows = zip(*(table[name][:MOST_REVIEWED] for name in table), strict=True)
    return {
        "items": len(review.item_p),
        "resource": review.resource,
        "gain": review.gain,
        "rows": [
            {
                **{name: _cell(value) for name, value in zip(table, row, strict=True)},
                "ballot": ballot(reviewed.votes, i),
            }
            for i, row in zip(review.item_p, rows, strict=False)
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

    >>> from majorant.votes import Votes
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


def workers_summary(names: Sequence[Hashable], workers: Workers, method: str) -> dict[str, Any]:
    """How many workers stand out and how, and the ones with the most votes."""
    flags = [flag for one in workers.flags for flag in one]
    busiest = np.argsort(-workers.votes_j, kind="stable")[:WORKERS_SHOWN]
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
                **{name: number(getattr(workers, f"{name}_j")[j]) for name in WORKER_NUMBERS},
                "flags": [
                    {"flag": flag, "evidence": evidence}
                    for flag, evidence in zip(workers.flags[j], workers.evidence[j], strict=True)
                ],
            }
            for j in busiest
        ],
    }


def confusions_summary(names: Sequence[Hashable], workers: Workers, fit: Fit) -> list[dict[str, Any]]:
    """The confusion matrices of the workers with the most votes, where each has one and classes are few."""
    if fit.confusion is None or fit.confusion.ndim != 3 or len(fit.label_values) > CONFUSION_CLASSES:
        return []
    busiest = np.argsort(-workers.votes_j, kind="stable")[:MOST_CONFUSIONS]
    return [{"worker": plain(names[j]), "matrix": fit.confusion[j].round(6).tolist()} for j in busiest]


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


def plan_summary(plan: Plan) -> dict[str, Any]:
    """The facts of a plan."""
    return {
        **facts_of(plan, "target advice"),
        "sentence": wording.plan_sentence(plan),
        **facts_of(plan, "votes_now majority_votes best_votes price_per_vote majority_cost best_cost"),
        **facts_of(plan, "gold_items more_gold more_items prior confusion"),
        "points": [facts_of(point, "votes=n_votes majority best") for point in plan.points],
        "panel": [{"worker": plain(step.worker), **facts_of(step, "majority best")} for step in plan.crew],
        **facts_of(plan, "expected_now observed_now"),
        "keep": [plain(worker) for worker in plan.keep],
        **facts_of(plan, "assumptions doubts"),
    }


def judge_summary(judges: Judges) -> dict[str, Any]:
    """The facts that the lines and --json show."""
    return {
        "gate": judges.gate,
        "judges": [_judge_facts(one) for one in judges.judges],
        "panel": None if judges.panel is None else _judge_facts(judges.panel),
        **facts_of(judges, "repeats positions worth labels gold=n_gold bar level"),
    }


def _judge_facts(judge: Judge) -> dict[str, Any]:
    return {
        **facts_of(judge, "name right judged"),
        **facts_of(judge.accuracy, "accuracy=value low high"),
        **facts_of(judge, "kappa confusion=confusion_kl wrong"),
    }


def score_summary(scores: Scores) -> dict[str, Any]:
    """The facts: each coefficient with its interval or the reason why there is none, each rule's distance from gold."""
    return {
        **facts_of(scores, f"{' '.join(wording.SCORE_COEFFICIENTS)} distance nearer closest"),
        "about": "ranks" if scores.ranked else "scores",
        "level": scores.level,
    }
