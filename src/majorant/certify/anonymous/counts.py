"""certify_counts: is majority vote optimal, told from histograms of votes alone?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from majorant.certify.anonymous.breakdown import ENOUGH_POWER, Breakdown, find_breakdown
from majorant.certify.anonymous.difficulty import SizeFinding, find_apart, find_difficulty, join
from majorant.certify.anonymous.gates import (
    APART,
    DIFFICULTY,
    SIZES,
    assumptions,
    binomial_log_cells,
    freedom,
    independence_gate,
    misplaced,
    not_tested,
    sizes_gate,
    untestable,
    weak_gate,
)
from majorant.certify.anonymous.independent import Finding, find_independent, main_sizes
from majorant.certify.anonymous.likelihood import Histograms, flatten
from majorant.certify.certificate import AssumptionTest, Certificate, Claim, Verdict
from majorant.errors import ConfigError
from majorant.limits import sizes_within
from majorant.theory.checks import FloatArray
from majorant.values import LEVEL, as_generator, as_level
from majorant.wording import (
    NO_VOTES,
    TOO_FEW_VOTES,
    anonymous_by_counts,
    failed_condition,
    too_many_votes,
    under,
    void_by_test,
)

LARGEST_COUNT = 2.0**53  # up to here every whole number is a float of its own


def certify_counts(
    histograms: Mapping[int, ArrayLike], *, level: float = LEVEL, rng: int | np.random.Generator = 0
) -> Certificate:
    """Is majority vote as good as any rule that ignores who voted?  From `{H: [n_0 .. n_H]}` alone.

    `n_k` items with H votes have k votes for class 0.  Two classes; every vote from a worker drawn anew, independent
    given the class (tested where the data allow it), better than guessing, and as many votes as were planned before
    any was seen.  Statistics and their proofs: docs/theory/certificate.md.

    >>> certificate = certify_counts({5: [155, 197, 141, 139, 191, 177]})
    >>> certificate.anonymous.verdict, round(certificate.anonymous.margin, 2)
    ('proved', 1.12)
    """
    claim = anonymous_claim(as_histograms(histograms), as_level(level), as_generator(rng))
    return Certificate(level=level, why=claim.why, anonymous=claim)


def anonymous_claim(histograms: Histograms, level: float, rng: np.random.Generator) -> Claim:
    """The anonymous claim on checked histograms, less where the number of votes goes with the item.

    Where items have so many votes that there are too many cells to look at, the rarest numbers of votes have no say.
    """
    sizes = sizes_within({h: float(items_k.sum()) for h, items_k in histograms.items()})
    if histograms and not sizes:
        return Claim(kind="anonymous", verdict="unidentified", why=too_many_votes(min(histograms)))
    kept = {h: histograms[h] for h in sizes}
    claim, gate = _independent_claim(kept, level, rng), sizes_gate(kept)
    if len(kept) < len(histograms):
        total = sum(float(items_k.sum()) for items_k in histograms.values())
        shares = {h: float(items_k.sum()) / total for h, items_k in histograms.items()}
        claim = replace(claim, without_say={h: share for h, share in shares.items() if h not in claim.by_votes})
    return claim if gate is None else weakened(claim, gate, SIZES)


def weakened(claim: Claim, gate: AssumptionTest, assumption: str) -> Claim:
    """The claim with the test of an assumption.

    Where it fails, the claim holds on that condition only: proved becomes supported, and what is refuted on a false
    assumption is not refuted but void.

    >>> gate = AssumptionTest(name="workers alike", passed=False, p_value=.002, text="Workers differ.")
    >>> claim = Claim(kind="anonymous", verdict="refuted", why="Majority vote loses.")
    >>> claim = weakened(claim, gate, "workers are alike")
    >>> claim.verdict, claim.conditions
    ('void', ('workers are alike, which fails a test (p = 0.002)',))
    """
    tested = tuple(text for text in claim.not_tested if text != assumption or gate.passed is None)
    claim = replace(claim, gates=(*claim.gates, gate), not_tested=tested)
    if gate.passed is not False or claim.verdict in ("void", "unidentified"):
        return claim
    condition = failed_condition(assumption, gate.p_value or 0.0)
    verdict: Verdict = "void" if claim.verdict == "refuted" else unproved(claim.verdict)
    why = under([condition], claim.why)
    if verdict == "void":
        why = void_by_test(gate.text, why)
    by_votes: dict[int, Verdict] = {
        h: "void" if one == "refuted" else unproved(one) for h, one in claim.by_votes.items()
    }
    return replace(
        claim,
        verdict=verdict,
        why=why,
        by_votes=by_votes,
        untied=None if verdict == "void" or claim.untied is None else unproved(claim.untied),
        conditions=(*claim.conditions, condition),
        more_items=claim.more_items if verdict == "undecided" else None if verdict == "void" else 0,
    )


def _independent_claim(histograms: Histograms, level: float, rng: np.random.Generator) -> Claim:
    if not histograms:
        return Claim(kind="anonymous", verdict="unidentified", why=NO_VOTES)
    if max(histograms) < 3:
        return Claim(kind="anonymous", verdict="unidentified", why=TOO_FEW_VOTES)
    finding, theta_3 = find_independent(histograms, level, rng)
    cells, items_c = flatten(histograms)
    gate = independence_gate(cells, items_c, theta_3, rng)
    if gate.passed is False:
        return _when_votes_depend(histograms, finding, theta_3, gate, level, rng)
    turns = find_breakdown(
        histograms, main_sizes(histograms), finding.verdict, theta_3, level, freedom(list(histograms))
    )
    return _claim("independent votes", finding, (weak_gate(gate, turns),), histograms, level, [turns])


def _when_votes_depend(
    histograms: Histograms,
    pooled: Finding,
    theta_3: FloatArray,
    gate: AssumptionTest,
    level: float,
    rng: np.random.Generator,
) -> Claim:
    """The claim under the first wider model that fits: numbers of votes apart, item difficulty; else void."""
    gates, sizes, apart = [gate], main_sizes(histograms), dict[int, SizeFinding]()
    if len(sizes) > 1:
        parts = find_apart(histograms, level, rng)
        gates += [part.gate for part in parts.values()]
        apart = {h: part for h, part in parts.items() if part.gate.passed is not False}
        if set(apart) == set(sizes):
            finding = join({h: part.finding for h, part in apart.items()}, histograms, level)
            return _claim(APART, finding, gates, histograms, level, [part.breakdown for part in apart.values()])
    difficulty = find_difficulty(histograms, theta_3, level, rng)
    if difficulty is not None:
        gates.append(difficulty[1])
        if difficulty[1].passed:
            return _claim(DIFFICULTY, difficulty[0], gates, histograms, level)
    by_votes: dict[int, Verdict] = dict.fromkeys(sizes, "void")
    cells, items_c = flatten(histograms)
    how_far = {"misplaced_items": misplaced(items_c, cells.votes_c, binomial_log_cells(cells, theta_3))}
    void = replace(pooled, verdict="void", by_votes=by_votes, more_items=None, evidence={**pooled.evidence, **how_far})
    return _claim("independent votes", void, gates, histograms, level)


def _claim(
    model: str,
    finding: Finding,
    gates: Sequence[AssumptionTest],
    histograms: Histograms,
    level: float,
    breakdowns: Sequence[Breakdown | None] = (),
) -> Claim:
    """The claim, not proved but supported on a condition where no test could have seen what would turn the verdict."""
    counted = gates if model == APART else gates[-1:]
    blind = any(turns is not None and turns.power_to_turn < ENOUGH_POWER for turns in breakdowns)
    conditions = (untestable(histograms),) if blind or None in [gate.passed for gate in counted] else ()
    stands = [None if turns is None else turns.correlation for turns in breakdowns]
    breakdown = None if not stands or None in stands else min(rho for rho in stands if rho is not None)
    if conditions:
        finding = replace(
            finding,
            verdict=unproved(finding.verdict),
            untied=unproved(finding.untied),
            by_votes={h: unproved(verdict) for h, verdict in finding.by_votes.items()},
        )
    n_items = {h: float(items_k.sum()) for h, items_k in histograms.items()}
    total = sum(n_items.values())
    tied_share = sum(float(items_k[h // 2]) for h, items_k in histograms.items() if h % 2 == 0) / total
    says = main_sizes(histograms)
    return Claim(
        kind="anonymous",
        verdict=finding.verdict,
        why=anonymous_by_counts(finding, level, conditions, tied_share, difficulty=model == DIFFICULTY),
        by_votes=finding.by_votes,
        untied=finding.untied if finding.verdict != "void" else None,
        margin=finding.margin,
        handicap=finding.handicap,
        loss=finding.loss,
        tied_share=tied_share,
        tie_loss=finding.tie_loss,
        items_certified=finding.items_certified,
        evidence=finding.evidence,
        model=model,
        gates=tuple(gates),
        assumptions=assumptions(model),
        not_tested=not_tested(model, bool(conditions)),
        conditions=conditions,
        breakdown=breakdown,
        without_say={h: n / total for h, n in n_items.items() if h not in says},
        level=level,
        more_items=finding.more_items,
    )


def unproved(verdict: Verdict) -> Verdict:
    """The verdict where something that it rests on failed a test or was not tested: at most supported."""
    return "supported" if verdict == "proved" else verdict


def as_histograms(histograms: Mapping[int, ArrayLike]) -> dict[int, FloatArray]:
    """Histograms by increasing number of votes, checked; those without items left out."""
    try:
        histograms = dict(histograms)
    except (TypeError, ValueError):
        kind = type(histograms).__name__
        raise ConfigError(f"histograms must be a dict such as {{3: [5, 2, 1, 9]}}, not a {kind}.") from None
    for n_votes in histograms:
        if not isinstance(n_votes, (int, float, np.integer, np.floating)) or n_votes < 1 or n_votes % 1 != 0:
            raise ConfigError(f"histograms: {n_votes!r} is not a number of votes.")
    checked = {int(n_votes): _as_counts(int(n_votes), histograms[n_votes]) for n_votes in sorted(histograms)}
    return {n_votes: items_k for n_votes, items_k in checked.items() if items_k.any()}


def _as_counts(n_votes: int, counts: ArrayLike) -> FloatArray:
    """Items with 0, 1, ..., n_votes votes for class 0."""
    try:
        items_k = np.asarray(counts, dtype=float)
    except (TypeError, ValueError):
        raise ConfigError(f"histograms[{n_votes}]: {counts!r} is not a list of counts.") from None
    if items_k.shape != (n_votes + 1,):
        raise ConfigError(
            f"histograms[{n_votes}] must list the items with 0, 1, ..., {n_votes} votes for class 0, "
            f"{n_votes + 1} counts, not an array of shape {items_k.shape}."
        )
    wrong = ~((items_k >= 0) & (items_k == np.floor(items_k)) & (items_k <= LARGEST_COUNT))
    if wrong.any():
        k = int(wrong.argmax())
        raise ConfigError(
            f"histograms[{n_votes}][{k}] is {items_k[k]:g}: counts are whole numbers, 0 or more and at most 2**53."
        )
    return items_k
