"""`Fit`, the result of every method, and `Traits`, the declared properties of a method."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.arguments import as_codes, validated
from majorant.errors import ConfigError
from majorant.items import name_hashes
from majorant.kernels import Engine, row_maxima, shares
from majorant.tabular import Named, Names, Tabular, some_names
from majorant.values import FloatArray, as_generator, lock
from majorant.votes import IntArray, Votes

if TYPE_CHECKING:
    from majorant.methods.saved_rule import SavedRule

Ties = Literal["flag", "first", "random", "prior"]
Progress = Callable[[int, float], None]  # called with step and objective
TIE_TOLERANCE = 1e-9  # probabilities closer than this count as equal; rounding errors are far smaller
NO_LABEL = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """Declared properties of a method, verified by the contract tests.

    Attributes
    ----------
    needs
        What the method needs besides votes: gold labels, confusion matrices, or workers who overlap on items.
    classes
        2 if the method only handles two classes.
    iterative
        `fit` takes all of `FitOptions`.
    monotone
        `Fit.trace` is an objective that never falls.
    distributed
        `fit` takes `engine`: the method can run on blocks of votes that are stored elsewhere.
    keeps_items
        Name of the per-item data that the method needs in one place, which rules out a cluster.
    order_free
        The order of the items does not affect the result.
    naive_bayes
        Labels follow from `Fit.prior` and `Fit.confusion` as if votes were independent given the class, so a fit can be
        saved as a rule for other votes.
    vote_shares
        `Fit.posterior` holds shares of weighted votes, which are not probabilities.
    tables_per_worker
        Number of K x K tables that the method learns for each worker.
    """

    needs: Literal["", "gold", "confusion", "overlap"] = ""
    classes: int | None = None
    iterative: bool = False
    monotone: bool = False
    distributed: bool = False
    keeps_items: str = ""
    order_free: bool = True
    naive_bayes: bool = False
    vote_shares: bool = False
    tables_per_worker: int = 0


class FitOptions(TypedDict, total=False):
    """Arguments of an iterative method's `fit` besides the votes; other methods take some of them.

    Attributes
    ----------
    weights
        How often each item counts; once by default.
    engine
        Blocks of votes that are stored elsewhere, with their weights.
    start
        An earlier fit to continue from.
    progress
        Called after each step as progress(step, objective).
    """

    weights: ArrayLike | None
    engine: Engine | None
    start: Fit | None
    progress: Progress | None


class Estimator(Protocol):
    """A method: a frozen dataclass of settings with `fit(votes, *, weights=None, ...) -> Fit`."""

    name: ClassVar[str]
    traits: ClassVar[Traits]

    @property
    def fit(self) -> Callable[..., Fit]:
        """Fit the method to votes, where item i counts `weights[i]` times."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Fit(Tabular):
    """The probability of each class for each item, and what was learned about the workers.

    An item without votes has no label, whatever its row of `posterior` contains.

    Attributes
    ----------
    method : str
        Name of the method.
    posterior : ndarray of shape (items, classes)
        Probability of each class; rows sum to 1.
    prior : ndarray of shape (classes,)
        Probability of each class before seeing any votes.
    votes_i : ndarray of shape (items,)
        Number of votes on each item.
    label_values : tuple
        Your own value of each class.
    confusion : ndarray of shape (workers, classes, labels) or (classes, labels), optional
        P(label | class) of each worker, or shared by all.
    skill : ndarray of shape (workers,), optional
        Skill of each worker; its scale depends on the method.
    learned : mapping of str to ndarray
        Other parameters, specific to the method.
    trace : tuple of float
        The objective after each step.
    converged : bool
        Whether the method converged.
    n_iter : int
        Number of steps.
    names : Names, optional
        Names of items and workers; None if the rows are only a part of the fitted items.

    Examples
    --------
    >>> import majorant as mj
    >>> fit = mj.aggregate([("a", "u", "yes"), ("a", "v", "yes"), ("b", "u", "no")], "majority")
    >>> fit.labels(), fit.posterior.tolist()
    (['yes', 'no'], [[0.0, 1.0], [1.0, 0.0]])
    """

    method: str
    posterior: FloatArray
    prior: FloatArray
    votes_i: IntArray
    label_values: tuple[Hashable, ...]
    confusion: FloatArray | None = None
    skill: FloatArray | None = None
    learned: Mapping[str, FloatArray] = field(default_factory=dict)
    trace: tuple[float, ...] = ()
    converged: bool = True
    n_iter: int = 0
    names: Names | None = None

    def __post_init__(self) -> None:
        lock(self)

    @property
    def tied_i(self) -> NDArray[np.bool_]:
        """Whether several classes share an item's highest probability; False for items without votes."""
        _, n_best_i = leaders(self.posterior)
        return (n_best_i > 1) & (self.votes_i > 0)

    @property
    def confidence_i(self) -> FloatArray:
        """The highest probability of each item; NaN without votes."""
        return np.where(self.votes_i > 0, self.posterior.max(axis=1, initial=0.0), np.nan)

    @validated
    def part(self, start: int, stop: int) -> Fit:
        """The part of the fit for the items from start to stop."""
        if (start, stop) == (0, len(self.votes_i)):
            return self
        return replace(self, posterior=self.posterior[start:stop], votes_i=self.votes_i[start:stop], names=None)

    def take(self, item_p: IntArray) -> Fit:
        """The part of the fit for the items with these codes."""
        item_p = as_codes("item_p", item_p, len(self.votes_i))
        posterior, votes_i = np.array(self.posterior[item_p]), np.array(self.votes_i[item_p])
        return replace(self, posterior=posterior, votes_i=votes_i, names=None)

    @validated
    def codes(self, ties: Ties = "flag", rng: int | np.random.Generator = 0) -> NDArray[np.int32]:
        """The class code chosen for each item.

        Parameters
        ----------
        ties : {"flag", "first", "random", "prior"}
            "flag" leaves ties open; "first" takes the first label in sorted order; "random" draws a tied label;
            "prior" takes the tied class with the highest prior, and leaves open what is still tied.
        rng : int or Generator
            Seed for `ties="random"`.

        Returns
        -------
        ndarray of shape (items,)
            Class codes; -1 for items without votes and for ties that are left open.
        """
        code_i, n_best_i = leaders(self.posterior)
        tied = np.flatnonzero((n_best_i > 1) & (self.votes_i > 0))
        best_tk = self.posterior[tied] >= self.posterior[tied].max(axis=1, keepdims=True) - TIE_TOLERANCE
        code_i[tied] = _break_ties(best_tk, self.prior, ties, rng)
        code_i[self.votes_i == 0] = NO_LABEL
        return code_i

    @validated
    def labels(self, ties: Ties = "flag", rng: int | np.random.Generator = 0) -> list[Any]:
        """Your own value of each item's label, in the order of `votes.items`.

        Parameters
        ----------
        ties, rng
            How ties are broken; see `codes`.

        Returns
        -------
        list
            Label values; None where `codes` returns -1.
        """
        return self.values(self.codes(ties, rng))

    def values(self, code_i: IntArray) -> list[Any]:
        """Your own label for each class code; None for -1."""
        value_k = np.empty(len(self.label_values) + 1, dtype=object)
        value_k[:] = [*self.label_values, None]
        return list(value_k[as_codes("code_i", code_i, len(self.label_values))])

    @property
    def _label_type(self) -> Any:
        return None if self.names is None else self.names.label_type

    def table(self) -> dict[str, Any]:
        """Columns item, label, confidence, votes, tied and, if there are at most 50 classes, p(LABEL) for each.

        >>> from majorant.methods.majority import Majority
        >>> from majorant.votes import Votes
        >>> votes = Votes.from_codes([0, 0, 1], [0, 1, 0], [1, 1, 0], items="ab", workers="wx", labels=("no", "yes"))
        >>> Majority().fit(votes).to_dict()["label"]
        ['yes', 'no']
        """
        if self.names is None or len(self.names.items) != len(self.posterior):
            raise ConfigError("this fit does not have the names of its items: aggregate the votes in memory.")
        columns: dict[str, Any] = {
            "item": Named(np.arange(len(self.posterior)), self.names.items),
            "label": Named(self.codes(), self.label_values),
            "confidence": self.confidence_i,
            "votes": self.votes_i,
            "tied": self.tied_i,
        }
        if len(self.label_values) <= 50:
            columns |= {f"p({label})": self.posterior[:, k] for k, label in enumerate(self.label_values)}
        return columns

    def __repr__(self) -> str:
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

    def to_spark(self) -> Any:
        """The item, label and confidence of every row as a lazy Spark frame, of a fit to votes on a cluster.

        The label is missing where `labels` returns None.  Nothing passes through the driver.
        """
        frame = getattr(self.posterior, "frame", None)
        if frame is None:
            raise ConfigError("to_spark() is for fits to many votes in a Spark frame; this one has to_arrow().")
        small = replace(self, confusion=None, skill=None, learned={}, trace=(), names=None)
        return frame(partial(_label_columns, replace(small, **no_rows(small))), self.label_values)

    def rule(self) -> SavedRule:
        """What was learned about the workers, as a rule that labels other votes: `fit.rule().save("crowd.json")`.

        Returns
        -------
        SavedRule
            Labels other votes with `rule.fit(votes)`, now or after `mj.load_rule`.

        Raises
        ------
        ConfigError
            If the labels of the method do not follow from one confusion matrix per worker.
        """
        from majorant.methods.saved_rule import SavedRule  # imported here because it imports this module

        return SavedRule.of(self)


def _label_columns(fit: Fit, posterior_ik: FloatArray, votes_i: IntArray) -> dict[str, Any]:
    some = replace(fit, posterior=posterior_ik, votes_i=votes_i)
    return {"label": some.labels(), "confidence": some.confidence_i}


def no_rows(fit: Fit) -> dict[str, Any]:
    """An empty posterior and votes, to send the rest of a fit to other machines."""
    return {"posterior": np.empty((0, len(fit.label_values))), "votes_i": np.empty(0, dtype=np.int64)}


def fit_of(method: str, votes: Votes, **facts: Any) -> Fit:
    """Make a Fit with the names of these votes; `facts` are posterior, prior and whatever else was learned."""
    return Fit(method=method, votes_i=votes.votes_i, label_values=votes.labels, names=votes.names, **facts)


def chances(score_ik: FloatArray) -> FloatArray:
    """The probability that each class becomes an item's label: 1 for the best class, equal shares if several tie.

    >>> chances(np.array([[.7, .3], [.5, .5]])).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    return shares((score_ik >= (row_maxima(score_ik) - TIE_TOLERANCE)[:, None]).astype(float))


def toss_coins(best_tk: NDArray[np.bool_], names: Sequence[Hashable]) -> NDArray[np.int32]:
    """A reproducible coin toss: the item's name determines the choice among its tied classes.

    >>> toss_coins(np.array([[True, True]] * 4), ["a", "b", "c", "d"]).tolist()
    [0, 1, 1, 0]
    """
    nth_t = name_hashes(names, 0x746965) % best_tk.sum(axis=1).astype(np.uint64)  # any fixed seed
    return np.asarray((np.cumsum(best_tk, axis=1) == nth_t[:, None] + 1).argmax(axis=1), dtype=np.int32)


def leaders(score_ik: FloatArray) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """For each row, the first of the best classes, and how many share the best score (within TIE_TOLERANCE)."""
    n_items, n_classes = score_ik.shape
    first_i, n_best_i = np.empty(n_items, dtype=np.int32), np.empty(n_items, dtype=np.int32)
    step = max(1, (1 << 17) // max(n_classes, 1))  # as many rows as fit in the cache
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
    """Choose one of the best classes of each tied item, or NO_LABEL."""
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
