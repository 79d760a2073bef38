"""Online methods: the state that is kept between batches of votes, how new votes go on from there, and its file.

For models of expected counts new votes are EM over the items they touch, all other items held as they were: the
expected counts of the items that are not touched enter the M step as imaginary votes, so an update is the maximum a
posteriori fit to the touched items under a Dirichlet prior that the past has taught.  In the words of Neal and Hinton
1998 it climbs their free energy F(q, parameters) over the parameters and over q of the touched items alone: F never
falls, and where no batch moves it any more, the full fit stands still too.

A file is a zip of one JSON text and the arrays, with a version and a checksum, and nothing that runs code.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.atomic import whole_file
from majorant.errors import ConfigError, DataError
from majorant.items import take_items
from majorant.kernels import Block, Engine, in_memory, scatter, weighted_sum
from majorant.methods.base import EmSettings, start_counts
from majorant.methods.em import Prepared, Progress, Solution, TableModel, prepare, run_em, run_starts, table_fit
from majorant.methods.fit import Estimator, Fit
from majorant.methods.tables import ExpectedCounts, Tables, count_totals, share_counts
from majorant.read import Reading, as_votes
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes

# The axes of every array that a state may hold; item, worker and label are the codes of the votes remembered.
AXES = {
    **dict.fromkeys(("right", "given"), "j"),
    "counts": "jkl",
    "class_counts": "k",
    "posterior": "ik",
    **dict.fromkeys(("item", "worker", "label"), "n"),
}
CODES = {"item": "i", "worker": "j", "label": "l"}
REMEMBERED = ("counts", "class_counts", "posterior", "item", "worker", "label")
GROWTH = 2  # as many times the votes of the last full fit, and the next is due
Codes = NDArray[np.int32]
_growing = Lock()
STATE_FORMAT = "majorant-state"
STATE_VERSION = 1
HEADER = "state.json"
NO_SEAL = b"sha256:" + b"0" * 64  # the archive's comment, before it is known
STAMP = (1980, 1, 1, 0, 0, 0)  # a fixed date: the same state is the same bytes


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class State:
    """What a method remembers: of the workers, and where it looks back at them of the items and their votes too."""

    method: str
    workers: tuple[Hashable, ...]  # the user's own values
    labels: tuple[Hashable, ...]
    arrays: Mapping[str, NDArray[Any]]  # by the names of AXES
    items: tuple[Hashable, ...] = ()
    settings: Mapping[str, float] = field(default_factory=dict)  # of the method, where they are not the default
    fitted: int = 0  # votes at the last full fit
    place: dict[Hashable, int] | None = field(default=None, repr=False)  # of each item; see `joined_items`

    def __post_init__(self) -> None:
        sizes = {"i": len(self.items), "j": len(self.workers), "k": len(self.labels), "l": len(self.labels)}
        sizes["n"] = len(self.arrays.get("item", ()))
        needed = online_method(self.method, {}).remembers
        if set(self.arrays) != set(needed):
            held = ", ".join(self.arrays) or "nothing"
            raise DataError(f"state: {self.method} keeps {', '.join(needed)}, not {held}.")
        arrays = {name: _checked(name, values, sizes) for name, values in self.arrays.items()}
        object.__setattr__(self, "arrays", MappingProxyType(arrays))
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))


def update(state: State, new_votes: Any, **reading: Unpack[Reading]) -> Fit:
    """The labels of the items of new votes, and through `.state()` the state after them; `state` stays as it is.

    `new_votes` is whatever `mj.read` takes (a file, a frame, a dict, a list) with the same arguments, such as `item=`.
    Items, workers and labels are matched by their own values and may be new.  Dawid-Skene, one-coin and iBCC remember
    the votes, so an item that comes back is judged by all its votes; a repeated vote is treated as the reading of the
    new votes says (`repeats`).  LA does not remember items: one that comes back is judged by its new votes alone.

    >>> import majorant as mj
    >>> fit = mj.aggregate([("a", "u", "yes"), ("a", "v", "yes"), ("b", "u", "no"), ("b", "v", "no")], "dawid-skene")
    >>> update(fit.state(), [("c", "u", "no"), ("c", "v", "no")]).to_dict()["label"]
    ['no']
    """
    votes = as_votes(new_votes, **reading)
    answer: Fit = online_method(state.method, state.settings).fit(votes, state=state)
    return replace(answer, names=votes.names)


def fit_online(votes: Votes, method: str, state: State | None) -> Fit:
    """The first fit of an online method, or the update of a state that is there."""
    model = online_method(method, {})
    if state is None:
        first: Fit = model.fit(votes)
        return first
    if state.method != method:
        raise ConfigError(f"state: belongs to {state.method}, not to {method}. Say method='{state.method}'.")
    return update(state, votes)


def kept(state: State, posterior_ik: FloatArray) -> State:  # noqa: ARG001
    """The state of a method whose probabilities are no part of it."""
    return state


def polish(state: State) -> Fit:
    """A full fit to all votes that the state remembers: labels for every item so far.

    It climbs twice, as a fit to all votes at once does and from where the state stands, and the higher end counts.

    >>> import majorant as mj
    >>> fit = mj.aggregate([("a", "u", "yes"), ("a", "v", "yes"), ("b", "u", "no"), ("b", "v", "no")], "dawid-skene")
    >>> later = update(fit.state(), [("c", "u", "no"), ("c", "v", "no")])
    >>> polish(later.state()).to_dict()["item"]
    ['a', 'b', 'c']
    """
    model = online_method(state.method, state.settings)
    if "posterior" not in state.arrays:
        raise ConfigError(f"polish: {state.method} does not remember items, so it cannot look back at them.")
    return refit(model, state)


def remembered_votes(state: State) -> Votes:
    """All votes that a state remembers."""
    codes = (state.arrays[name] for name in ("item", "worker", "label"))
    return Votes.from_codes(*codes, items=state.items, workers=state.workers, labels=state.labels)


def votes_of_items(state: State, items: tuple[Hashable, ...]) -> Votes:
    """All votes that a state remembers of some items, in the order of these."""
    place = {name: code for code, name in enumerate(state.items)}
    return take_items(remembered_votes(state), np.array([place[name] for name in items], dtype=np.int64))


def online_method(method: str, settings: Mapping[str, float]) -> Any:
    """The estimator of that name with these settings, refused where it is not online."""
    from majorant.methods import ESTIMATORS

    estimator = ESTIMATORS.get(method)
    if estimator is None or not estimator.online:
        names = ", ".join(name for name, known in ESTIMATORS.items() if known.online)
        raise ConfigError(f"state: {method!r} is not an online method. Online are: {names}.")
    try:
        return estimator(**settings)
    except TypeError:
        raise DataError(f"state: {method} has no settings {', '.join(settings)}.") from None


def joined(known: tuple[Hashable, ...], new: tuple[Hashable, ...]) -> tuple[tuple[Hashable, ...], NDArray[np.int64]]:
    """All names, those known first, and the place of each of the new ones among them."""
    place = {name: code for code, name in enumerate(known)}
    code = [place.setdefault(name, len(place)) for name in new]
    return tuple(place), np.array(code, dtype=np.int64)


def _checked(name: str, values: Any, sizes: Mapping[str, int]) -> NDArray[Any]:
    """A read-only view of an array of a state, refused where its shape or its numbers cannot be."""
    array = np.ascontiguousarray(values, dtype=np.int32 if name in CODES else float).view()
    shape = tuple(sizes[axis] for axis in AXES[name])
    if array.shape != shape:
        raise DataError(f"state: {name} must have shape {shape}, not {array.shape}.")
    top = sizes[CODES[name]] if name in CODES else np.inf
    if array.size and not (array.min() >= 0 and array.max() < top):
        raise DataError(f"state: {name} holds numbers that cannot be there, {array.min()} to {array.max()}.")
    array.flags.writeable = False
    return array


@dataclass(frozen=True, kw_only=True)
class OnlineModel(EmSettings, Estimator):
    """A table model whose M step needs the counts alone, so that a fit can go on when new votes come."""

    online: ClassVar[bool] = True
    remembers: ClassVar[tuple[str, ...]] = REMEMBERED

    def fit(
        self,
        votes: Votes,
        *,
        weights: ArrayLike | None = None,
        start: Fit | None = None,
        state: State | None = None,
        engine: Engine | None = None,
        progress: Progress | None = None,
    ) -> Fit:
        """The answer for these votes; `start` continues from a fit, `state` from earlier votes.

        A fit to plain votes in memory has a state of its own.
        """
        if state is not None:
            return go_on(self, state, votes, progress)
        prepared = self.prepare(votes, engine, weights)
        solution = run_em(self, prepared, self.begin(votes, prepared, start), progress)
        plain = engine is None and weights is None and not self.clamp_gold
        online = partial(count_state, self, votes) if plain else None
        return table_fit(self, votes, prepared, solution, online=online, **self.learned(solution.params))

    def begin(self, votes: Votes, prepared: Prepared, start: Fit | None) -> Any:
        """The parameters to climb from: those that the counts under an earlier fit, or under the vote shares, give."""
        return self.m_step(start_counts(start, votes, prepared), None)

    @abstractmethod
    def tables(self, params: Any) -> Tables:
        """The tables of the E step."""

    @abstractmethod
    def m_step(self, counts: ExpectedCounts, params: Any) -> Any:
        """New parameters from expected counts."""

    @abstractmethod
    def log_prior(self, params: Any, tables: Tables) -> float:
        """What the objective adds to the evidence."""

    @abstractmethod
    def learned(self, params: Any) -> dict[str, Any]:
        """What a Fit says of the parameters."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """A model for the touched items alone: the expected counts of all others, `held`, count as imaginary votes."""

    model: OnlineModel
    held: ExpectedCounts
    max_iter: int
    tol: float
    accelerate: bool

    def tables(self, params: Any) -> Tables:
        """Those of the model."""
        return self.model.tables(params)

    def m_step(self, counts: ExpectedCounts, params: Any) -> Any:
        """New parameters from the counts of all items."""
        return self.model.m_step(_added(self.held, counts), params)

    def log_prior(self, params: Any, tables: Tables) -> float:
        """What the votes held say of the parameters, and the model's own prior."""
        votes_cg = self.held.votes_jgl.transpose(0, 2, 1).reshape(tables.log_vote_cg.shape)
        past = _times_log(votes_cg, tables.log_vote_cg) + _times_log(self.held.items_g, tables.log_prior_g)
        return past + self.model.log_prior(params, tables)


def count_state(model: OnlineModel, votes: Votes, posterior_ik: FloatArray) -> State:
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
    return _state(model, votes, arrays, votes.n_votes)


def _state(
    model: OnlineModel, names: Votes | Grown, arrays: dict[str, NDArray[Any]], fitted: int, **place: Any
) -> State:
    usual = asdict(type(model)())
    settings = {name: value for name, value in asdict(model).items() if value != usual[name]}
    of_whom: dict[str, Any] = {"items": names.items, "workers": names.workers, "labels": names.labels}
    return State(method=model.name, arrays=arrays, settings=settings, fitted=fitted, **of_whom, **place)


def refit(model: OnlineModel, state: State) -> Fit:
    """A full fit to all votes that are remembered."""
    votes = remembered_votes(state)
    prepared, solution = _climb_all(model, votes, state)
    online = partial(count_state, model, votes)
    return table_fit(model, votes, prepared, solution, online=online, **model.learned(solution.params))


def go_on(model: OnlineModel, state: State, new_votes: Votes, progress: Progress | None = None) -> Fit:
    """The fit to the items of new votes, with all their votes, old and new.

    When the votes are twice as many as at the last full fit, it is a full fit again: all full fits together then cost
    about twice the last of them, and never do most votes depend on a fit to a few.
    """
    if state.method != model.name:
        raise ConfigError(f"state: belongs to {state.method}, not to {model.name}.")
    grown = grow(state, new_votes)
    touched = touch(grown, new_votes)
    before = _posterior_counts(touched.earlier, grown.arrays["posterior"][touched.item_t])
    known = ExpectedCounts(grown.arrays["counts"][touched.worker_t], grown.arrays["class_counts"], 0.0)
    held = _taken_out(known, before)
    engine = in_memory(touched.votes)
    prepared = Prepared(engine, count_totals(engine), None)
    begin = model.m_step(_where_unknown(known, share_counts(engine, prepared.totals)), None)
    resumed: TableModel[Any] = Resumed(model, held, model.max_iter, model.tol, model.accelerate)
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


class Update(NamedTuple):
    """A fit to the items of the new votes, in their order, and the probabilities of all items of the pass."""

    fit: Fit
    posterior_ik: FloatArray


def _for_new(
    model: OnlineModel,
    votes: Votes,
    prepared: Prepared,
    solution: Solution[Any],
    *,
    worker_j: IntArray,
    item_i: IntArray,
) -> Update:
    """The fit with a row for each worker and each item of the new votes."""
    of_new = type(solution.params)(solution.params[0][worker_j], *solution.params[1:])
    fit = table_fit(model, votes, prepared, solution, **model.learned(of_new))
    some = replace(fit, posterior=fit.posterior[item_i], votes_i=fit.votes_i[item_i], names=None)
    return Update(some, fit.posterior)


def _climb_all(model: OnlineModel, votes: Votes, state: State) -> tuple[Prepared, Solution[Any]]:
    """All votes fitted from their shares, as always, and from the state; the one that ends higher, or the first."""
    prepared = prepare(votes, None, None, clamp_gold=False)
    known = ExpectedCounts(state.arrays["counts"], state.arrays["class_counts"], 0.0)
    starts = (share_counts(prepared.engine, prepared.totals), known)
    return prepared, run_starts(model, prepared, [model.m_step(counts, None) for counts in starts])


def _posterior_counts(votes: Votes, posterior_ik: FloatArray) -> ExpectedCounts:
    """The expected counts of votes whose items have these probabilities."""

    def step(block: Block) -> tuple[FloatArray, FloatArray]:
        return scatter(block, posterior_ik[block.items]), weighted_sum(block, posterior_ik[block.items])

    _, n_workers, n_labels = votes.shape
    votes_cg, items_g = in_memory(votes).map_sum(step)
    return ExpectedCounts(votes_cg.reshape(n_workers, n_labels, -1).transpose(0, 2, 1), items_g, 0.0)


def _where_unknown(known: ExpectedCounts, shares: ExpectedCounts) -> ExpectedCounts:
    """What is known, and for workers and classes without a past what the shares of the votes say, as a fit begins."""
    unknown_jg = known.votes_jgl.sum(axis=2) == 0
    votes_jgl = known.votes_jgl + unknown_jg[:, :, None] * shares.votes_jgl
    return ExpectedCounts(votes_jgl, known.items_g + (known.items_g == 0) * shares.items_g, 0.0)


def _taken_out(a: ExpectedCounts, b: ExpectedCounts) -> ExpectedCounts:
    return ExpectedCounts(np.maximum(a.votes_jgl - b.votes_jgl, 0.0), np.maximum(a.items_g - b.items_g, 0.0), 0.0)


def _added(a: ExpectedCounts, b: ExpectedCounts) -> ExpectedCounts:
    return ExpectedCounts(a.votes_jgl + b.votes_jgl, a.items_g + b.items_g, b.evidence)


def _times_log(count: FloatArray, log: FloatArray) -> float:
    """The sum of counts times logarithms, where nothing is counted 0 even if the logarithm is -inf."""
    return float(np.where(count > 0, count * np.where(count > 0, log, 0.0), 0.0).sum())


def _state_after(
    model: OnlineModel, fitted: int, grown: Grown, touched: Touched, held: ExpectedCounts, posterior_tk: FloatArray
) -> State:
    """The state with what was learned of the touched items in place of what was known of them."""
    now = _added(held, _posterior_counts(touched.votes, posterior_tk))
    arrays = {**grown.arrays, **dict(zip(("item", "worker", "label"), touched.log, strict=True))}
    arrays["class_counts"] = now.items_g
    arrays["counts"] = grown.arrays["counts"].copy()
    arrays["counts"][touched.worker_t] = now.votes_jgl
    arrays["posterior"] = grown.arrays["posterior"].copy()
    arrays["posterior"][touched.item_t] = posterior_tk
    return _state(model, grown, arrays, fitted, place=grown.place)


class Touched(NamedTuple):
    """The items that new votes touch: with the votes they had, and with those they have now, workers coded anew."""

    item_t: Codes  # among all items
    worker_t: NDArray[np.int64]  # among all workers; those of the new votes come first
    earlier: Votes
    votes: Votes
    log: list[Codes]  # item, worker and label of every vote remembered from now on
    new_t: Codes  # where each item of the new votes stands among those touched


class Grown(NamedTuple):
    """A state with room for new names, and the code of each name of the new votes."""

    items: tuple[Any, ...]
    workers: tuple[Any, ...]
    labels: tuple[Any, ...]
    arrays: dict[str, NDArray[Any]]
    codes: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
    place: dict[Any, int]


def joined_items(
    state: State, new: tuple[Hashable, ...]
) -> tuple[tuple[Hashable, ...], NDArray[np.int64], dict[Hashable, int]]:
    """All items, the code of each of the new ones, and the dictionary of codes for the next state.

    Finding items would cost most of an update, so the states of one stream share a dictionary that only grows.  Who
    goes on from an earlier state of a stream, whose dictionary has grown beyond it, gets one of his own.
    """
    with _growing:
        place = state.place
        if place is None or len(place) != len(state.items):
            place = {name: code for code, name in enumerate(state.items)}
        code_a = np.array([place.setdefault(name, len(place)) for name in new], dtype=np.int64)
        return (*state.items, *islice(place, len(state.items), None)), code_a, place


def grow(state: State, votes: Votes) -> Grown:
    """The state with room for the names of new votes."""
    items, item_a, place = joined_items(state, votes.items)
    workers, worker_a = joined(state.workers, votes.workers)
    labels, label_a = joined(state.labels, votes.labels)
    sizes = {"i": len(items), "j": len(workers), "k": len(labels), "l": len(labels)}
    arrays = {name: state.arrays[name] for name in REMEMBERED}
    for name, axes in (("counts", "jkl"), ("class_counts", "k"), ("posterior", "ik")):
        wider = np.zeros([sizes[axis] for axis in axes])
        wider[tuple(slice(0, size) for size in arrays[name].shape)] = arrays[name]
        arrays[name] = wider
    return Grown(items, workers, labels, arrays, (item_a, worker_a, label_a), place)


def touch(grown: Grown, new: Votes) -> Touched:
    """The items of new votes with all their votes, before and now."""
    item_a, worker_a, label_a = grown.codes
    touched_i = np.zeros(len(grown.items), dtype=bool)
    touched_i[item_a] = True
    old = [grown.arrays[name] for name in ("item", "worker", "label")]
    known_new = ((item_a, new.item_n), (worker_a, new.worker_n), (label_a, new.label_n))
    fresh = [code_a.astype(np.int32)[code_n] for code_a, code_n in known_new]
    before_n = np.flatnonzero(touched_i[old[0]])
    stale_n, repeat_n = _repeats(grown, [code[before_n] for code in old], fresh, new.account.repeats)
    kept = [np.delete(a, before_n[stale_n]) if stale_n.any() else a for a in old]
    log = [np.concatenate([a, b[~repeat_n]]) for a, b in zip(kept, fresh, strict=True)]
    item_t = np.flatnonzero(touched_i).astype(np.int32)
    now_n = np.flatnonzero(touched_i[log[0]])
    others_t = np.setdiff1d(np.concatenate([old[1][before_n], log[1][now_n]]), worker_a)
    worker_t = np.concatenate([worker_a, others_t]).astype(np.int64)
    local_i, local_j = np.zeros(len(grown.items), np.int32), np.zeros(len(grown.workers), np.int32)
    local_i[item_t], local_j[worker_t] = np.arange(len(item_t)), np.arange(len(worker_t))
    names = {"items": range(len(item_t)), "workers": range(len(worker_t)), "labels": grown.labels}

    def votes_of(item_n: Codes, worker_n: Codes, label_n: Codes) -> Votes:
        return Votes.from_codes(local_i[item_n], local_j[worker_n], label_n, **names)  # type: ignore[arg-type]

    earlier, now = votes_of(*(code[before_n] for code in old)), votes_of(*(code[now_n] for code in log))
    return Touched(item_t, worker_t, earlier, now, log, local_i[item_a])


def _repeats(
    grown: Grown, old: list[Codes], fresh: list[Codes], policy: str
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which of the votes before, and which of the new ones, do not count: a worker's second vote on an item."""
    stale_n, repeat_n = np.zeros(len(old[0]), dtype=bool), np.zeros(len(fresh[0]), dtype=bool)
    if policy == "each" or not len(old[0]):
        return stale_n, repeat_n
    n_workers = np.int64(len(grown.workers))
    old_key, new_key = (item_n * n_workers + worker_n for item_n, worker_n, _ in (old, fresh))
    order = np.argsort(old_key, kind="stable")
    place = np.minimum(np.searchsorted(old_key, new_key, sorter=order), len(old_key) - 1)
    earlier_n = order[place]
    again_n = old_key[earlier_n] == new_key
    differs_n = again_n & (old[2][earlier_n] != fresh[2])
    if policy == "error" and differs_n.any():
        n = int(np.argmax(differs_n))
        i, j, before, now = fresh[0][n], fresh[1][n], old[2][earlier_n[n]], fresh[2][n]
        raise DataError(
            f"Worker {grown.workers[j]!r} labelled item {grown.items[i]!r} {grown.labels[before]!r} in an earlier "
            f"batch and {grown.labels[now]!r} now. Choose when reading with repeats='first'|'last'|'each'."
        )
    if policy == "last":
        stale_n[earlier_n[again_n]] = True
        return stale_n, repeat_n
    return stale_n, again_n


def save_state(state: State, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a state, whole or not at all; names may be text, numbers, truth values, None, and tuples of these.

    A file that majorant did not write, or that was changed since, is replaced only with `overwrite`.

    >>> import majorant as mj, tempfile
    >>> fit = mj.aggregate([("a", "u", "yes"), ("a", "v", "yes"), ("b", "u", "no"), ("b", "v", "no")], "dawid-skene")
    >>> path = Path(tempfile.mkdtemp()) / "state.bin"
    >>> save_state(fit.state(), path)
    >>> load_state(path).method
    'dawid-skene'
    """
    content = state_bytes(state)
    with whole_file(path, overwrite=overwrite) as part:
        part.write_bytes(content)


def state_bytes(state: State) -> bytes:
    """A state as the content of a file.

    >>> state = State(method="la-one-pass", workers=("w",), labels=("n", "y"), arrays={"right": [1.0], "given": [2.0]})
    >>> state_of(state_bytes(state), "here").arrays["given"].tolist()
    [2.0]
    """
    members = {f"{name}.npy": _array_bytes(array) for name, array in sorted(state.arrays.items())}
    facts = {
        "method": state.method,
        "settings": dict(state.settings),
        "fitted": state.fitted,
        "items": [_encode(value) for value in state.items],
        "workers": [_encode(value) for value in state.workers],
        "labels": [_encode(value) for value in state.labels],
    }
    header = {"format": STATE_FORMAT, "version": STATE_VERSION, "sha256": _digest(facts, members), **facts}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.comment = NO_SEAL
        for name, content in {HEADER: json.dumps(header).encode(), **members}.items():
            archive.writestr(zipfile.ZipInfo(name, STAMP), content)
    body = file.getvalue()
    return body[: -len(NO_SEAL)] + _seal(body)


def load_state(path: str | Path) -> State:
    """Read a state that `save_state` wrote; a file that is foreign, cut off, altered or newer is refused.

    >>> load_state("nowhere.bin")
    Traceback (most recent call last):
    ...
    majorant.errors.DataError: nowhere.bin: cannot be read (No such file or directory). Check the name.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}). Check the name.") from None
    return state_of(content, str(path))


def state_of(content: bytes, source: str) -> State:
    """The state that a file's content holds; `source` names it in errors."""
    header, members = _members(content, source)
    if header.get("version") != STATE_VERSION:
        raise DataError(
            f"{source}: state version {header.get('version')}, this majorant reads version {STATE_VERSION}."
        )
    facts = {name: header.get(name) for name in ("method", "settings", "fitted", "items", "workers", "labels")}
    missing = [name for name, value in facts.items() if value is None]
    if missing:
        raise DataError(f"{source}: the state lacks {', '.join(missing)}.")
    if header.get("sha256") != _digest(facts, members) or content[-len(NO_SEAL) :] != _seal(content):
        raise _damaged(source)
    try:
        return State(
            method=header["method"],
            settings=header["settings"],
            fitted=header["fitted"],
            items=tuple(_decode(value) for value in header["items"]),
            workers=tuple(_decode(value) for value in header["workers"]),
            labels=tuple(_decode(value) for value in header["labels"]),
            arrays={name.removesuffix(".npy"): _array(content) for name, content in members.items()},
        )
    except DataError as error:
        raise DataError(f"{source}: {error}") from None


def _members(content: bytes, source: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The header and the arrays of a file, as bytes."""
    if not content.startswith(b"PK"):
        raise _foreign(source)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in sorted(archive.namelist())}
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RuntimeError, OSError):
        raise _damaged(source) from None
    except Exception as error:  # zlib.error is all that is left
        raise _damaged(source) from error
    try:
        header = json.loads(members.pop(HEADER))
    except (KeyError, ValueError):
        raise _foreign(source) from None
    if not isinstance(header, dict) or header.get("format") != STATE_FORMAT:
        raise _foreign(source)
    return header, members


def _seal(content: bytes) -> bytes:
    """The digest of all but the seal at the end of a file: no bit can change unnoticed, the archive's own included."""
    return b"sha256:" + hashlib.sha256(content[: -len(NO_SEAL)]).hexdigest().encode()


def _digest(facts: dict[str, Any], members: dict[str, bytes]) -> str:
    digest = hashlib.sha256(json.dumps([facts[name] for name in sorted(facts)]).encode())
    for name in sorted(members):
        digest.update(f"{name} {len(members[name])} ".encode())
        digest.update(members[name])
    return digest.hexdigest()


def _array_bytes(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _array(content: bytes) -> NDArray[Any]:
    try:
        return np.asarray(np.load(io.BytesIO(content), allow_pickle=False))
    except (ValueError, EOFError):
        raise DataError("the state holds an array that cannot be read.") from None


def _foreign(source: str) -> DataError:
    return DataError(f"{source}: not a state file; save_state and `majorant aggregate` write them.")


def _damaged(source: str) -> DataError:
    return DataError(
        f"{source}: the state file is cut off or was altered. Take a copy of it, or start anew without it."
    )


def _encode(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple):
        return [_encode(part) for part in value]  # names are hashable: a list can only have been a tuple
    if value is None or isinstance(value, str | int | float):
        return value
    raise ConfigError(f"state: the name {value!r} is a {type(value).__name__}, which cannot be saved as JSON.")


def _decode(value: Any) -> Any:
    return tuple(_decode(part) for part in value) if isinstance(value, list) else value
