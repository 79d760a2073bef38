"""Which claims these votes can bear, each with the fit that suits it: crowd or panel, two classes or more, gold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from majorant.certify.anonymous.counts import anonymous_claim, as_histograms
from majorant.certify.certificate import Certificate, Claim, Gate
from majorant.certify.gold.claim import gold_claim
from majorant.certify.named.claim import named_claim
from majorant.certify.named.dependence import Dependence, dependence
from majorant.certify.named.design import Design, design
from majorant.certify.named.differ import workers_differ
from majorant.certify.named.multiclass import multiclass_claim
from majorant.certify.named.panel import panel_claim
from majorant.errors import ConfigError
from majorant.estimate.dawid_skene import DawidSkene
from majorant.estimate.fit import Fit
from majorant.estimate.resampled import refit_dawid_skene
from majorant.estimate.shared import SharedConfusion
from majorant.interval import as_level
from majorant.kernels import FloatArray
from majorant.merge import merge_equal_items
from majorant.randomness import as_generator
from majorant.tally import histograms
from majorant.votes import Votes

MOST_ENTRIES = 250_000  # of all workers' confusion matrices together; 200 replicates of more would fill the memory


@dataclass(frozen=True, slots=True, eq=False)
class Inquiry:
    """A certificate, and what it was made from."""

    certificate: Certificate
    design: Design
    dependence: Dependence | None  # of the workers of a panel
    fit: Fit | None  # one confusion matrix per worker


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """The votes as the claims about workers see them: equal items merged where that pays."""

    votes: Votes
    copies_i: FloatArray | None
    fit: Fit

    @property
    def arguments(self) -> tuple[Votes, Fit, partial[list[Fit]]]:
        return self.votes, self.fit, partial(refit_dawid_skene, self.votes)


def certify(votes: Votes, *, level: float = 0.95, rng: int | np.random.Generator) -> Certificate:
    """Is majority vote optimal for these votes?  Every claim that they can bear, at one level.

    >>> from majorant.simulate import simulate
    >>> votes, _ = simulate([.5, .5], [[.85, .15], [.15, .85]], n_items=3000, n_votes=5, rng=0)
    >>> certify(votes, rng=0).anonymous.verdict
    'proved'
    """
    return inquire(votes, level=level, rng=rng).certificate


def inquire(votes: Votes, *, level: float = 0.95, rng: int | np.random.Generator) -> Inquiry:
    """The certificate together with the design of the data, the dependence of the workers and the named fit."""
    as_level(level)
    generator, shape = as_generator(rng), design(votes)
    case = _case(votes)
    shared_errors = None
    if case is not None and shape.kind == "panel":
        shared_errors = dependence(case.votes, case.fit, rng=generator, level=level, copies=case.copies_i)
    gate = None if shared_errors is None else shared_errors.gate
    anonymous = _anonymous(votes, case, shape, gate, level, generator)
    named = None if case is None else _named(votes, case, anonymous, gate, level, generator)
    gold = gold_claim(votes, level=level) if _has_gold(votes) else None
    why = " ".join([anonymous.why, *([named.why] if named is not None else [])])
    certificate = Certificate(level=level, why=why, anonymous=anonymous, named=named, gold=gold)
    return Inquiry(certificate, shape, shared_errors, None if case is None else case.fit)


def _case(votes: Votes) -> _Case | None:
    """The named fit, or None where there is nothing to fit: no second class, no overlap, too many workers."""
    _, n_workers, n_classes = votes.shape
    if n_classes < 2 or n_workers < 2 or n_workers * n_classes**2 > MOST_ENTRIES:
        return None
    merged = merge_equal_items(votes)
    if merged is None:
        return _Case(votes, None, DawidSkene().fit(votes))
    return _Case(merged.votes, merged.weight_p, DawidSkene().fit(merged.votes, weights=merged.weight_p))


def _anonymous(
    votes: Votes, case: _Case | None, shape: Design, gate: Gate | None, level: float, rng: np.random.Generator
) -> Claim:
    """The claim about rules that ignore who voted: from counts for a crowd, from the named model for a panel."""
    n_classes = len(votes.labels)
    if n_classes < 2:
        why = "All votes say the same: there is nothing to decide between."
        return Claim(kind="anonymous", verdict="unidentified", why=why)
    if shape.kind == "panel" and case is not None:
        try:
            claim = panel_claim(*case.arguments, level=level, rng=rng, copies=case.copies_i)
            return _gated(claim, gate)
        except ConfigError:  # too many ways for the votes to fall: treat the panel as a crowd
            pass
    if n_classes == 2:
        return anonymous_claim(as_histograms(histograms(votes)), level, rng)
    return multiclass_claim(
        votes, SharedConfusion().fit(votes), partial(refit_dawid_skene, votes), level=level, rng=rng
    )


def _named(
    votes: Votes, case: _Case, anonymous: Claim, gate: Gate | None, level: float, rng: np.random.Generator
) -> Claim:
    """The claim about all rules, with whether workers differ at all; it needs independent votes as well."""
    claim = named_claim(*case.arguments, level=level, rng=rng, copies=case.copies_i)
    claim = replace(claim, gates=(*claim.gates, workers_differ(votes, rng=rng)))
    if gate is None and anonymous.gates:
        gate = anonymous.gates[0]  # of a crowd: independence as the counts show it
    return _gated(claim, gate)


def _gated(claim: Claim, gate: Gate | None) -> Claim:
    """The claim, void where the gate failed: its numbers then hold only if votes were independent."""
    if gate is None:
        return claim
    gates = (*claim.gates, gate)
    if gate.passed is not False or claim.verdict in ("unidentified", "void"):
        return replace(claim, gates=gates)
    what = "any rule that ignores who voted" if claim.kind == "anonymous" else "a rule that knows who voted"
    why = f"Votes depend on each other, so nothing is certified about {what} (void). If they did not: {claim.why}"
    return replace(claim, verdict="void", why=why, gates=gates, more_items=None)


def _has_gold(votes: Votes) -> bool:
    return votes.gold_i is not None and bool(((votes.gold_i >= 0) & (votes.votes_i > 0)).any())
