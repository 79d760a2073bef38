"""All that a reader sees, as plain data: text, JSON and pages are made from it, so their numbers cannot differ."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from majorant import __version__, wording
from majorant.report.plain import finite, number, plain

if TYPE_CHECKING:
    from majorant.agreement import Agreement
    from majorant.agreement.scores import Scores
    from majorant.answer.answer import Answer
    from majorant.answer.calibrate import Labels
    from majorant.answer.choice import Alternative, Decision
    from majorant.answer.judges import Judge, Judges
    from majorant.answer.labels import LabelCounts
    from majorant.answer.map import MapPanel
    from majorant.answer.path import Path
    from majorant.answer.review import Reviewed
    from majorant.answer.workers import Workers
    from majorant.backend import Backend
    from majorant.certify.certificate import Certificate, Claim, Dependence
    from majorant.certify.gold import LabelsLoss
    from majorant.certify.plug_in import PlugIn
    from majorant.claims import Counts
    from majorant.estimate.fit import Fit
    from majorant.gold.question import Outcome
    from majorant.pipeline import Result
    from majorant.plan import Plan
    from majorant.slices import Slice
    from majorant.votes import Account, IntArray, Votes

SCHEMA = 3  # rises when a field changes its meaning or goes
WORKER_NUMBERS = ("accuracy", "low", "high", "chance", "agreement", "weight")
PAIRS_SHOWN = 10
SAID_OF_CLAIMS = ("threshold", "order", "several")  # notes that say what all claims are about
MOST_REVIEWED = 20
MOST_SIGNS = 300  # of an item's text
MOST_LABELS = 6  # of an item to review
MOST_FLOWS = 12  # labels that the flow shows one by one; the rest is pooled
TIE, OTHERS = "tie", "others"
MOST_WORKERS = 500  # those with the most votes
MOST_CONFUSIONS, CONFUSION_CLASSES = 12, 12


def result_summary(
    result: Result, *, command: str | None = None, seed: int | None = None, with_map: bool = True
) -> dict[str, Any]:
    """The facts of a check, and how they were come by; without the map, which only pages and files show."""
    backend, outcome = result.backend, result.outcome
    moved = {"labels_changed": outcome.changed, "ties_settled": outcome.settled}
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
        "input": account_summary(backend.votes.account),
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
        "decision": {**decision_summary(result.decision), **moved},
        "flow": flow_summary(outcome.flow_kl, backend.votes.labels),
        "gold": None if result.gold is None else asdict(result.gold),
        "confidence": confidence_summary(result.labels),
        "workers": {
            **workers_summary(backend.votes.workers, result.workers, result.worker_fit.method),
            "removal": None if result.removal is None else asdict(result.removal),
            "confusions": confusions_summary(backend.votes.workers, result.workers, result.worker_fit),
            "dependence": dependence_summary(result.certification.certificate.dependence),
        },
        "review": review_summary(result.reviewed),
        "plan": None if result.plan is None else plan_summary(result.plan),
        "map": map_summary(result.map if with_map else ()),
        "path": path_summary(result.path),
        "slices": [slice_summary(one) for one in result.slices],
        "comparison": [alternative_summary(one) for one in result.comparison],
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


def account_summary(account: Account) -> dict[str, Any]:
    """What became of the rows of the input."""
    return {
        "source": account.source,
        "format": account.format,
        "columns": dict(account.columns),
        "ignored": list(account.ignored),
        **{name: getattr(account, name) for name in ("rows", "votes", "abstained", "merged", "dropped", "repeats")},
        "notes": [{"kind": note.kind, "text": note.text} for note in account.notes],
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
        **{name: asdict(getattr(agreement, name)) for name in wording.COEFFICIENTS},
        "classes": agreement.n_classes,
        "level": agreement.level,
        "items": agreement.n_items,
        "items_with_two_votes": agreement.n_paired,
        "intervals": agreement.resampling,
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


def certificate_summary(certificate: Certificate) -> dict[str, Any]:
    """The facts of a certificate; infinite numbers are the strings inf and -inf."""
    claims = (certificate.anonymous, certificate.named, certificate.gold)
    return {
        "level": certificate.level,
        "standing": certificate.standing.kind,
        "sentence": wording.certificate_sentence(certificate),
        "why": certificate.why,
        "not_tested_sentence": wording.not_tested_sentence(_not_tested(claims)),
        **{
            kind: None if claim is None else claim_summary(claim)
            for kind, claim in zip(("anonymous", "named", "gold"), claims, strict=True)
        },
        "design": None if certificate.design is None else asdict(certificate.design),
    }


def _not_tested(claims: Iterable[Claim | None]) -> list[str]:
    """What the claims assume and nothing tests, each once."""
    return list(dict.fromkeys(text for claim in claims if claim is not None for text in claim.not_tested))


def claim_summary(claim: Claim) -> dict[str, Any]:
    """The facts of a claim."""
    return {
        "verdict": claim.verdict,
        "why": claim.why,
        "level": claim.level,
        "by_votes": [{"votes": n_votes, "verdict": verdict} for n_votes, verdict in sorted(claim.by_votes.items())],
        "without_say": [{"votes": n_votes, "items": share} for n_votes, share in sorted(claim.without_say.items())],
        "untied": claim.untied,
        "margin": finite(claim.margin),
        "handicap": finite(claim.handicap),
        "whose": wording.whose(claim),
        "loss": loss_facts(claim),
        "tied_share": claim.tied_share,
        "tie_loss": loss_facts(claim, ties=True),
        "items_certified": claim.items_certified,
        "evidence": {name: finite(value) for name, value in claim.evidence.items()},
        "model": claim.model,
        "gates": [asdict(gate) for gate in claim.gates],
        "assumptions": list(claim.assumptions),
        "not_tested": list(claim.not_tested),
        "conditions": list(claim.conditions),
        "tested": claim.tested,
        "breakdown": claim.breakdown,
        "breaks_down": wording.breakdown_text(claim),
        "more_items": claim.more_items,
    }


def loss_facts(claim: Claim, *, ties: bool = False) -> dict[str, Any]:
    """A loss with its interval, and whose they are."""
    loss = claim.tie_loss if ties else claim.loss
    return asdict(loss) if loss.value is None else {**asdict(loss), "reason": loss.reason or wording.whose(claim)}


def plug_in_summary(verdict: PlugIn) -> dict[str, Any]:
    """The facts of a plug-in verdict."""
    return {
        "sentence": wording.plug_in_sentence(verdict),
        "method": verdict.method,
        "level": None,
        "note": verdict.note,
        "share": verdict.share,
        "items": verdict.n_items,
        "optimal": verdict.optimal,
        "margin": finite(verdict.margin),
        "loss": verdict.loss,
        "prior": verdict.prior.tolist(),
        "confusion": verdict.confusion.tolist(),
        "by_votes": [
            {
                "votes": n_votes,
                "items": verdict.items[n_votes],
                "verdict": one.verdict,
                "margin": finite(one.margin),
                "handicap": finite(one.handicap),
                "majority_accuracy": one.majority_accuracy,
                "optimal_accuracy": one.optimal_accuracy,
                "gap": one.gap,
            }
            for n_votes, one in sorted(verdict.by_votes.items())
        ],
    }


def labels_loss_summary(found: LabelsLoss, source: str) -> dict[str, Any]:
    """The facts about labels from elsewhere."""
    return {"source": source, **asdict(found)}


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
        "sentence": wording.certificate_sentence(certificate),
        "loss_anonymous": loss_facts(certificate.anonymous),
        "loss_named": None if certificate.named is None else loss_facts(certificate.named),
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
        "echo": labels.dependence,
        "ece": labels.reliability.ece,
        "gold_items": labels.reliability.gold_items,
        "bins": [asdict(one) for one in labels.reliability.bins],
    }


def review_summary(reviewed: Reviewed) -> dict[str, Any]:
    """The items where a look pays most; the first of them one by one."""
    from majorant.answer.review import review_table

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
            "title": panel.title,
            "x_name": panel.x_name,
            "y_name": panel.y_name,
            "point": list(panel.point),
            "point_margin": finite(panel.point_margin),
            "note": panel.note,
            "model": {
                "prior": list(panel.prior),
                "confusion": [list(row) for row in panel.confusion],
                "votes": panel.n_votes,
            },
            "optimal": _line(panel.optimal),
            "region": None if panel.region is None else _line(panel.region),
        }
        for panel in panels
    ]


def _line(line: tuple[tuple[float, ...], tuple[float, ...]]) -> dict[str, list[float]]:
    return {"x": list(line[0]), "y": list(line[1])}


def path_summary(path: Path) -> dict[str, Any]:
    """The questions, both answers, the one given, and where it all ends."""
    return {"steps": [asdict(step) for step in path.steps], "end": path.end, "outcome": path.outcome}


def plan_summary(plan: Plan) -> dict[str, Any]:
    """The facts of a plan."""
    return {
        "target": plan.target,
        "advice": plan.advice,
        "sentence": wording.plan_sentence(plan),
        "votes_now": plan.votes_now,
        "majority_votes": plan.majority_votes,
        "best_votes": plan.best_votes,
        "price_per_vote": plan.price_per_vote,
        "majority_cost": plan.majority_cost,
        "best_cost": plan.best_cost,
        "gold_items": plan.gold_items,
        "more_gold": plan.more_gold,
        "more_items": plan.more_items,
        "prior": plan.prior.tolist(),
        "confusion": plan.confusion.tolist(),
        "points": [{"votes": p.n_votes, "majority": p.majority, "best": p.best} for p in plan.points],
        "crew": [{"worker": plain(s.worker), "majority": s.majority, "best": s.best} for s in plan.crew],
        "expected_now": plan.expected_now,
        "observed_now": asdict(plan.observed_now),
        "keep": [plain(worker) for worker in plan.keep],
        "assumptions": list(plan.assumptions),
        "doubts": list(plan.doubts),
    }


def judge_summary(found: Judges) -> dict[str, Any]:
    """The facts that the lines and --json show."""
    return {
        "gate": found.gate,
        "judges": [_judge_facts(one) for one in found.judges],
        "panel": None if found.panel is None else _judge_facts(found.panel),
        "repeats": [asdict(one) for one in found.repeats],
        "positions": [asdict(one) for one in found.positions],
        "worth": asdict(found.worth),
        "labels": list(found.labels),
        "gold": found.n_gold,
        "bar": found.bar,
        "level": found.level,
    }


def _judge_facts(one: Judge) -> dict[str, Any]:
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


def score_summary(found: Scores) -> dict[str, Any]:
    """The facts: each coefficient with its interval or the reason why there is none, each rule's distance from gold."""
    return {
        **{name: asdict(getattr(found, name)) for name in wording.SCORE_COEFFICIENTS},
        "distance": {rule: asdict(found.distance[rule]) for rule in found.distance},
        "nearer": {rule: asdict(one) for rule, one in found.nearer.items()},
        "closest": found.closest,
        "about": "ranks" if found.ranked else "scores",
        "level": found.level,
    }
