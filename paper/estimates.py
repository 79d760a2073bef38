"""The estimated-quantities table and the run-time table: estimates, verdicts, accuracies, and ratios of run times."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from majorant.methods import Fit
from majorant.methods.known_workers import GivenMap
from majorant.simulate import simulate
from majorant.theory import majority_accuracy, majority_margin, map_accuracy
from majorant.values import FloatArray
from majorant.votes import Votes
from paper.item import Cell, Context, Item, Outcome, compare
from paper.methods import METHODS, Method
from paper.printed import printed
from paper.spread import binomial_error, sampled

VOTES = 3
AGGREGATED = {"EBCC": Method("", "ebcc"), "LA": METHODS["LA"], "IWMV": METHODS["IWMV"], "MV": METHODS["MV"]}
ESTIMATED = {"IWMV": METHODS["IWMV"], "IAA": METHODS["IAA"], "EBCC": AGGREGATED["EBCC"]}
ESTIMATES_DRAWN = 20
QUICK_ITEMS = 10_000
OTHER_PRIOR = "row 6"  # its printed prior is not that of its data
NOT_ITS_METHOD = ("row 1", "row 3", "row 5")  # the method named there does not give the printed estimates
STARTS = "EBCC's answer depends on its start and on the draw."
NOTES = (
    "nu~ of IWMV and EBCC is the share of their labels, as in the code, that of IAA the share of votes. Exact, for "
    "IWMV and IAA: their limit as items grow in number, found by weighting each vote pattern by its probability.",
    "Run times are ratios to majority vote: printed, of Python programs; ours, processor time of this library, the "
    "only cells that change from run to run.",
)


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A method's estimates of the prior of class 0 and both accuracies."""

    prior_0: float
    accuracy_0: float
    accuracy_1: float

    @property
    def optimal(self) -> bool:
        """Whether majority vote would be optimal if the estimate were the truth."""
        a, b = self.accuracy_0, self.accuracy_1
        return majority_margin([self.prior_0, 1 - self.prior_0], [[a, 1 - a], [1 - b, b]], VOTES) > 0


def run(context: Context) -> Outcome:
    """Simulate each row several times: estimate on a share of the items, aggregate all of them."""
    rows = {f"row {number}": row for number, row in enumerate(printed("estimates")["rows"], 1)}
    rows[f"{OTHER_PRIOR} with nu0 = 0.6"] = rows[OTHER_PRIOR] | {"nu0": 0.6}
    cells: list[Cell] = []
    for done, (key, row) in enumerate(rows.items()):
        cells += _row(key, row, context)
        context.progress((done + 1) / len(rows))
    return Outcome(cells=tuple(cells), notes=NOTES)


def model_of(row: dict[str, Any]) -> tuple[list[float], list[list[float]]]:
    """Prior and confusion matrix of a row."""
    a, b = row["T00"], row["T11"]
    return [row["nu0"], 1 - row["nu0"]], [[a, 1 - a], [1 - b, b]]


def _row(key: str, row: dict[str, Any], context: Context) -> Iterator[Cell]:
    model = model_of(row)
    holds = majority_margin(*model, VOTES) > 0
    yield compare(f"{key}, optimal at the truth", row["optimal"], holds, exact=holds)
    n_part, method = round(row["share"] * row["N"]), row["method"]
    estimates = []
    for draw in range(ESTIMATES_DRAWN):
        rng = context.rng(key, "estimate", draw)
        part, _ = simulate(*model, n_part, VOTES, n_workers=VOTES, rng=rng)
        estimates.append(estimate(method, ESTIMATED[method].fit(part)))
    yield from _estimated(key, row, estimates)
    shares, n_items = [], min(row["N"], QUICK_ITEMS) if context.quick else row["N"]
    for draw in range(2 if context.quick else 10):
        rng = context.rng(key, "aggregate", draw)
        votes, truth = simulate(*model, n_items, VOTES, n_workers=VOTES, rng=rng)
        shares.append(_accuracies(votes, truth, model))
    yield from _aggregated(key, row, model, shares, n_items)
    if key in (f"row {number}" for number in range(1, 7)):
        yield from _times(key, row, votes, part, 1 if context.quick else 3)


def estimate(method: str, fit: Fit, weight_i: FloatArray | None = None) -> Estimate:
    """The quantities that the paper's code uses: matrices averaged over workers, and the share of labels or votes."""
    assert fit.confusion is not None
    confusion_kl = fit.confusion if fit.confusion.ndim == 2 else fit.confusion.mean(axis=0)
    prior_0 = float(fit.prior[0])
    if method != "IAA":
        prior_0 = float(np.average(fit.codes("first") == 0, weights=weight_i))
    return Estimate(prior_0, float(confusion_kl[0, 0]), float(confusion_kl[1, 1]))


def limit(method: str, prior: list[float], confusion: list[list[float]]) -> Estimate:
    """The limit of IWMV or IAA for many items: each vote pattern is weighted by its probability.

    >>> found = limit("IWMV", [.65, .35], [[.55, .45], [.2, .8]])
    >>> round(found.accuracy_0, 3), round(found.prior_0, 3), found.optimal
    (0.783, 0.41, True)
    """
    patterns = np.array(list(product((0, 1), repeat=VOTES)))
    weight_i = np.array(prior) @ np.array(confusion)[:, patterns].prod(axis=2)
    item_n, worker_n = np.indices(patterns.shape).reshape(2, -1)
    votes = Votes.from_codes(
        item_n, worker_n, patterns.ravel(), items=range(len(patterns)), workers=range(VOTES), labels=(0, 1)
    )
    fit = ESTIMATED[method].estimator().fit(votes, weights=1e6 * weight_i)
    return estimate(method, fit, weight_i)


def column_normalised(found: Estimate) -> Estimate:
    """Normalise rows, then columns, twice, as the code does with EBCC's matrices (erratum 31)."""
    a, b = found.accuracy_0, found.accuracy_1
    matrix_kl = np.array([[a, 1 - a], [1 - b, b]])
    for _ in range(2):
        matrix_kl = matrix_kl / matrix_kl.sum(axis=1, keepdims=True)
        matrix_kl = matrix_kl / matrix_kl.sum(axis=0, keepdims=True)
    return Estimate(found.prior_0, float(matrix_kl[0, 0]), float(matrix_kl[1, 1]))


def _estimated(name: str, row: dict[str, Any], estimates: list[Estimate]) -> Iterator[Cell]:
    method, key = row["method"], f"{name}, {row['method']}"
    at = None if method == "EBCC" else limit(method, *model_of(row))
    errata = (43,) if name in NOT_ITS_METHOD else (26,) if name == OTHER_PRIOR else ()
    share = float(np.mean([one.optimal for one in estimates]))
    why = f"Share of draws whose estimate says optimal: {share:.2f}."
    verdict = compare(f"{key}, optimal at the estimate", row["optimal at the estimate"], share > 0.5, errata=errata)
    yield replace(verdict, why=why)
    for title, field in (("nu0", "prior_0"), ("T00", "accuracy_0"), ("T11", "accuracy_1")):
        was = row[f"{title} estimated"]
        readings = {f"{title}~": [getattr(one, field) for one in estimates]}
        if method == "EBCC" and title != "nu0":
            code = [column_normalised(one) for one in estimates]
            readings[f"{title}~ as the code normalises it"] = [getattr(one, field) for one in code]
        for reading, drawn in readings.items():
            exact = None if at is None else getattr(at, field)
            numbers = (*errata, 31) if method == "EBCC" and reading in ("T00~", "T11~") else errata
            cause = STARTS if method == "EBCC" else ""
            yield sampled(f"{key}, {reading}", was, drawn, exact=exact, digits=2, errata=numbers, why=cause)


def _accuracies(votes: Votes, truth: Any, model: tuple[Any, Any]) -> dict[str, float]:
    fits = {name: method.fit(votes) for name, method in AGGREGATED.items()}
    fits["oMAP"] = GivenMap(confusion=model[1], prior=model[0]).fit(votes)
    return {name: float(np.mean(fit.codes("first") == truth)) for name, fit in fits.items()}


def _aggregated(
    key: str, row: dict[str, Any], model: tuple[Any, Any], shares: list[dict[str, float]], n_items: int
) -> Iterator[Cell]:
    majority, best = majority_accuracy(*model, VOTES), map_accuracy(*model, VOTES)
    for name, was in row["accuracy"].items():
        yield sampled(
            f"{key}, accuracy of {name}",
            was,
            [one[name] for one in shares],
            exact={"oMAP": best, "MV": majority, "IWMV": majority, "LA": majority}.get(name),
            least_error=binomial_error(majority, row["N"]),
            own_error=binomial_error(majority, n_items),
            errata=(26,) if key == OTHER_PRIOR else (),
            why=STARTS if name == "EBCC" else "",
        )
    apart = round(row["accuracy"]["IWMV"] - row["accuracy"]["MV"], 3)
    ours = float(np.mean([one["IWMV"] - one["MV"] for one in shares]))
    yield compare(f"{key}, accuracy of IWMV less that of MV", apart, ours, exact=0.0, errata=(40,))


def _times(key: str, row: dict[str, Any], votes: Votes, part: Votes, repeats: int) -> Iterator[Cell]:
    ours = {name: _seconds(method, votes, repeats) for name, method in AGGREGATED.items()}
    base = ours.pop("MV")
    ours["check"] = _seconds(ESTIMATED[row["method"]], part, repeats)
    for name, seconds in ours.items():
        was = float(f"{row['seconds'][name] / row['seconds']['MV']:.2g}")
        why = "A ratio of run times belongs to the programs and the machine."
        yield compare(f"{key}, time of {name} over MV", was, float(f"{seconds / base:.2g}"), digits=1, why=why)


def _seconds(method: Method, votes: Votes, repeats: int) -> float:
    """CPU time, the shortest of several runs."""
    taken = []
    for _ in range(repeats):
        began = time.process_time()
        method.fit(votes).codes("first")
        taken.append(time.process_time() - began)
    return min(taken)


ITEM = Item("estimates", "Optimality at estimated quantities", run)
