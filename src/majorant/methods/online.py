"""Votes that arrive in batches: the state kept between batches, and how a method continues from it.

Dawid-Skene, one-coin and iBCC remember the votes and are fitted again to all of them, so the labels do not depend on
how the votes were divided into batches. LA remembers two numbers per worker.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from majorant.errors import ConfigError, DataError
from majorant.items import take_items
from majorant.methods.fit import Fit
from majorant.read import Reading, as_votes
from majorant.votes import Votes

CODE_AXES = {"item": "i", "worker": "j", "label": "l"}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class State:
    """What an online method remembers about the votes so far.

    Attributes
    ----------
    method : str
        Name of the method.
    items, workers, labels : tuple
        Your own names of all that have appeared so far; items only if the method remembers them.
    arrays : mapping of str to ndarray
        What the method has learned, or the votes.
    settings : mapping of str to float
        Settings of the method that differ from the default.
    """

    method: str
    workers: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    arrays: Mapping[str, NDArray[Any]]
    items: tuple[Hashable, ...] = ()
    settings: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n_votes = len(self.arrays.get("item", ()))
        sizes = {"i": len(self.items), "j": len(self.workers), "l": len(self.labels), "n": n_votes}
        arrays_of = {  # the arrays that a state holds, with their axes; item, worker and label are codes
            "votes": {"item": "n", "worker": "n", "label": "n"},
            "accuracies": {"right": "j", "given": "j"},
        }
        needed = arrays_of[online_method(self.method, {}).traits.online]
        if set(self.arrays) != set(needed):
            held = ", ".join(self.arrays) or "nothing"
            raise DataError(f"state: {self.method} needs {', '.join(needed)}, not {held}.")
        arrays = {name: _check_array(name, self.arrays[name], axes, sizes) for name, axes in needed.items()}
        object.__setattr__(self, "arrays", MappingProxyType(arrays))
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))


def _check_array(name: str, values: Any, axes: str, sizes: Mapping[str, int]) -> NDArray[Any]:
    """Return a read-only view of an array; refuse one with a wrong shape or impossible numbers."""
    array = np.ascontiguousarray(values, dtype=np.int32 if name in CODE_AXES else float).view()
    shape = tuple(sizes[axis] for axis in axes)
    if array.shape != shape:
        raise DataError(f"state: {name} must have shape {shape}, not {array.shape}.")
    top = sizes[CODE_AXES[name]] if name in CODE_AXES else np.inf
    if array.size and not (array.min() >= 0 and array.max() < top):
        raise DataError(f"state: {name} holds impossible numbers, {array.min()} to {array.max()}.")
    array.flags.writeable = False
    return array


def update(state: State, new_votes: Any, **reading: Unpack[Reading]) -> Fit:
    """Label the items in new votes, using all votes so far.

    Items, workers and labels are matched by name and may be new. Dawid-Skene, one-coin and iBCC remember the votes and
    are fitted to all of them; `repeats` says how to treat repeated votes. LA does not remember items: one that appears
    again is labelled by its new votes alone.

    Parameters
    ----------
    state : State
        From `fit.state()` or `load_state`. It is not changed.
    new_votes
        Anything that `read` accepts: a file, a frame, a dict, a list.
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
        fit = _fit_all_votes(model, state, votes)
    return replace(fit, names=votes.names)


def fit_or_update(votes: Votes, method: str, state: State | None) -> Fit:
    """Fit an online method for the first time or, given a state, update it."""
    model = online_method(method, {})
    if state is None:
        first: Fit = model.fit(votes)
        return first
    if state.method != method:
        raise ConfigError(f"the state belongs to {state.method}, not to {method}. Pass method='{state.method}'.")
    return update(state, votes)


def online_method(method: str, settings: Mapping[str, float]) -> Any:
    """Return the method with that name and these settings; raise an error if it is not online."""
    from majorant.methods import ESTIMATORS

    estimator = ESTIMATORS.get(method)
    if estimator is None or not estimator.traits.online:
        names = ", ".join(name for name, known in ESTIMATORS.items() if known.traits.online)
        raise ConfigError(f"state: {method!r} is not an online method. Choose one of: {names}.")
    try:
        return estimator(**settings)
    except TypeError:
        raise DataError(f"state: {method} has no settings {', '.join(settings)}.") from None


def first_state(model: Any, votes: Votes) -> State:
    """Make the state of a method that was fitted to these votes."""
    defaults = asdict(type(model)())
    return State(
        method=model.name,
        items=votes.items,
        workers=votes.workers,
        labels=votes.labels,
        arrays={"item": votes.item_n, "worker": votes.worker_n, "label": votes.label_n},
        settings={name: value for name, value in asdict(model).items() if value != defaults[name]},
    )


def votes_of_items(state: State, items: tuple[Hashable, ...]) -> Votes:
    """Return all remembered votes on some items, in the order of these items."""
    place = {name: code for code, name in enumerate(state.items)}
    codes = (state.arrays[name] for name in CODE_AXES)
    votes = Votes.from_codes(*codes, items=state.items, workers=state.workers, labels=state.labels)
    return take_items(votes, np.array([place[name] for name in items], dtype=np.int64))


def add_names(known: tuple[Hashable, ...], new: tuple[Hashable, ...]) -> tuple[tuple[Hashable, ...], NDArray[np.int64]]:
    """Return all names, the known ones first, and the codes of the names in `new`."""
    place = {name: code for code, name in enumerate(known)}
    code = [place.setdefault(name, len(place)) for name in new]
    return tuple(place), np.array(code, dtype=np.int64)


def _fit_all_votes(model: Any, state: State, new: Votes) -> Fit:
    """Fit the model to the remembered and the new votes; return the rows of the items with new votes."""
    items, item_a = add_names(state.items, new.items)
    workers, worker_a = add_names(state.workers, new.workers)
    labels, label_a = add_names(state.labels, new.labels)
    codes_n = _join_votes(
        [state.arrays[name] for name in CODE_AXES],
        [item_a[new.item_n], worker_a[new.worker_n], label_a[new.label_n]],
        (items, workers, labels),
        new.account.repeats,
    )
    votes = Votes.from_codes(*codes_n, items=items, workers=workers, labels=labels)
    fit: Fit = model.fit(votes)
    return replace(
        fit,
        posterior=fit.posterior[item_a],
        votes_i=fit.votes_i[item_a],
        confusion=None if fit.confusion is None else fit.confusion[worker_a],
        skill=None if fit.skill is None else fit.skill[worker_a],
        learned={},
    )


def _join_votes(
    old: list[NDArray[Any]], new: list[NDArray[Any]], names: tuple[tuple[Hashable, ...], ...], repeats: str
) -> list[NDArray[Any]]:
    """Append new votes (codes of item, worker and label) to old ones, treating repeated votes as `repeats` says."""
    stale_n, repeat_n = np.zeros(len(old[0]), dtype=bool), np.zeros(len(new[0]), dtype=bool)
    if repeats != "each" and len(old[0]):
        items, workers, labels = names
        old_key, new_key = (item_n.astype(np.int64) * len(workers) + worker_n for item_n, worker_n, _ in (old, new))
        order = np.argsort(old_key, kind="stable")
        earlier_n = order[np.minimum(np.searchsorted(old_key, new_key, sorter=order), len(old_key) - 1)]
        again_n = old_key[earlier_n] == new_key
        differs_n = again_n & (old[2][earlier_n] != new[2])
        if repeats == "error" and differs_n.any():
            n = int(np.argmax(differs_n))
            raise DataError(
                f"Worker {workers[new[1][n]]!r} labelled item {items[new[0][n]]!r} {labels[old[2][earlier_n[n]]]!r} in "
                f"an earlier batch and {labels[new[2][n]]!r} now. Choose when reading with "
                "repeats='first'|'last'|'each'."
            )
        if repeats == "last":
            stale_n[earlier_n[again_n]] = True
        else:
            repeat_n = again_n
    return [np.concatenate([a[~stale_n], b[~repeat_n]]) for a, b in zip(old, new, strict=True)]
