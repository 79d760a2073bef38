"""The line on votes that lie in files: the same steps as in memory, counts by streaming, what needs all votes sampled.

Everything that adds up over items is exact and equals what the votes would give in memory: counts, agreement, the claim
about rules that ignore who voted, every distributed method, the accuracy of workers.  What looks at workers in pairs or
refits hundreds of times looks at the sample of items that it would also look at in memory (`claims.sampled_items`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, cast

import numpy as np

from majorant.agreement import Agreement
from majorant.agreement.measure import agreement_from, resampling
from majorant.blocks import add_up
from majorant.certify.gold.cells import cells_of, gold_rows
from majorant.certify.named.claim import typical
from majorant.claims import Inquiry, Material, inquire_from, sampled_items
from majorant.decide.calibrate import as_calibrated
from majorant.decide.candidates import unsuited
from majorant.decide.choice import decide, seed_of_fits
from majorant.decide.combine import COMBINATION, MEMBERS, combine, items_to_weigh_by, weigh
from majorant.decide.labels import DIGITS, label_table
from majorant.decide.review import MOST_LISTED, Review, crowd_confusion, review
from majorant.decide.workers import Workers, worker_sums, workers_from
from majorant.engines.checkpoint import Checkpoint
from majorant.engines.counting import stored_patterns, stored_votes_by_worker
from majorant.engines.spill import Report, silent
from majorant.engines.store import StoredVotes
from majorant.engines.stored_engine import StoredEngine, stored_engine
from majorant.errors import ConfigError
from majorant.estimate import ESTIMATORS, Fit
from majorant.estimate.em import Progress
from majorant.estimate.fit import Ties
from majorant.interval import as_level
from majorant.kernels import Block, FloatArray
from majorant.pipeline import AUTO, WORKER_METHOD, Result
from majorant.pipeline import check as check_in_memory
from majorant.randomness import as_generator
from majorant.tally import Patterns, two_class_histograms
from majorant.votes import IntArray, Votes


@dataclass(frozen=True, slots=True)
class Means:
    """What a run may use, in bytes, and whom it tells how far it is: about votes done, and about steps of a fit."""

    memory: int
    report: Report = silent
    progress: Progress | None = None


def sample(stored: StoredVotes, means: Means, *, rng: np.random.Generator) -> IntArray | None:
    """The items that the claims about workers look at, drawn as in memory; None for all of them."""
    n_items, _, n_classes = stored.shape
    votes_j = stored_votes_by_worker(stored, memory=means.memory).sum(axis=1)
    return sampled_items(n_items, stored.n_votes, n_classes, typical(votes_j.astype(float)), rng=rng)


def taken(stored: StoredVotes, chosen: IntArray | None) -> Votes:
    """The votes of the chosen items, or all, in memory."""
    return stored.take_items(np.arange(len(stored.items)) if chosen is None else chosen)


def inquire(stored: StoredVotes, means: Means, *, level: float = 0.95, rng: int | np.random.Generator) -> Inquiry:
    """The certificate: the anonymous claim from all votes, exactly; claims about workers as in memory."""
    as_level(level)
    generator = as_generator(rng)
    n_items, _, n_classes = stored.shape
    chosen = sample(stored, means, rng=generator)
    has_gold = stored.gold_i is not None and _any_gold(stored)
    patterns = stored_patterns(stored, report=means.report) if n_classes == 2 else None
    material = Material(
        histograms=None if patterns is None else two_class_histograms(patterns),
        sample=taken(stored, chosen),
        n_items=n_items,
        gold=cells_of(stored_patterns(stored, gold_rows, report=means.report)) if has_gold else None,
    )
    return inquire_from(material, level=level, rng=generator)


def agreement(stored: StoredVotes, means: Means, *, level: float = 0.95, rng: int | np.random.Generator) -> Agreement:
    """How well workers agree; Cohen's kappa, which looks at pairs of workers, on a sample where votes are very many."""
    chosen = sample(stored, means, rng=np.random.default_rng(0))
    patterns = stored_patterns(stored, report=means.report)
    return agreement_from(patterns, taken(stored, chosen), resampling(rng, level=level))


def fit_rule(stored: StoredVotes, method: str, means: Means, *, rng: int) -> Fit:
    """The fit of a distributed method, or of the combination; its probabilities lie in a file.

    The steps of a loop are kept in the folder: the same fit to the same votes, cut off before, goes on from there.
    """
    engine = stored_engine(stored, memory=means.memory, report=means.report)
    if method != COMBINATION:
        return _fit(stored, method, engine, rng, means.progress)
    # Given an engine, estimators and `unsuited` ask votes for shape, names and counts alone: StoredVotes has these.
    votes = cast("Votes", stored)
    members = [name for name in MEMBERS if not unsuited(name, votes)]
    weight = weigh(stored.take_items(items_to_weigh_by(votes, rng)), members, rng).weight
    fits = {name: _fit(stored, name, engine, rng, means.progress) for name in members if weight[name]}
    mean = combine({name: replace(fit, posterior=fit.posterior[:0]) for name, fit in fits.items()}, weight)

    def weighted(block: Block) -> FloatArray:
        return np.asarray(sum(weight[name] * fit.posterior[block.items] for name, fit in fits.items()))

    return replace(mean, posterior=engine.rows(weighted))


def _fit(stored: StoredVotes, method: str, engine: StoredEngine, rng: int, progress: Progress | None) -> Fit:
    estimator = ESTIMATORS[method]
    more: dict[str, Any] = {"rng": np.random.default_rng(rng)} if estimator.stochastic else {}
    if estimator.iterative:
        key = f"{stored.fingerprint} {method} {rng if estimator.stochastic else ''}"
        more["progress"] = Checkpoint(stored.folder / "steps" / method, key, progress=progress)
    return estimator().fit(cast("Votes", stored), engine=engine, **more)


def distributed() -> list[str]:
    """The methods that run on votes in files and need nothing but votes."""
    return [name for name, method in ESTIMATORS.items() if method.distributed and name != "map"] + [COMBINATION]


def choose(stored: StoredVotes, method: str, means: Means, *, rng: int) -> tuple[str, int]:
    """The method where it runs on files, for auto the one that suits the sample best; and the seed to fit it with."""
    if method == AUTO:
        certificate = inquire(stored, means, rng=rng).certificate
        some = taken(stored, sample(stored, means, rng=as_generator(rng)))
        chosen = decide(some, certificate, ESTIMATORS["majority"]().fit(some), rng=rng).method
        return chosen if chosen in distributed() else COMBINATION, seed_of_fits(as_generator(rng))
    if method not in distributed():
        what = "needs all votes in memory: leave out --memory" if method in ESTIMATORS else "is not a method"
        raise ConfigError(f"{method} {what}, or choose {AUTO} or one of: {', '.join(distributed())}.")
    return method, rng


def label_tables(
    stored: StoredVotes,
    fit: Fit,
    *,
    ties: Ties = "flag",
    rng: int | None = None,
    calibrated: Callable[[Fit], Fit] = lambda part: part,
    report: Report = silent,
) -> Iterator[dict[str, Any]]:
    """The table of labels, some items at a time, in their order."""
    generator = (
        None if rng is None else np.random.default_rng(rng)
    )  # one for all parts: the draws are those of the whole
    for votes, part in parts(stored, fit):
        start, stop = cast("range", votes.items).start, cast("range", votes.items).stop
        names = replace(votes, items=tuple(stored.items[start:stop]))
        yield label_table(names, calibrated(part), ties=ties, rng=generator)
        report("writing", stop, len(stored.items))


def parts(stored: StoredVotes, fit: Fit) -> Iterator[tuple[Votes, Fit]]:
    """The votes in memory, one row group after the other, each with its part of the fit."""
    yield from zip(stored.groups(), fit_parts(stored, fit), strict=True)


def fit_parts(stored: StoredVotes, fit: Fit) -> Iterator[Fit]:
    """The fit of the items of each row group, in memory."""
    for start, stop in pairwise(stored.item_g):
        yield replace(fit, posterior=np.array(fit.posterior[start:stop]), votes_i=np.array(fit.votes_i[start:stop]))


def workers(stored: StoredVotes, fit: Fit, means: Means, *, level: float = 0.95) -> Workers:
    """Accuracy and agreement of each worker from all votes; habits, speed and twins from the sample of items."""

    def sums() -> Iterator[Any]:
        for group, (votes, part) in enumerate(parts(stored, fit)):
            yield worker_sums(votes, part)
            means.report("judging", int(stored.vote_g[group + 1]), stored.n_votes)

    total = add_up(sums())
    chosen = sample(stored, means, rng=np.random.default_rng(0))
    some = taken(stored, chosen)
    of_some = fit if chosen is None else replace(fit, posterior=fit.posterior[chosen], votes_i=some.votes_i)
    return workers_from(total, some, of_some, level=level)


def _any_gold(stored: StoredVotes) -> bool:
    assert stored.gold_i is not None
    step = 1 << 20
    return any(
        bool(((stored.gold_i[at : at + step] >= 0) & (stored.votes_i[at : at + step] > 0)).any())
        for at in range(0, len(stored.items), step)
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StoredResult:
    """What `check` finds out about stored votes."""

    sample: Result  # all of it, for a sample of the items; with the certificate and the agreement of all
    fit: Fit  # the chosen rule on all votes, not calibrated
    worker_fit: Fit
    workers: Workers
    votes_jl: IntArray
    patterns: Patterns
    review: Review
    reviewed: Votes  # the votes of the items listed there
    reviewed_fit: Fit

    def calibrated(self, part: Fit) -> Fit:
        """A part of the fit with the confidence that the sample bears out."""
        return as_calibrated(self.sample.labels, part)


def check(
    stored: StoredVotes,
    means: Means,
    *,
    level: float,
    rng: int,
    method: str | None,
    tolerance: float,
    target: float,
) -> StoredResult:
    """The whole line: rule, confidence and plan from the sample; counts, claims, labels and workers from all votes."""
    if method is not None:
        choose(stored, method, means, rng=rng)
    some = taken(stored, sample(stored, means, rng=as_generator(rng)))
    result = check_in_memory(
        some,
        level=level,
        rng=rng,
        method=method,
        tolerance=tolerance,
        target=target,
        inquiry=inquire(stored, means, level=level, rng=rng),
        agreement=agreement(stored, means, level=level, rng=rng),
    )
    rule = result.decision.method if result.decision.method in distributed() else COMBINATION
    fit = fit_rule(stored, rule, means, rng=seed_of_fits(as_generator(rng)))
    each = fit.confusion is not None and fit.confusion.ndim == 3
    worker_fit = fit if each else fit_rule(stored, WORKER_METHOD, means, rng=rng)
    judged = workers(stored, worker_fit, means, level=level)
    found = _review(stored, fit, result, judged)
    return StoredResult(
        sample=result,
        fit=fit,
        worker_fit=worker_fit,
        workers=judged,
        votes_jl=stored_votes_by_worker(stored, memory=means.memory),
        patterns=stored_patterns(stored),
        review=found[0],
        reviewed=found[1],
        reviewed_fit=found[2],
    )


def _review(stored: StoredVotes, fit: Fit, result: Result, workers: Workers) -> tuple[Review, Votes, Fit]:
    """The items of all where a look pays most; what a typical vote tells is known from the sample."""
    worst_p, doubt_p = np.empty(0, dtype=np.int64), np.empty(0)
    for group, (_, part) in enumerate(parts(stored, fit)):
        known = as_calibrated(result.labels, part)
        doubt_i = 1 - np.where((part.votes_i > 0)[:, None], known.posterior, known.prior).max(axis=1)
        doubt_p = np.concatenate([doubt_p, doubt_i.round(DIGITS)])
        worst_p = np.concatenate([worst_p, np.arange(len(doubt_i)) + stored.item_g[group]])
        first = np.sort(np.argsort(-doubt_p, kind="stable")[:MOST_LISTED])
        worst_p, doubt_p = worst_p[first], doubt_p[first]
    votes = stored.take_items(worst_p)
    some = as_calibrated(result.labels, replace(fit, posterior=fit.posterior[worst_p], votes_i=votes.votes_i))
    crowd = crowd_confusion(result.votes, result.labels.fit)
    listed = review(votes, some, good=workers.good_j, crowd=crowd, n_items=len(stored.items))
    return listed, votes, some
