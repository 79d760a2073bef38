"""The line on votes that lie in files: the same steps as in memory, counts by streaming, what needs all votes sampled.

Everything that adds up over items is exact and equals what the votes would give in memory: counts, agreement, the claim
about rules that ignore who voted, every distributed method, the accuracy of workers.  What looks at workers in pairs or
refits hundreds of times looks at the sample of items that it would also look at in memory (`claims.sampled_items`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np

from majorant.agreement import Agreement
from majorant.agreement.measure import agreement_from, resampling
from majorant.blocks import add_up
from majorant.certify.gold.cells import cells_of, gold_rows
from majorant.certify.named.claim import typical
from majorant.claims import Inquiry, Material, inquire_from, sampled_items
from majorant.decide.labels import label_table
from majorant.decide.workers import Workers, worker_sums, workers_from
from majorant.engines.checkpoint import Checkpoint
from majorant.engines.counting import stored_patterns, stored_votes_by_worker
from majorant.engines.spill import Report, silent
from majorant.engines.store import StoredVotes
from majorant.engines.stored_engine import stored_engine
from majorant.errors import ConfigError
from majorant.estimate import ESTIMATORS, Fit
from majorant.estimate.fit import Ties
from majorant.interval import as_level
from majorant.randomness import as_generator
from majorant.tally import two_class_histograms
from majorant.votes import IntArray, Votes


def sample(stored: StoredVotes, *, memory: int, rng: np.random.Generator) -> IntArray | None:
    """The items that the claims about workers look at, drawn as in memory; None for all of them."""
    n_items, _, n_classes = stored.shape
    votes_j = stored_votes_by_worker(stored, memory=memory).sum(axis=1)
    return sampled_items(n_items, stored.n_votes, n_classes, typical(votes_j.astype(float)), rng=rng)


def taken(stored: StoredVotes, chosen: IntArray | None) -> Votes:
    """The votes of the chosen items, or all, in memory."""
    return stored.take_items(np.arange(len(stored.items)) if chosen is None else chosen)


def inquire(
    stored: StoredVotes, *, level: float = 0.95, rng: int | np.random.Generator, memory: int, report: Report = silent
) -> Inquiry:
    """The certificate: the anonymous claim from all votes, exactly; claims about workers as in memory."""
    as_level(level)
    generator = as_generator(rng)
    n_items, _, n_classes = stored.shape
    chosen = sample(stored, memory=memory, rng=generator)
    has_gold = stored.gold_i is not None and _any_gold(stored)
    patterns = stored_patterns(stored, report=report) if n_classes == 2 else None
    material = Material(
        histograms=None if patterns is None else two_class_histograms(patterns),
        sample=taken(stored, chosen),
        n_items=n_items,
        gold=cells_of(stored_patterns(stored, gold_rows, report=report)) if has_gold else None,
    )
    return inquire_from(material, level=level, rng=generator)


def agreement(
    stored: StoredVotes, *, level: float = 0.95, rng: int | np.random.Generator, memory: int, report: Report = silent
) -> Agreement:
    """How well workers agree; Cohen's kappa, which looks at pairs of workers, on a sample where votes are very many."""
    chosen = sample(stored, memory=memory, rng=np.random.default_rng(0))
    patterns = stored_patterns(stored, report=report)
    return agreement_from(patterns, taken(stored, chosen), resampling(rng, level=level))


def aggregate(
    stored: StoredVotes,
    method: str = "majority",
    *,
    rng: int | None = None,
    memory: int,
    progress: Any = None,
    report: Report = silent,
) -> Fit:
    """The fit of a distributed method; its probabilities lie in a file.  Steps are kept, and taken up again."""
    if method not in ESTIMATORS:
        raise ConfigError(f"There is no method {method!r}. Choose one of: {', '.join(distributed())}.")
    estimator = ESTIMATORS[method]
    if not estimator.distributed:
        raise ConfigError(
            f"{method} needs all votes in memory. Leave out --memory, or choose one of: {', '.join(distributed())}."
        )
    more: dict[str, Any] = {"rng": rng} if estimator.stochastic else {}
    if estimator.iterative:
        key = f"{stored.fingerprint} {method} {rng if estimator.stochastic else ''}"
        more["progress"] = Checkpoint(stored.folder / "steps", key, progress=progress)
    engine = stored_engine(stored, memory=memory, report=report)
    # Given an engine, estimators ask votes for their shape, names and counts alone, and StoredVotes has these.
    return estimator().fit(cast("Votes", stored), engine=engine, **more)


def distributed() -> list[str]:
    """The methods that run on votes in files and need nothing but votes."""
    return [name for name, method in ESTIMATORS.items() if method.distributed and name != "map"]


def label_tables(
    stored: StoredVotes, fit: Fit, *, ties: Ties = "flag", rng: int | None = None, report: Report = silent
) -> Iterator[tuple[dict[str, Any], Fit]]:
    """The table of labels, some items at a time in their order, each with the fit of these items."""
    generator = (
        None if rng is None else np.random.default_rng(rng)
    )  # one for all parts: the draws are those of the whole
    for votes, part in parts(stored, fit):
        start, stop = cast("range", votes.items).start, cast("range", votes.items).stop
        names = replace(votes, items=tuple(stored.items[start:stop]))
        yield label_table(names, part, ties=ties, rng=generator), part
        report("writing", stop, len(stored.items))


def parts(stored: StoredVotes, fit: Fit) -> Iterator[tuple[Votes, Fit]]:
    """The votes in memory, one row group after the other, each with its part of the fit."""
    for group, votes in enumerate(stored.groups()):
        rows = slice(int(stored.item_g[group]), int(stored.item_g[group + 1]))
        yield votes, replace(fit, posterior=np.array(fit.posterior[rows]), votes_i=votes.votes_i)


def workers(stored: StoredVotes, fit: Fit, *, level: float = 0.95, memory: int, report: Report = silent) -> Workers:
    """Accuracy and agreement of each worker from all votes; habits, speed and twins from the sample of items."""

    def sums() -> Iterator[Any]:
        for group, (votes, part) in enumerate(parts(stored, fit)):
            yield worker_sums(votes, part)
            report("judging", int(stored.vote_g[group + 1]), stored.n_votes)

    total = add_up(sums())
    chosen = sample(stored, memory=memory, rng=np.random.default_rng(0))
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
