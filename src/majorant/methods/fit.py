"""Fit: what every estimator returns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from majorant.errors import ConfigError
from majorant.kernels import row_maxima, shares
from majorant.read import as_votes
from majorant.tabular import Named, Names, Tabular, some_names
from majorant.values import FloatArray, as_generator, lock
from majorant.votes import IntArray, Votes, names_of

if TYPE_CHECKING:
    from majorant.methods.online import State

Ties = Literal["flag", "first", "random", "prior"]
TIE_TOLERANCE = 1e-9  # probabilities closer than this are equal: sums in another order differ by far less
NO_LABEL = -1
MOST_PROBABILITIES = 50  # classes that get a column each in a table
LEADER_ENTRIES = 1 << 17  # rows are looked at in blocks that stay in the cache


class Estimator(Protocol):
    """Settings with one method; class attributes say what is unusual about it, and the contract tests rely on them."""

    name: ClassVar[str]
    order_free: ClassVar[bool] = True  # the order of the votes does not matter
    monotone: ClassVar[bool] = False  # trace is an objective that never falls
    classes: ClassVar[int | None] = None  # 2: two classes only; None: any number
    distributed: ClassVar[bool] = False  # runs on blocks that live elsewhere: fit takes engine
    iterative: ClassVar[bool] = False  # fit takes start, an earlier Fit to go on from, and progress, a callback
    online: ClassVar[bool] = False  # fit takes state: earlier votes to go on from
    remembers: ClassVar[tuple[str, ...]] = ()  # the arrays of that state
    vote_shares: ClassVar[bool] = False  # posterior holds shares of weighted votes, which are no probabilities
    weight_above_chance: ClassVar[bool] = False  # a vote weighs K skill - 1, not skill
    tables_per_worker: ClassVar[int] = 0  # K x K tables that are learned for each worker, which may be too many
    keeps_items: ClassVar[str] = ""  # what it keeps of every item in one place, so that it does not run on a cluster
    needs: ClassVar[str] = ""  # what votes alone do not give: "gold", "confusion"; or "overlap" of workers on items

    @property
    def fit(self) -> Callable[..., Fit]:
        """fit(votes, *, weights=None, ...): the answer for these votes, where item i counts weights[i] times.

        Votes may be whatever `mj.read` takes.
        """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        fit = vars(cls).get("fit")
        if isinstance(fit, FunctionType):
            cls.fit = _reading(fit)  # type: ignore[method-assign]


def _reading(fit: FunctionType) -> Any:
    """The method `fit` for anything that can be read; votes that an engine passes through lie elsewhere."""

    @wraps(fit)
    def fit_read(self: Any, votes: Any, **how: Any) -> Any:
        return fit(self, votes if how.get("engine") is not None else as_votes(votes), **how)

    return fit_read


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Fit(Tabular):
    """Probabilities of each class for each item, and what was learned on the way.

    An item without votes has no label, whatever its row of `posterior` says.

    >>> import majorant as mj
    >>> fit = mj.aggregate([("a", "u", "yes"), ("a", "v", "yes"), ("b", "u", "no")], "majority")
    >>> fit.labels(), fit.posterior.tolist()
    (['yes', 'no'], [[0.0, 1.0], [1.0, 0.0]])
    """

    method: str
    posterior: FloatArray  # (items, classes), rows sum to 1
    prior: FloatArray  # (classes,)
    votes_i: IntArray  # how many votes stand behind each row
    label_values: tuple[Hashable, ...]  # the user's own value of each class
    confusion: FloatArray | None = None  # (workers, classes, labels), or (classes, labels) shared by all
    skill: FloatArray | None = None  # (workers,)
    learned: Mapping[str, FloatArray] = field(default_factory=dict)  # what this method alone learns, by name
    trace: tuple[float, ...] = ()  # the objective after each step
    converged: bool = True
    n_iter: int = 0
    names: Names | None = None  # of the items and workers; None where the rows are a part of what was fitted
    online: Callable[[FloatArray], State] | None = None  # from the posterior: what goes on when new votes come

    def __post_init__(self) -> None:
        lock(self)

    @property
    def tied_i(self) -> NDArray[np.bool_]:
        """Whether several classes share an item's highest probability; False for items without votes."""
        _, n_best_i = leaders(self.posterior)
        return (n_best_i > 1) & (self.votes_i > 0)

    def codes(self, ties: Ties = "flag", rng: int | np.random.Generator = 0) -> NDArray[np.int32]:
        """The class chosen for each item, -1 for none: no votes, or a tie that the policy leaves open.

        `flag` leaves ties open; `first` takes the first label in sorted order; `random` draws among the
        tied; `prior` takes the class with the highest prior and leaves open what is still tied.
        """
        code_i, n_best_i = leaders(self.posterior)
        tied = np.flatnonzero((n_best_i > 1) & (self.votes_i > 0))
        best_tk = self.posterior[tied] >= self.posterior[tied].max(axis=1, keepdims=True) - TIE_TOLERANCE
        code_i[tied] = _break_ties(best_tk, self.prior, ties, rng)
        code_i[self.votes_i == 0] = NO_LABEL
        return code_i

    def labels(self, ties: Ties = "flag", rng: int | np.random.Generator = 0) -> list[Any]:
        """The user's own label value for each item, in the order of `votes.items`; None where `codes` says none."""
        return self.values(self.codes(ties, rng))

    def values(self, code_i: IntArray) -> list[Any]:
        """The user's own label value for each class code, None for -1."""
        value_k = np.empty(len(self.label_values) + 1, dtype=object)
        value_k[:] = [*self.label_values, None]
        return list(value_k[code_i])

    @property
    def _label_type(self) -> Any:
        return None if self.names is None else self.names.label_type

    def table(self) -> dict[str, Any]:
        """Columns item, label, confidence, votes and tied, and with few classes p(LABEL) of each; a row for each item.

        >>> from majorant.methods.majority import Majority
        >>> from majorant.votes import Votes
        >>> votes = Votes.from_codes([0, 0, 1], [0, 1, 0], [1, 1, 0], items="ab", workers="wx", labels=("no", "yes"))
        >>> Majority().fit(votes).to_dict()["label"]
        ['yes', 'no']
        """
        if self.names is None or len(self.names.items) != len(self.posterior):
            raise ConfigError("this fit does not know the names of its items: aggregate the votes in memory.")
        voted_i = self.votes_i > 0
        columns: dict[str, Any] = {
            "item": Named(np.arange(len(self.posterior)), self.names.items),
            "label": Named(self.codes(), self.label_values),
            "confidence": np.where(voted_i, self.posterior.max(axis=1, initial=0.0), np.nan),
            "votes": self.votes_i,
            "tied": self.tied_i,
        }
        if len(self.label_values) <= MOST_PROBABILITIES:
            columns |= {f"p({label})": self.posterior[:, k] for k, label in enumerate(self.label_values)}
        return columns

    def __repr__(self) -> str:
        rows: Any = self.posterior
        if not isinstance(rows, np.ndarray):
            return f"Fit by {self.method} of votes that lie elsewhere\nits labels are written part by part"
        code_i = self.codes()
        items_k = np.bincount(code_i[code_i >= 0], minlength=len(self.label_values)).tolist()
        counts = [f"{label} {n:,}" for label, n in zip(self.label_values, items_k, strict=True)]
        open_items = int((code_i < 0).sum())
        steps = f" after {self.n_iter:,} steps" if self.n_iter else ""
        return (
            f"Fit by {self.method}: {len(code_i):,} items, {some_names(counts)}"
            + (f"; {open_items:,} without a label\n" if open_items else "\n")
            + f"{'converged' if self.converged else 'did not converge'}{steps}; to_pandas() gives a row for each item"
        )

    def state(self) -> State:
        """What `update(state, new_votes)` goes on from; online methods alone have it, for plain votes in memory."""
        if self.online is None:
            raise ConfigError(
                f"{self.method} is not an online method, or was fitted with weights, gold or an engine: "
                "fit it to all votes, old and new, with start=."
            )
        return self.online(self.posterior)


def fit_of(method: str, votes: Votes, **facts: Any) -> Fit:
    """A fit to these votes, with their names, by what was found: posterior, prior, and whatever else."""
    return Fit(method=method, votes_i=votes.votes_i, label_values=votes.labels, names=names_of(votes), **facts)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Refits:
    """What was learned from the same votes under many weightings b of their items."""

    prior_bk: FloatArray
    confusion: FloatArray  # (B, workers, classes, labels), or (B, classes, labels) where all share one
    converged_b: NDArray[np.bool_]

    def __post_init__(self) -> None:
        lock(self)


def chances(score_ik: FloatArray) -> FloatArray:
    """How probably each class becomes an item's label: 1 for the best, a fair share for tied ones.

    >>> chances(np.array([[.7, .3], [.5, .5]])).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    return shares((score_ik >= (row_maxima(score_ik) - TIE_TOLERANCE)[:, None]).astype(float))


def leaders(score_ik: FloatArray) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """For each row its first best class, and how many classes share the best score (within TIE_TOLERANCE)."""
    n_items, n_classes = score_ik.shape
    first_i, n_best_i = np.empty(n_items, dtype=np.int32), np.empty(n_items, dtype=np.int32)
    step = max(1, LEADER_ENTRIES // max(n_classes, 1))
    for start in range(0, n_items, step):
        rows = slice(start, start + step)
        score_ki = np.ascontiguousarray(score_ik[rows].T)  # reductions along the long axis are many times faster
        best_ki = score_ki >= score_ki.max(axis=0) - TIE_TOLERANCE
        first_i[rows] = best_ki.argmax(axis=0)
        n_best_i[rows] = best_ki.sum(axis=0, dtype=np.int32)
    return first_i, n_best_i


def _break_ties(
    best_tk: NDArray[np.bool_], prior_k: FloatArray, ties: Ties, rng: int | np.random.Generator
) -> NDArray[np.int32]:
    """A class for each tied item among its best ones, or NO_LABEL."""
    if ties == "flag":
        return np.full(len(best_tk), NO_LABEL, dtype=np.int32)
    if ties == "first":
        return np.asarray(best_tk.argmax(axis=1), dtype=np.int32)
    if ties == "random":
        draw_tk = as_generator(rng).random(best_tk.shape)
        return np.asarray(np.where(best_tk, draw_tk, -1.0).argmax(axis=1), dtype=np.int32)
    if ties == "prior":
        first_t, n_best_t = leaders(np.where(best_tk, prior_k, -1.0))
        return np.where(n_best_t > 1, NO_LABEL, first_t).astype(np.int32)
    raise ConfigError(f"ties must be flag, first, random or prior, not {ties!r}.")
