"""Which claims these votes can bear, each with the fit that suits it: crowd or panel, two classes or more, gold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from majorant.backend import Countable, MemoryBackend, as_backend
from majorant.defaults import LEVEL
from majorant.evidence.certificate.anonymous import anonymous_claim, as_histograms, weakened
from majorant.evidence.certificate.assumption_tests import count_gate, workers_differ
from majorant.evidence.certificate.bootstrap import Case, replicates_of
from majorant.evidence.certificate.bootstrap_claims import (
    VOTES_PER_CLASS,
    align,
    can_count,
    multiclass_claim,
    named_claim,
    panel_claim,
    thin_claim,
    typical,
)
from majorant.evidence.certificate.certificate import AssumptionTest, Certificate, Claim
from majorant.evidence.certificate.dependence import dependence
from majorant.evidence.certificate.design import VotingDesign, design
from majorant.evidence.certificate.gold import GoldCells, cells_of, claim_from_cells, gold_rows
from majorant.evidence.certificate.universal_inference import with_e_values
from majorant.items import merge_equal_items, take_items
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.fit import Fit
from majorant.methods.resampled import refit_dawid_skene
from majorant.methods.shared import SharedConfusion
from majorant.read import Reading
from majorant.resources import limit_native_threads
from majorant.tally import Patterns, two_class_histograms
from majorant.values import as_generator, as_level
from majorant.votes import IntArray, Votes
from majorant.wording import DRAWN_ANEW, ONE_LABEL, at_level, of_a_sample, void_sentence

MOST_FITTED = 250_000  # of all workers' confusion matrices together; 200 replicates of more would fill the memory
MOST_VOTES = 800_000  # times classes squared: what 200 refits go through in seconds; of more, a sample of the items
MOST_TAKEN = 5_000_000  # votes of the sample where votes lie elsewhere, however few each worker gave
ALIKE_LEVEL = 0.99  # of the test whether workers differ: of alike crowds one in a hundred fails
SPARE_VOTES = 1.5  # times the votes that it takes to tell workers apart, which a sample leaves the typical one


@dataclass(frozen=True, slots=True, eq=False)
class Certification:
    """A certificate, and what it was made from."""

    certificate: Certificate
    design: VotingDesign
    fit: Fit | None  # one confusion matrix per worker


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClaimInputs:
    """What claims are made from, small whatever the number of votes: wherever the votes lie, it can be gathered."""

    histograms: Mapping[int, IntArray] | None  # of all items, two classes
    sample: Votes  # all items, or a random sample of them, for the claims about workers
    item_p: IntArray | None  # the codes of the items in the sample, None for all
    n_items: int  # of which the sample was drawn
    gold: GoldCells | None  # of all items, where gold is known of one that has a vote


@limit_native_threads
def certify(
    votes: Any, *, level: float = LEVEL, rng: int | np.random.Generator = 0, **reading: Unpack[Reading]
) -> Certificate:
    """Is majority vote optimal for these votes?  Every claim that they can bear, at one level.

    `votes` is whatever `mj.read` takes (a file, a frame, a dict, a list) with the same arguments, such as `item=`.

    >>> from majorant.simulate import simulate
    >>> votes, _ = simulate([.5, .5], [[.85, .15], [.15, .85]], n_items=3000, n_votes=5, rng=1)
    >>> certify(votes).anonymous.verdict
    'proved'
    """
    return certification(as_backend(votes, **reading), level=level, rng=rng).certificate


def certification(votes: Votes | Countable, *, level: float = LEVEL, rng: int | np.random.Generator) -> Certification:
    """The certificate of votes wherever they lie, together with the design of the data and the named fit."""
    as_level(level)
    generator = as_generator(rng)
    backend = MemoryBackend(votes) if isinstance(votes, Votes) else votes
    return certification_from(claim_inputs(backend, rng=generator), level=level, rng=generator)


class Counts(NamedTuple):
    """What counting says of all votes."""

    patterns: Patterns
    votes_jl: NDArray[np.int64]


def claim_inputs(backend: Countable, *, rng: np.random.Generator, counts: Counts | None = None) -> ClaimInputs:
    """What the claims look at: counts of all items, and a random sample of the items where there are very many."""
    n_items, _, n_classes = backend.votes.shape
    item_p = sample_codes(backend, backend.votes_by_worker() if counts is None else counts.votes_jl, rng=rng)
    patterns = None
    if n_classes == 2:
        patterns = backend.patterns() if counts is None else counts.patterns
    return ClaimInputs(
        histograms=None if patterns is None else two_class_histograms(patterns),
        sample=votes_of_items(backend, item_p),
        item_p=item_p,
        n_items=n_items,
        gold=_gold(backend),
    )


class Sample(NamedTuple):
    """Votes in memory: of all items, or of a random sample of them."""

    votes: Votes
    item_p: IntArray | None = None  # the codes of the items, None for all


def whole_or_sample(backend: Countable, *, rng: np.random.Generator) -> Sample:
    """All votes where they are in memory; else those that claims about workers look at, taken into memory."""
    if backend.whole is not None:
        return Sample(backend.whole)
    item_p = sample_codes(backend, backend.votes_by_worker(), rng=rng)
    return Sample(votes_of_items(backend, item_p), item_p)


def sample_codes(backend: Countable, votes_jl: NDArray[np.int64], *, rng: np.random.Generator) -> IntArray | None:
    """The codes of the items that claims about workers look at, None for all; in the order of their hashes.

    Items are drawn by their names, so they are the same ones wherever the votes lie.
    """
    share = sampled_share(backend.votes.n_votes, backend.votes.shape[2], typical(votes_jl.sum(axis=1).astype(float)))
    if backend.whole is None:  # no more than memory should hold
        share = min(share, MOST_TAKEN / max(backend.votes.n_votes, 1))
    return None if share >= 1 else backend.draw(share, int(rng.integers(2**32)))


def votes_of_items(backend: Countable, item_p: IntArray | None) -> Votes:
    """The votes of the items with these codes, None for all, in memory."""
    if item_p is None:
        return backend.take(np.arange(backend.votes.shape[0])) if backend.whole is None else backend.whole
    order_p = np.argsort(item_p)
    return take_items(backend.take(item_p[order_p]), np.argsort(order_p))


def _gold(backend: Countable) -> GoldCells | None:
    """Gold labels by count cell, None where no item with a vote has one."""
    if not backend.has_gold:
        return None
    rows = backend.patterns(gold_rows)
    known_p = (rows.counts_pk[:, -1] > 0) & (rows.counts_pk[:, :-1].sum(axis=1) > 0)
    return cells_of(rows) if known_p.any() else None


def sampled_share(n_votes: int, n_classes: int, typical: float) -> float:
    """The share of the items that the claims about workers look at.

    The sample leaves a worker with `typical` votes half as many again as it takes to tell workers apart.

    >>> sampled_share(5_000_000, 2, typical=1000)
    0.06
    """
    wanted = MOST_VOTES / max(n_classes, 1) ** 2
    if n_votes <= wanted:
        return 1.0
    return max(wanted / n_votes, min(1.0, SPARE_VOTES * VOTES_PER_CLASS * n_classes / max(typical, 1.0)))


def certification_from(inputs: ClaimInputs, *, level: float, rng: np.random.Generator) -> Certification:
    """The certificate from what was gathered, wherever the votes lie."""
    shape = design(inputs.sample)
    thin = _thin(inputs.sample, shape)
    case = _case(inputs.sample) if thin is None else None
    panel = case if shape.kind == "panel" else None
    shared_errors = None
    if panel is not None:
        shared_errors = dependence(panel.votes, panel.fit, rng=rng, level=level, copies=panel.copies)
        if panel.votes.votes_i.max(initial=0) >= 3:
            case = panel = replace(panel, replicates=replicates_of(panel, level, rng))  # one for both claims
    gate = None if shared_errors is None else shared_errors.gate
    # A headline takes gold where that decides, else the anonymous claim: they share the error, and hold at the level.
    each = level if inputs.gold is None else (1 + level) / 2
    by_panel = panel is not None and can_count(panel.votes)
    anonymous = _anonymous(inputs, panel if by_panel else None, gate, each, rng)
    alike = workers_differ(inputs.sample, rng=rng.spawn(1)[0], level=ALIKE_LEVEL)
    named = thin if case is None else named_claim(case, level=level, rng=rng)
    if named is not None:
        named = _named(inputs, case, named, anonymous, alike, gate, level, rng)
    anonymous = replace(anonymous, level=level, why=at_level(anonymous.why, each, level))
    if not by_panel:
        anonymous = weakened(anonymous, alike, DRAWN_ANEW)
    gold = None
    if inputs.gold is not None:
        gold = replace(claim_from_cells(inputs.gold, inputs.sample.labels, level=each), level=level)
    why = " ".join([anonymous.why, *([named.why] if named is not None else [])])
    certificate = Certificate(
        level=level, why=why, anonymous=anonymous, named=named, gold=gold, dependence=shared_errors, design=shape
    )
    return Certification(certificate, shape, None if case is None else case.fit)


def _can_fit(votes: Votes) -> bool:
    """Whether there are confusion matrices to fit: a second class, a second worker, and not too many workers."""
    _, n_workers, n_classes = votes.shape
    return n_classes >= 2 and n_workers >= 2 and n_workers * n_classes**2 <= MOST_FITTED


def _thin(votes: Votes, shape: VotingDesign) -> Claim | None:
    """The named claim of a crowd in two classes whose workers gave too few votes: it needs no fit, nor does the map."""
    if not _can_fit(votes) or shape.kind == "panel" or len(votes.labels) > 2 or votes.votes_i.max(initial=0) < 3:
        return None
    return thin_claim(votes, np.ones(len(votes.items)))


def _case(votes: Votes) -> Case | None:
    """The votes, equal items merged where that pays, and their named fit; None where there is nothing to fit."""
    if not _can_fit(votes):
        return None
    merged = merge_equal_items(votes)
    rows, copies = (votes, None) if merged is None else (merged.votes, merged.weight_p)
    fit = DawidSkene().fit(rows, weights=copies)
    return Case(votes=rows, fit=fit, refit=partial(refit_dawid_skene, rows), copies=copies)


def _anonymous(
    inputs: ClaimInputs,
    panel: Case | None,
    gate: AssumptionTest | None,
    level: float,
    rng: np.random.Generator,
) -> Claim:
    """The claim about rules that ignore who voted: from counts for a crowd, from the named model for a panel."""
    sample = inputs.sample
    if len(sample.labels) < 2:
        return Claim(kind="anonymous", verdict="unidentified", why=ONE_LABEL)
    if panel is not None:
        claim = panel_claim(panel, level=level, rng=rng)
        claim = with_e_values(claim, panel.votes, level=level, rng=rng.spawn(1)[0], copies=panel.copies)
        return _gated(_of_sample(claim, inputs), gate)
    if inputs.histograms is not None:
        return anonymous_claim(as_histograms(inputs.histograms), level, rng)
    shared = SharedConfusion().fit(sample)
    case = Case(votes=sample, fit=shared, refit=partial(refit_dawid_skene, sample))
    claim = multiclass_claim(case, level=level, rng=rng)
    claim = with_e_values(claim, sample, level=level, rng=rng.spawn(1)[0])
    return _gated(_of_sample(claim, inputs), count_gate(sample, align(shared)))


def _named(
    inputs: ClaimInputs,
    case: Case | None,
    claim: Claim,
    anonymous: Claim,
    alike: AssumptionTest,
    gate: AssumptionTest | None,
    level: float,
    rng: np.random.Generator,
) -> Claim:
    """The claim about all rules, with whether workers differ at all; it needs independent votes as well."""
    if case is not None and case.replicates is not None:  # a panel
        claim = with_e_values(claim, case.votes, level=level, rng=rng.spawn(1)[0], copies=case.copies)
    claim = replace(claim, gates=(*claim.gates, alike), level=level)
    # Of a crowd: independence as the counts show it.
    return _gated(_of_sample(claim, inputs), anonymous.independence if gate is None else gate)


def _of_sample(claim: Claim, inputs: ClaimInputs) -> Claim:
    """The claim, which says so where it rests on a sample of the items."""
    n_sampled = len(inputs.sample.items)
    if n_sampled == inputs.n_items:
        return claim
    return replace(claim, assumptions=(*claim.assumptions, of_a_sample(n_sampled, inputs.n_items)))


def _gated(claim: Claim, gate: AssumptionTest | None) -> Claim:
    """The claim, void where the gate failed: its numbers then hold only if votes were independent."""
    if gate is None:
        return claim
    gates = (*claim.gates, gate)
    if gate.passed is not False or claim.verdict in ("unidentified", "void"):
        return replace(claim, gates=gates)
    return replace(claim, verdict="void", why=void_sentence(claim.kind, claim.why), gates=gates, more_items=None)
