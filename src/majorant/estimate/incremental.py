"""New votes for models of expected counts: EM over the items they touch, all other items held as they were.

The expected counts of the items that are not touched enter the M step as imaginary votes, so an update is the
maximum a posteriori fit to the touched items under a Dirichlet prior that the past has taught.  In the words of Neal
and Hinton 1998 it climbs their free energy F(q, parameters) over the parameters and over q of the touched items alone:
F never falls, and where no batch moves it any more, the full fit stands still too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from majorant.blocks import Engine, in_memory
from majorant.errors import ConfigError
from majorant.estimate.em import Prepared, Progress, Solution, TableModel, prepare, run_em, run_starts, table_fit
from majorant.estimate.fit import Fit
from majorant.estimate.memory import Grown, Touched, grow, touch
from majorant.estimate.online import State, remembered_votes
from majorant.estimate.tables import Counts, Tables, count_totals, share_counts
from majorant.kernels import Block, FloatArray, scatter, weighted_sum
from majorant.votes import IntArray, Votes

GROWTH = 2  # as many times the votes of the last full fit, and the next is due


@dataclass(frozen=True, slots=True)
class Resumed:
    """A model for the touched items alone: the expected counts of all others, `held`, count as imaginary votes."""

    model: Any  # a TableModel whose m_step needs the counts alone
    held: Counts

    @property
    def max_iter(self) -> int:
        """The largest number of steps."""
        return int(self.model.max_iter)

    @property
    def tol(self) -> float:
        """Stop when no parameter moves by more."""
        return float(self.model.tol)

    @property
    def accelerate(self) -> bool:
        """Whether SQUAREM steps are tried."""
        return bool(self.model.accelerate)

    def tables(self, params: Any) -> Tables:
        """Those of the model."""
        return self.model.tables(params)  # type: ignore[no-any-return]

    def m_step(self, counts: Counts, params: Any) -> Any:
        """New parameters from the counts of all items."""
        return self.model.m_step(_added(self.held, counts), params)

    def log_prior(self, params: Any) -> float:
        """What the votes held say of the parameters, and the model's own prior."""
        tables = self.model.tables(params)
        votes_cg = self.held.votes_jgl.transpose(0, 2, 1).reshape(tables.log_vote_cg.shape)
        past = _times_log(votes_cg, tables.log_vote_cg) + _times_log(self.held.items_g, tables.log_prior_g)
        return past + float(self.model.log_prior(params))


def fit_table_model(
    model: Any,
    votes: Votes,
    weights: ArrayLike | None,
    engine: Engine | None,
    progress: Progress | None,
    begin: Callable[[Prepared], Any],
) -> Fit:
    """A full fit from where `begin` says; it has a state where it is a fit to plain votes in memory."""
    prepared = prepare(votes, engine, weights, clamp_gold=model.clamp_gold)
    solution = run_em(model, prepared, begin(prepared), progress)
    plain = engine is None and weights is None and not model.clamp_gold
    online = partial(count_state, model, votes) if plain else None
    return table_fit(model, votes, prepared, solution, online=online, **model.learned(solution.params))


def count_state(model: Any, votes: Votes, posterior_ik: FloatArray) -> State:
    """The votes, the probabilities of their items, and the expected counts that go with these."""
    counts = _posterior_counts(votes, posterior_ik)
    arrays = {
        "counts": counts.votes_jgl,
        "class_counts": counts.items_g,
        "posterior": posterior_ik,
        "item": votes.item_n,
        "worker": votes.worker_n,
        "label": votes.label_n,
    }
    return State(
        method=model.name,
        items=votes.items,
        workers=votes.workers,
        labels=votes.labels,
        arrays=arrays,
        settings=_unusual(model),
        fitted=votes.n_votes,
    )


def refit(model: Any, state: State) -> Fit:
    """A full fit to all votes that are remembered."""
    votes = remembered_votes(state)
    prepared, solution = _climb_all(model, votes, state)
    online = partial(count_state, model, votes)
    return table_fit(model, votes, prepared, solution, online=online, **model.learned(solution.params))


def go_on(model: Any, state: State, new_votes: Votes, progress: Progress | None = None) -> Fit:
    """The fit to the items of new votes, with all their votes, old and new.

    When the votes are twice as many as at the last full fit, it is a full fit again: all full fits together then cost
    about twice the last of them, and never do most votes depend on a fit to a few.
    """
    if state.method != model.name:
        raise ConfigError(f"state: belongs to {state.method}, not to {model.name}.")
    grown = grow(state, new_votes)
    touched = touch(grown, new_votes)
    before = _posterior_counts(touched.earlier, grown.arrays["posterior"][touched.item_t])
    known = Counts(grown.arrays["counts"][touched.worker_t], grown.arrays["class_counts"], 0.0)
    held = _taken_out(known, before)
    engine = in_memory(touched.votes)
    prepared = Prepared(engine, count_totals(engine), None)
    begin = model.m_step(_where_unknown(known, share_counts(engine, prepared.totals)), None)
    resumed: TableModel[Any] = Resumed(model, held)
    solution = run_em(resumed, prepared, begin, progress)
    first_j = np.arange(len(new_votes.workers))
    answer = _for_new(model, touched.votes, prepared, solution, worker_j=first_j, item_i=touched.new_t)
    after = partial(_state_after, model, state.fitted, grown, touched, held)
    if len(touched.log[0]) < GROWTH * state.fitted:
        return replace(answer.fit, online=partial(kept_state, after, answer.posterior_ik))
    later = after(answer.posterior_ik)
    votes = remembered_votes(later)
    answer = _for_new(model, votes, *_climb_all(model, votes, later), worker_j=grown.codes[1], item_i=grown.codes[0])
    return replace(answer.fit, online=partial(kept_state, partial(count_state, model, votes), answer.posterior_ik))


def kept_state(state_of: Callable[[FloatArray], State], posterior_ik: FloatArray, _: FloatArray) -> State:
    """The state from the probabilities of all items, of which a fit shows some."""
    return state_of(posterior_ik)


class Answer(NamedTuple):
    """A fit to the items of the new votes, in their order, and the probabilities of all items of the pass."""

    fit: Fit
    posterior_ik: FloatArray


def _for_new(
    model: Any, votes: Votes, prepared: Prepared, solution: Solution[Any], *, worker_j: IntArray, item_i: IntArray
) -> Answer:
    """The fit with a row for each worker and each item of the new votes."""
    of_new = type(solution.params)(solution.params[0][worker_j], *solution.params[1:])
    fit = table_fit(model, votes, prepared, solution, **model.learned(of_new))
    some = replace(fit, posterior=fit.posterior[item_i], votes_i=fit.votes_i[item_i], names=None)
    return Answer(some, fit.posterior)


def _climb_all(model: Any, votes: Votes, state: State) -> tuple[Prepared, Solution[Any]]:
    """All votes fitted from their shares, as always, and from the state; the one that ends higher, or the first."""
    prepared = prepare(votes, None, None, clamp_gold=False)
    known = Counts(state.arrays["counts"], state.arrays["class_counts"], 0.0)
    starts = (share_counts(prepared.engine, prepared.totals), known)
    return prepared, run_starts(model, prepared, [model.m_step(counts, None) for counts in starts])


def _posterior_counts(votes: Votes, posterior_ik: FloatArray) -> Counts:
    """The expected counts of votes whose items have these probabilities."""

    def step(block: Block) -> tuple[FloatArray, FloatArray]:
        return scatter(block, posterior_ik[block.items]), weighted_sum(block, posterior_ik[block.items])

    _, n_workers, n_labels = votes.shape
    votes_cg, items_g = in_memory(votes).map_sum(step)
    return Counts(votes_cg.reshape(n_workers, n_labels, -1).transpose(0, 2, 1), items_g, 0.0)


def _where_unknown(known: Counts, shares: Counts) -> Counts:
    """What is known, and for workers and classes without a past what the shares of the votes say, as a fit begins."""
    unknown_jg = known.votes_jgl.sum(axis=2) == 0
    votes_jgl = known.votes_jgl + unknown_jg[:, :, None] * shares.votes_jgl
    return Counts(votes_jgl, known.items_g + (known.items_g == 0) * shares.items_g, 0.0)


def _taken_out(a: Counts, b: Counts) -> Counts:
    return Counts(np.maximum(a.votes_jgl - b.votes_jgl, 0.0), np.maximum(a.items_g - b.items_g, 0.0), 0.0)


def _added(a: Counts, b: Counts) -> Counts:
    return Counts(a.votes_jgl + b.votes_jgl, a.items_g + b.items_g, b.evidence)


def _times_log(count: FloatArray, log: FloatArray) -> float:
    """The sum of counts times logarithms, where nothing is counted 0 even if the logarithm is -inf."""
    return float(np.where(count > 0, count * np.where(count > 0, log, 0.0), 0.0).sum())


def _state_after(
    model: Any, fitted: int, grown: Grown, touched: Touched, held: Counts, posterior_tk: FloatArray
) -> State:
    """The state with what was learned of the touched items in place of what was known of them."""
    now = _added(held, _posterior_counts(touched.votes, posterior_tk))
    arrays = {**grown.arrays, **dict(zip(("item", "worker", "label"), touched.log, strict=True))}
    arrays["class_counts"] = now.items_g
    arrays["counts"] = grown.arrays["counts"].copy()
    arrays["counts"][touched.worker_t] = now.votes_jgl
    arrays["posterior"] = grown.arrays["posterior"].copy()
    arrays["posterior"][touched.item_t] = posterior_tk
    return State(
        method=model.name,
        items=grown.items,
        workers=grown.workers,
        labels=grown.labels,
        arrays=arrays,
        settings=_unusual(model),
        fitted=fitted,
        place=grown.place,
    )


def _unusual(model: Any) -> dict[str, Any]:
    """The settings that differ from the method's own."""
    usual = asdict(type(model)())
    return {name: value for name, value in asdict(model).items() if value != usual[name]}
