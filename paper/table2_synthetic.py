"""Table 2, right: nine methods on four synthetic data sets, simulated several times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from majorant.methods.known_workers import GivenMap
from majorant.simulate import simulate
from majorant.theory import majority_accuracy, majority_margin, map_accuracy
from paper.item import Cell, Context, Item, Outcome, compare
from paper.methods import METHODS, Method, letters, mcnemar, wilcoxon_on_labels
from paper.printed import printed
from paper.spread import binomial_error, sampled

VOTES, ITEMS_DRAWN = 3, 10_000
AS_MAJORITY = ("GLAD", "IWMV", "LA", "IAA", "MV")  # on three alike workers with these numbers of items
CUT_SHORT = {
    "DS after 100 plain steps": Method(
        "a", "dawid-skene", {"smoothing": 1e-10, "min_rise": None, "max_iter": 100, "accelerate": False, "tol": 1e-5}
    ),
    "BWA after 10 plain steps": Method("e", "bwa", {"max_iter": 10, "accelerate": False}),
    "MACE after 5 plain steps": Method("c", "mace", {"max_iter": 5, "accelerate": False}),
}
ERRATA = {
    ("alpha", "DS"): (42,),
    ("delta", "DS"): (42,),
    ("alpha", "IWMV"): (40,),
    **{(name, "BWA"): (41,) for name in ("alpha", "beta", "gamma", "delta")},
    ("delta", "BWA after 10 plain steps"): (41,),
}
WHY = {"MACE": "At its optimum MACE may follow one worker's habit; printed are majority's labels, where it starts."}
NOTES = (
    "Each set is a panel of three alike workers, as in the code. On such a panel IWMV, LA and GLAD give majority's "
    "labels; BWA, run until its own stopping rule ends it, follows one worker alone.",
)


def run(context: Context) -> Outcome:
    """Simulate each set several times; the accuracies of majority vote and oMAP are exact."""
    table, shape, draws = printed("table2-synthetic"), printed("table1")["synthetic"], 2 if context.quick else 20
    cells: list[Cell] = []
    for done, (name, row) in enumerate(shape.items()):
        was = {method: values[name] for method, values in table["accuracy"].items()}
        model = model_of(row)
        holds = majority_margin(*model, VOTES) > 0
        cells.append(compare(f"{name}, Theorem 3.4 satisfied", table["satisfied"][name], holds, exact=holds))
        runs = [labels(*model, context.rng(name, draw)) for draw in range(draws)]
        cells += _accuracies(name, model, was, runs)
        cells += _significance(name, table["superscripts"][name], runs[0])
        context.progress((done + 1) / len(shape))
    return Outcome(cells=tuple(cells), notes=NOTES)


def model_of(row: dict[str, Any]) -> tuple[list[float], list[list[float]]]:
    """Prior and confusion matrix of a synthetic set."""
    a, b = row["T00"], row["T11"]
    return [share / 100 for share in row["nu"]], [[a, 1 - a], [1 - b, b]]


def labels(prior: list[float], confusion: list[list[float]], rng: np.random.Generator) -> dict[str, Any]:
    """The labels of each method on one draw, with the truth."""
    votes, truth = simulate(prior, confusion, ITEMS_DRAWN, VOTES, n_workers=VOTES, rng=rng)
    found = {method: settings.fit(votes) for method, settings in (METHODS | CUT_SHORT).items()}
    found["oMAP"] = GivenMap(confusion=confusion, prior=prior).fit(votes)
    return {"truth": truth} | {method: fit.codes("first") for method, fit in found.items()}


def _accuracies(
    name: str, model: tuple[list[float], list[list[float]]], was: dict[str, float], runs: list[dict[str, Any]]
) -> Iterator[Cell]:
    majority, best = majority_accuracy(*model, VOTES), map_accuracy(*model, VOTES)
    for method in [key for key in runs[0] if key != "truth"]:
        row = method.partition(" ")[0]
        drawn = [float(np.mean(one[method] == one["truth"])) for one in runs]
        same = all((one[method] == one["MV"]).all() for one in runs)
        exact = best if method == "oMAP" else majority if method in AS_MAJORITY and same else None
        yield sampled(
            f"{name}, {method}",
            was[row],
            drawn,
            exact=exact,
            least_error=binomial_error(majority, ITEMS_DRAWN),
            errata=ERRATA.get((name, method), ()),
            why=WHY.get(method, ""),
        )
    if name == "delta":
        why = "What the code's BWA amounts to where labels are numbers: it looks for the text '1' and finds none."
        key, exact = "delta, a rule that always says 0", model[0][0]
        yield compare(key, was["BWA"], exact, exact=exact, printed_error=binomial_error(exact, ITEMS_DRAWN), why=why)


def _significance(name: str, superscript: str, draw: dict[str, Any]) -> Iterator[Cell]:
    truth, best = draw["truth"], draw["oMAP"]
    by_right = {method: mcnemar(draw[method] == truth, best == truth) for method in METHODS}
    by_label = {method: wilcoxon_on_labels(draw[method], best) for method in METHODS}
    was = superscript or "-"
    yield compare(f"{name}, differ from oMAP, McNemar", was, letters(by_right), errata=(36, 41, 42))
    yield compare(f"{name}, differ from oMAP, Wilcoxon on labels", was, letters(by_label), errata=(36, 41, 42))


ITEM = Item("table2-synthetic", "Table 2, right: nine methods on four synthetic data sets", run)
