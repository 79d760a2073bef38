"""States of online methods: what is kept between batches of votes, and how new votes go on from there."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from majorant.errors import ConfigError, DataError
from majorant.io import Reading, as_votes
from majorant.kernels import FloatArray
from majorant.merge import take_items
from majorant.votes import Votes

if TYPE_CHECKING:
    from majorant.estimate.fit import Fit

# The axes of every array that a state may hold; item, worker and label are the codes of the votes remembered.
AXES = {
    **dict.fromkeys(("right", "given"), "j"),
    "counts": "jkl",
    "class_counts": "k",
    "posterior": "ik",
    **dict.fromkeys(("item", "worker", "label"), "n"),
}
CODES = {"item": "i", "worker": "j", "label": "l"}
COUNTED = ("counts", "class_counts", "posterior", "item", "worker", "label")


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
    from majorant.estimate.incremental import refit

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
    from majorant.estimate import ESTIMATORS

    estimator = ESTIMATORS.get(method)
    if estimator is None or not estimator.online:
        names = ", ".join(name for name, one in ESTIMATORS.items() if one.online)
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
