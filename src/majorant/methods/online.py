"""Votes that come in batches: the state that is kept between batches, and how an online method continues from it.

For models of expected counts an update is EM over the items that new votes touch, all other items held: the expected
counts of the others enter the M step as imaginary votes, so an update is the maximum a posteriori fit to the touched
items under a Dirichlet prior learned from the past. In the terms of Neal and Hinton (1998) it climbs their free energy
F(q, parameters) over the parameters and over q of the touched items only: F never falls, and a point that no batch can
move is a fixed point of the full fit.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from majorant.errors import ConfigError, DataError
from majorant.items import take_items
from majorant.kernels import Block, in_memory, scatter, weighted_sum
from majorant.methods.em import Solution, run_em, run_starts
from majorant.methods.fit import Fit
from majorant.methods.tables import (
    ExpectedCounts,
    VoteData,
    by_worker,
    count_totals,
    prepare,
    share_counts,
    vote_rows,
)
from majorant.read import Reading, as_votes
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes

Codes = NDArray[np.int32]
# The arrays of a state, by what the method remembers, and their axes; item, worker and label are codes of votes.
STATE_ARRAYS = {
    "counts": {"counts": "jkl", "class_counts": "k", "posterior": "ik", "item": "n", "worker": "n", "label": "n"},
    "accuracies": {"right": "j", "given": "j"},
}
VOTE_CODES = {"item": "i", "worker": "j", "label": "l"}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class State:
    """What an online method remembers of the votes so far; `update` continues from it.

    Attributes
    ----------
    method : str
        Name of the method.
    items, workers, labels : tuple
        Your own names of what has been seen; items only if the method looks back at them.
    arrays : mapping of str to ndarray
        What the method knows.
    settings : mapping of str to float
        Settings of the method that are not the default.
    fitted : int
        Number of votes at the last full fit.
    """

    method: str
    workers: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    arrays: Mapping[str, NDArray[Any]]
    items: tuple[Hashable, ...] = ()
    settings: Mapping[str, float] = field(default_factory=dict)
    fitted: int = 0

    def __post_init__(self) -> None:
        sizes = {"i": len(self.items), "j": len(self.workers), "k": len(self.labels), "l": len(self.labels)}
        sizes["n"] = len(self.arrays.get("item", ()))
        needed = STATE_ARRAYS[online_method(self.method, {}).traits.online]
        if set(self.arrays) != set(needed):
            held = ", ".join(self.arrays) or "nothing"
            raise DataError(f"state: {self.method} keeps {', '.join(needed)}, not {held}.")
        arrays = {name: _check_array(name, self.arrays[name], axes, sizes) for name, axes in needed.items()}
        object.__setattr__(self, "arrays", MappingProxyType(arrays))
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))


def _check_array(name: str, values: Any, axes: str, sizes: Mapping[str, int]) -> NDArray[Any]:
    """A read-only view of an array of a state; refused if its shape or its numbers are impossible."""
    array = np.ascontiguousarray(values, dtype=np.int32 if name in VOTE_CODES else float).view()
    shape = tuple(sizes[axis] for axis in axes)
    if array.shape != shape:
        raise DataError(f"state: {name} must have shape {shape}, not {array.shape}.")
    top = sizes[VOTE_CODES[name]] if name in VOTE_CODES else np.inf
    if array.size and not (array.min() >= 0 and array.max() < top):
        raise DataError(f"state: {name} holds numbers that cannot be there, {array.min()} to {array.max()}.")
    array.flags.writeable = False
    return array


def update(state: State, new_votes: Any, **reading: Unpack[Reading]) -> Fit:
    """Label the items of new votes, given all votes that a state remembers.

    Items, workers and labels are matched by their own values and may be new. Dawid-Skene, one-coin and iBCC remember
    the votes, so an item that comes back is judged by all its votes; a repeated vote is treated as `repeats` says. LA
    does not remember items: one that comes back is judged by its new votes alone.

    Parameters
    ----------
    state : State
        From `fit.state()` or `load_state`. It is not changed.
    new_votes
        Whatever `read` takes: a file, a frame, a dict, a list.
    **reading
        Arguments of `read`, such as `item=`.

    Returns
    -------
    Fit
        The labels of the items of the new votes; its `.state()` is the next state.

    Examples
    --------
    >>> import majorant as mj
    >>> fit = mj.aggregate([("a", "u", "yes"), ("a", "v", "yes"), ("b", "u", "no"), ("b", "v", "no")], "dawid-skene")
    >>> update(fit.state(), [("c", "u", "no"), ("c", "v", "no")]).to_dict()["label"]
    ['no']
    """
    votes = as_votes(new_votes, **reading)
    model = online_method(state.method, state.settings)
    if model.traits.online == "accuracies":
        fit: Fit = model.fit(votes, state=state)
    else:
        fit = _update_counts(model, state, votes)
    return replace(fit, names=votes.names)


def fit_or_update(votes: Votes, method: str, state: State | None) -> Fit:
    """The first fit of an online method or, if there is a state, its update."""
    model = online_method(method, {})
    if state is None:
        first: Fit = model.fit(votes)
        return first
    if state.method != method:
        raise ConfigError(f"state: belongs to {state.method}, not to {method}. Say method='{state.method}'.")
    return update(state, votes)


def online_method(method: str, settings: Mapping[str, float]) -> Any:
    """The method of that name with these settings; an error if it cannot be updated."""
    from majorant.methods import ESTIMATORS

    estimator = ESTIMATORS.get(method)
    if estimator is None or not estimator.traits.online:
        names = ", ".join(name for name, known in ESTIMATORS.items() if known.traits.online)
        raise ConfigError(f"state: {method!r} is not an online method. Online are: {names}.")
    try:
        return estimator(**settings)
    except TypeError:
        raise DataError(f"state: {method} has no settings {', '.join(settings)}.") from None


def votes_of_items(state: State, items: tuple[Hashable, ...]) -> Votes:
    """All votes that a state remembers on some items, in the order of these."""
    place = {name: code for code, name in enumerate(state.items)}
    return take_items(_all_votes(state), np.array([place[name] for name in items], dtype=np.int64))


def _all_votes(state: State) -> Votes:
    codes = (state.arrays[name] for name in VOTE_CODES)
    return Votes.from_codes(*codes, items=state.items, workers=state.workers, labels=state.labels)


def add_names(known: tuple[Hashable, ...], new: tuple[Hashable, ...]) -> tuple[tuple[Hashable, ...], NDArray[np.int64]]:
    """All names, the known ones first, and the place of each of the new ones among them."""
    place = {name: code for code, name in enumerate(known)}
    code = [place.setdefault(name, len(place)) for name in new]
    return tuple(place), np.array(code, dtype=np.int64)


def first_state(model: Any, votes: Votes, posterior_ik: FloatArray) -> State:
    """The state after a fit: votes, probabilities of their items, and the expected counts that go with these."""
    counts = _count(votes, posterior_ik)
    arrays = {"counts": counts.votes_jgl, "class_counts": counts.items_g, "posterior": posterior_ik}
    return _make_state(model, votes, {**arrays, **_codes_of(votes)}, votes.n_votes)


def _codes_of(votes: Votes) -> dict[str, IntArray]:
    return {"item": votes.item_n, "worker": votes.worker_n, "label": votes.label_n}


def _make_state(model: Any, names: Votes | Grown, arrays: dict[str, NDArray[Any]], fitted: int) -> State:
    usual = asdict(type(model)())
    settings = {name: value for name, value in asdict(model).items() if value != usual[name]}
    who: dict[str, Any] = {"items": names.items, "workers": names.workers, "labels": names.labels}
    return State(method=model.name, arrays=arrays, settings=settings, fitted=fitted, **who)


@dataclass(frozen=True, slots=True)
class WithPast:
    """A model for the touched items only: the expected counts of all others, `held`, count as imaginary votes."""

    model: Any
    held: ExpectedCounts
    max_iter: int
    tol: float
    accelerate: bool

    def e_step(self, data: VoteData, params: Any) -> ExpectedCounts:
        """The E step of the model, over the touched items."""
        counts: ExpectedCounts = self.model.e_step(data, params)
        return counts

    def m_step(self, counts: ExpectedCounts, params: Any) -> Any:
        """New parameters from the counts of all items."""
        return self.model.m_step(_add(self.held, counts), params)

    def objective(self, params: Any, counts: ExpectedCounts) -> float:
        """The model's objective, and what the votes held say about the parameters."""
        assert counts.tables is not None
        log_vote_cg, log_prior_g = counts.tables
        past = _times_log(vote_rows(self.held.votes_jgl), log_vote_cg) + _times_log(self.held.items_g, log_prior_g)
        return past + float(self.model.objective(params, counts))


def _update_counts(model: Any, state: State, new_votes: Votes) -> Fit:
    """Fit the items of new votes, with all their votes, old and new.

    When there are twice as many votes as at the last full fit, it is a full fit again: all full fits together then cost
    about twice the last of them, and most votes never depend on a fit to a few.
    """
    grown = _grow(state, new_votes)
    touched = _touch(grown, new_votes)
    before = _count(touched.earlier, grown.arrays["posterior"][touched.item_t])
    known = ExpectedCounts(grown.arrays["counts"][touched.worker_t], grown.arrays["class_counts"])
    held = _subtract(known, before)
    engine = in_memory(touched.votes)
    data = VoteData(touched.votes, engine, count_totals(engine))
    begin = model.m_step(_fill_unknown(known, share_counts(data)), None)
    with_past = WithPast(model, held, model.max_iter, model.tol, model.accelerate)
    solution: Solution[Any] = run_em(with_past, data, begin)
    posterior_tk = data.posterior(model.tables(solution.params))
    first_j = np.arange(len(new_votes.workers))
    if len(touched.log["item"]) < 2 * state.fitted:
        resume = partial(_state_after, model, state.fitted, grown, touched, held, posterior_tk)
        return _report(model, data, solution, posterior_tk, first_j, touched.new_t, resume)
    later = _state_after(model, state.fitted, grown, touched, held, posterior_tk)
    votes = _all_votes(later)
    data = prepare(votes, None, None)
    known = ExpectedCounts(later.arrays["counts"], later.arrays["class_counts"])
    starts = [model.m_step(counts, None) for counts in (share_counts(data), known)]
    solution = run_starts(model, data, starts)
    posterior_ik = data.posterior(model.tables(solution.params))
    resume = partial(first_state, model, votes, posterior_ik)
    return _report(model, data, solution, posterior_ik, grown.codes["worker"], grown.codes["item"], resume)


def _report(
    model: Any,
    data: VoteData,
    solution: Solution[Any],
    posterior_ik: FloatArray,
    worker_j: IntArray,
    item_i: IntArray,
    resume: Any,
) -> Fit:
    """The fit with a row for each worker and each item of the new votes."""
    of_new = type(solution.params)(solution.params[0][worker_j], *solution.params[1:])
    facts = {"posterior": posterior_ik[item_i], "resume": resume, **model.describe(of_new), **solution.steps}
    votes_i = data.votes.votes_i[item_i]
    return Fit(method=model.name, votes_i=votes_i, label_values=data.votes.labels, **facts)


def _count(votes: Votes, posterior_ik: FloatArray) -> ExpectedCounts:
    """The expected counts of votes whose items have these probabilities."""

    def step(block: Block) -> tuple[FloatArray, FloatArray]:
        return scatter(block, posterior_ik[block.items]), weighted_sum(block, posterior_ik[block.items])

    votes_cg, items_g = in_memory(votes).map_sum(step)
    return ExpectedCounts(by_worker(votes_cg, len(votes.labels)), items_g)


def _fill_unknown(known: ExpectedCounts, shares: ExpectedCounts) -> ExpectedCounts:
    """What is known, and for workers and classes without a past the counts under the vote shares, as a fit starts."""
    unknown_jg = known.votes_jgl.sum(axis=2) == 0
    votes_jgl = known.votes_jgl + unknown_jg[:, :, None] * shares.votes_jgl
    return ExpectedCounts(votes_jgl, known.items_g + (known.items_g == 0) * shares.items_g)


def _subtract(a: ExpectedCounts, b: ExpectedCounts) -> ExpectedCounts:
    return ExpectedCounts(np.maximum(a.votes_jgl - b.votes_jgl, 0.0), np.maximum(a.items_g - b.items_g, 0.0))


def _add(a: ExpectedCounts, b: ExpectedCounts) -> ExpectedCounts:
    return b._replace(votes_jgl=a.votes_jgl + b.votes_jgl, items_g=a.items_g + b.items_g)


def _times_log(count: FloatArray, log: FloatArray) -> float:
    """The sum of counts times logarithms, 0 where nothing is counted, even if the logarithm is -inf."""
    return float(np.where(count > 0, count * np.where(count > 0, log, 0.0), 0.0).sum())


def _state_after(
    model: Any, fitted: int, grown: Grown, touched: Touched, held: ExpectedCounts, posterior_tk: FloatArray
) -> State:
    """The state with what was learned about the touched items instead of what was known about them."""
    now = _add(held, _count(touched.votes, posterior_tk))
    arrays = {**grown.arrays, **touched.log, "class_counts": now.items_g}
    arrays["counts"] = grown.arrays["counts"].copy()
    arrays["counts"][touched.worker_t] = now.votes_jgl
    arrays["posterior"] = grown.arrays["posterior"].copy()
    arrays["posterior"][touched.item_t] = posterior_tk
    return _make_state(model, grown, arrays, fitted)


class Grown(NamedTuple):
    """A state with room for new names, and the code of each name of the new votes."""

    items: tuple[Any, ...]
    workers: tuple[Any, ...]
    labels: tuple[Any, ...]
    arrays: dict[str, NDArray[Any]]
    codes: dict[str, NDArray[np.int64]]


def _grow(state: State, votes: Votes) -> Grown:
    """Make room for the names of new votes."""
    items, item_a = add_names(state.items, votes.items)
    workers, worker_a = add_names(state.workers, votes.workers)
    labels, label_a = add_names(state.labels, votes.labels)
    sizes = {"i": len(items), "j": len(workers), "k": len(labels), "l": len(labels)}
    arrays = dict(state.arrays)
    for name in ("counts", "class_counts", "posterior"):
        wider = np.zeros([sizes[axis] for axis in STATE_ARRAYS["counts"][name]])
        wider[tuple(slice(0, size) for size in arrays[name].shape)] = arrays[name]
        arrays[name] = wider
    return Grown(items, workers, labels, arrays, {"item": item_a, "worker": worker_a, "label": label_a})


class Touched(NamedTuple):
    """The items that new votes touch, with the votes they had and those they have now; their workers are recoded."""

    item_t: Codes  # among all items
    worker_t: NDArray[np.int64]  # among all workers; those of the new votes come first
    earlier: Votes
    votes: Votes
    log: dict[str, Codes]  # item, worker and label of every vote that is remembered from now on
    new_t: Codes  # where each item of the new votes is among those touched


def _touch(grown: Grown, new: Votes) -> Touched:
    """The items of new votes with all their votes, before and now."""
    touched_i = np.zeros(len(grown.items), dtype=bool)
    touched_i[grown.codes["item"]] = True
    old = {name: grown.arrays[name] for name in VOTE_CODES}
    fresh = {name: grown.codes[name].astype(np.int32)[code_n] for name, code_n in _codes_of(new).items()}
    before_n = np.flatnonzero(touched_i[old["item"]])
    earlier = {name: code_n[before_n] for name, code_n in old.items()}
    stale_n, repeat_n = _find_repeats(grown, earlier, fresh, new.account.repeats)
    kept = {name: np.delete(code_n, before_n[stale_n]) if stale_n.any() else code_n for name, code_n in old.items()}
    log = {name: np.concatenate([code_n, fresh[name][~repeat_n]]) for name, code_n in kept.items()}
    item_t = np.flatnonzero(touched_i).astype(np.int32)
    now_n = np.flatnonzero(touched_i[log["item"]])
    worker_a = grown.codes["worker"]
    others_t = np.setdiff1d(np.concatenate([earlier["worker"], log["worker"][now_n]]), worker_a)
    worker_t = np.concatenate([worker_a, others_t]).astype(np.int64)
    local_i, local_j = np.zeros(len(grown.items), np.int32), np.zeros(len(grown.workers), np.int32)
    local_i[item_t], local_j[worker_t] = np.arange(len(item_t)), np.arange(len(worker_t))

    def votes_of(codes: dict[str, Codes]) -> Votes:
        return Votes.from_codes(
            local_i[codes["item"]],
            local_j[codes["worker"]],
            codes["label"],
            items=range(len(item_t)),
            workers=range(len(worker_t)),
            labels=grown.labels,
        )

    now = votes_of({name: code_n[now_n] for name, code_n in log.items()})
    return Touched(item_t, worker_t, votes_of(earlier), now, log, local_i[grown.codes["item"]])


def _find_repeats(
    grown: Grown, old: dict[str, Codes], fresh: dict[str, Codes], policy: str
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which of the earlier votes and which of the new ones do not count: a worker's second vote on an item."""
    stale_n, repeat_n = np.zeros(len(old["item"]), dtype=bool), np.zeros(len(fresh["item"]), dtype=bool)
    if policy == "each" or not len(old["item"]):
        return stale_n, repeat_n
    n_workers = np.int64(len(grown.workers))
    old_key, new_key = (codes["item"] * n_workers + codes["worker"] for codes in (old, fresh))
    order = np.argsort(old_key, kind="stable")
    place = np.minimum(np.searchsorted(old_key, new_key, sorter=order), len(old_key) - 1)
    earlier_n = order[place]
    again_n = old_key[earlier_n] == new_key
    differs_n = again_n & (old["label"][earlier_n] != fresh["label"])
    if policy == "error" and differs_n.any():
        n = int(np.argmax(differs_n))
        i, j, before, now = fresh["item"][n], fresh["worker"][n], old["label"][earlier_n[n]], fresh["label"][n]
        raise DataError(
            f"Worker {grown.workers[j]!r} labelled item {grown.items[i]!r} {grown.labels[before]!r} in an earlier "
            f"batch and {grown.labels[now]!r} now. Choose when reading with repeats='first'|'last'|'each'."
        )
    if policy == "last":
        stale_n[earlier_n[again_n]] = True
        return stale_n, repeat_n
    return stale_n, again_n
