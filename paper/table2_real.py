"""Table 2, left: nine methods on six real data sets, McNemar's test, and where the printed numbers come from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from majorant.evidence.labels import gold_accuracy
from majorant.methods import Fit
from majorant.methods.known_workers import AnchorMap, GivenMap
from majorant.tally import counts, tied
from majorant.theory import majority_margin
from majorant.votes import IntArray, Votes
from paper.item import Cell, Context, Item, Outcome, compare
from paper.methods import METHODS, letters, mcnemar, wilcoxon_on_labels
from paper.printed import printed
from paper.sets import (
    DATA,
    MULTICLASS,
    class_shares,
    distinct_label_confusion,
    gold,
    present,
    vote_confusion,
    without_copies,
)
from paper.spread import binomial_error

MISREAD = ("DS", "GLAD", "MACE")  # scored by row number, on every set whose item ids are not row numbers
DRAWN_TIES = ("MV", "IWMV", "BWA", "LA")  # the paper's programs draw a label for a tied item
CLOSE = 0.005
OTHER_PROGRAM = "Another program for the same method (start, stopping rule, ties); within .005."
VERDICT_ERRATA = {"SP": (1, 2, 4), "D-Product": (3, 4)}
ERRATA: dict[tuple[str, str], tuple[int, ...]] = {
    ("D-Product", "MV"): (33,),
    **{(name, "oMAP"): (4,) for name in ("ZC_in", "ZC_in without copies", "MS", "CF_amt", "D-Product")},
}
WHY = {
    ("D-Product", "MACE"): (
        "The public program's answer depends on how workers are named: .695 or .928 (docs/methods.md)."
    ),
    ("CF_amt", "IAA"): (
        "IAA asks for a diagonal of at least 1/2, which class 4 breaks (.14): programs give .69 to .857 here."
    ),
}
NOTES = (
    "Accuracies of methods with tied items count a tie as a fair draw. The paper's programs draw; the standard error "
    "of such a draw is that of the printed number.",
    "Letters a to h: DS, GLAD, MACE, IWMV, BWA, LA, IAA, MV. McNemar: exact, two-sided, right against wrong; both "
    "tests with Bonferroni's correction for eight comparisons, level .05.",
)


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A data set with the fits of all methods."""

    name: str
    votes: Votes
    fits: dict[str, Fit]
    tie_noise: float  # standard error of the accuracy of a rule that draws where majority is tied

    def accuracy(self, method: str) -> float:
        """The share of items labelled correctly; ties are resolved at random."""
        answer = gold_accuracy(self.votes, self.fits[method], level=0.95)
        assert answer is not None
        return answer.value


def fitted(name: str, votes: Votes) -> Case:
    """All methods, fitted to a data set."""
    fits = {method: METHODS[method].fit(votes) for method in METHODS}
    fits["oMAP"] = AnchorMap().fit(votes)
    slipped = GivenMap(confusion=distinct_label_confusion(votes), prior=class_shares(votes))
    fits["oMAP, T from distinct labels"] = slipped.fit(votes)
    n_tied = int(tied(counts(votes)).sum())
    return Case(name, votes, fits, math.sqrt(n_tied) / 2 / len(votes.items))


def run(context: Context) -> Outcome:
    """Fit all methods to all data sets, and compare with the printed numbers."""
    table, shape = printed("table2-real"), printed("table1")["real"]
    here, missing = present(context)
    cells: list[Cell] = []
    for done, (name, votes) in enumerate(here.items()):
        case = fitted(name, votes)
        was = {method: row[name] for method, row in table["accuracy"].items()}
        if name not in MULTICLASS:
            cells.append(_verdict(case, table["satisfied"][name], shape[name]["H"]))
        cells += [*_accuracies(case, was), *_significance(case, table["superscripts"][name], context)]
        scored = case
        if name == "ZC_in":
            scored = fitted("ZC_in without copies", without_copies(votes))
            cells += _accuracies(scored, was)
        if name != "D-Product":
            cells += _by_row_number(scored, was)
        context.progress((done + 1) / len(here))
    return Outcome(cells=tuple(cells), notes=NOTES, missing=missing)


def _verdict(case: Case, mark: bool, n_votes: int) -> Cell:
    """Theorem 3.4 for the matrix counted vote by vote and the paper's number of votes."""
    holds = majority_margin(class_shares(case.votes), vote_confusion(case.votes), n_votes) > 0
    key = f"{case.name}, Theorem 3.4 satisfied for {n_votes} votes"
    return compare(key, mark, holds, errata=VERDICT_ERRATA.get(case.name, ()))


def _accuracies(case: Case, was: dict[str, float]) -> Iterator[Cell]:
    for method in case.fits:
        row = method.partition(",")[0]
        ours, noise = case.accuracy(method), case.tie_noise if method in DRAWN_TIES else 0.0
        cell = compare(f"{case.name}, {method}", was[row], ours, printed_error=noise)
        if cell.mark == "unexplained":
            errata, why = _reason(case.name, method, abs(was[row] - ours))
            cell = compare(cell.key, was[row], ours, printed_error=noise, errata=errata, why=why)
        yield cell


def _reason(name: str, method: str, apart: float) -> tuple[tuple[int, ...], str]:
    """The explanation of a difference: an erratum, a sentence, or small differences between programs."""
    if name != "D-Product" and method in MISREAD:
        return (32,), ""
    if name == "SP" and method.startswith("oMAP"):
        return (39,), "No rule that counts votes has more than .8904 of SP right."
    if name == "ZC_in" and method != "oMAP":
        return (34,), ""
    if (name, method) in ERRATA:
        return ERRATA[name, method], ""
    return (), WHY.get((name, method), OTHER_PROGRAM if apart <= CLOSE else "")


def _by_row_number(case: Case, was: dict[str, float]) -> Iterator[Cell]:
    for method in MISREAD:
        ours = score_by_row_number(case.votes, case.fits[method].codes("first"))
        noise = binomial_error(ours, len(case.votes.items))
        key = f"{case.name}, {method}, scored by row number"
        yield compare(key, was[method], ours, printed_error=noise, errata=(32,))


def score_by_row_number(votes: Votes, code_i: IntArray) -> float:
    """The share of right labels if the label of item number r is compared with the gold label in row r (erratum 32).

    Public copies of these sets number items by their sorted ids and list gold labels in order of first appearance.
    """
    ids = [str(item) for item in votes.items]
    order = sorted(range(len(ids)), key=lambda i: (int(ids[i]) if ids[i].isdigit() else 0, ids[i]))
    return float(np.mean(code_i[order] == gold(votes)))


def _significance(case: Case, superscript: str, context: Context) -> Iterator[Cell]:
    rng, gold_i = context.rng(case.name, "ties"), gold(case.votes)
    code = {method: fit.codes("random", rng=rng) for method, fit in case.fits.items()}
    best, slipped = code.pop("oMAP"), code.pop("oMAP, T from distinct labels")
    by_right = {method: mcnemar(code_i == gold_i, best == gold_i) for method, code_i in code.items()}
    by_label = {method: wilcoxon_on_labels(code_i, slipped) for method, code_i in code.items()}
    was: Any = superscript or "-"
    yield compare(f"{case.name}, differ from oMAP, McNemar", was, letters(by_right), errata=(32, 36))
    yield compare(f"{case.name}, differ from oMAP, Wilcoxon on labels", was, letters(by_label), errata=(32, 36))


ITEM = Item("table2-real", "Table 2, left: nine methods on six real data sets", run, DATA)
