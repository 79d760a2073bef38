"""Words that results and rendering share: how names are shown, and why a number is missing.

Nothing is imported here, so that every room can use it.  Sentences are made in `render/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def percent(value: float, digits: int = 1) -> str:
    """0.816 as 81.6%."""
    return f"{100 * value:.{digits}f}%"


def level_percent(level: float) -> str:
    """A level of confidence with all its digits.

    >>> level_percent(.95), level_percent(.999)
    ('95%', '99.9%')
    """
    return f"{100 * level:g}%"


def printable(text: str) -> str:
    """Text without signs that could move the cursor, change colours or reverse the writing."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def shown(value: Any) -> str:
    """A user's value on the terminal: control signs made harmless, clipped."""
    longest_shown = 40  # of a user's value on the terminal
    text = printable(str(value))
    return text if len(text) <= longest_shown else text[: longest_shown - 1] + "…"


def quoted_number(label: Any) -> str:
    """A label in a sentence: quoted if it is a number, which would be taken for a count.

    >>> quoted_number(2), quoted_number("pass")
    ('"2"', 'pass')
    """
    text = shown(label)
    return f'"{text}"' if text.replace(".", "").isdigit() else text


def listed(names: Iterable[str]) -> str:
    """The first few, and how many more."""
    most_listed = 8
    every = list(names)
    more = len(every) - most_listed
    return ", ".join(every[:most_listed]) + (f" and {more:,} more" if more > 0 else "")


def one_of(names: Sequence[str]) -> str:
    """Names as a sentence lists them.

    >>> one_of(["a"]), one_of(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# --- why a number is missing, or its interval

NO_GOLD_LABEL = "no item has a gold label"
NO_GOLD_LABELS = "no gold labels"
NO_GOLD_JUDGED = "no gold item"
NO_MODEL = "no model was fitted"
NO_VOTED_ITEM = "no item has a vote"
NO_UNIFORM_LABEL = "no label was given in the uniform order"
NO_DIFFERENCE_LABELLED = "no item on which the two differ is labelled"
MODEL_IS_TRUTH = "the model's own figure"
NO_RNG = "no interval: give rng to draw resamples"
NO_PAIRED_VOTES = "no item holds two votes"
NO_ORDER = "labels are not numbers: give order, from lowest to highest"
TOO_MANY_CLASSES = "no interval: too many classes to resample"
NO_COMMON_ITEM = "no two workers have an item in common"
ONE_PAIRED_ITEM = "fewer than two items hold two votes"
NO_VARIANCE = "all votes are alike: there is no variance to explain"
NOT_ALL_BY_ALL = "not every worker labels every item once"
TOO_MANY_WORKER_PAIRS = "no interval: too many pairs of workers"
ONE_GOLD_ITEM = "fewer than two gold items with an answer of every rule"
DID_NOT_CONVERGE = "did not converge"
TWO_CLASSES_ONLY = "for two classes only"
NEEDS_MATRICES = "needs confusion matrices that are given"
NEEDS_GOLD = "needs gold labels"


def too_many_numbers(number: int) -> str:
    """A method that would learn too much."""
    return f"too many workers and classes ({number:,} numbers to learn)"


def too_few_gold(least: int) -> str:
    """Too few gold items to see who errs with whom."""
    return f"fewer than {least} items with gold and two votes"


def undefined_in_resamples(missing: int, drawn: int) -> str:
    """A coefficient that too many resamples leave undefined."""
    return f"no interval: {missing} of {drawn} resamples of the items leave the coefficient undefined"


def too_many_vote_pairs(number: float, most: float | None = None) -> str:
    """More pairs of votes than are looked at, or than are resampled."""
    if most is None:
        return f"no interval: {number:.1e} pairs of votes on the same item are too many to resample"
    return f"not computed: {number:.1e} pairs of votes on the same item, more than {most:.0e}"


def no_chance_agreement(label: Any = None, *, one_class: bool) -> str:
    """Votes that could not but agree."""
    if one_class:
        return f"every vote is {label!r}: there is no chance agreement to correct for"
    return "all votes on items with two or more are for one label: there is no chance agreement to correct for"


def no_common_items(least: int, *, or_one_label: bool = False) -> str:
    """Pairs of workers that share too little."""
    rest = ", or these all got one and the same label" if or_one_label else ""
    return f"no two workers with {least} items in common{rest}"


def too_many_workers(most: int) -> str:
    """More workers than are looked at pair by pair."""
    return f"more than {most} workers: too many pairs"


def resampled_words(number: int, units: int, what: str) -> str:
    """How an interval was made.

    >>> resampled_words(1000, 50, "items")
    '1000 resamples of 50 items'
    """
    return f"{number} resamples of {units} {what}"


def of_sampled_items(drawn: str, n_sampled: int, n_items: int) -> str:
    """That Cohen's kappa was measured on some of the items."""
    return f"{drawn or 'Cohen:'} from a random sample of {n_sampled:,} of {n_items:,} items"


# --- agreement

COEFFICIENTS = {
    "percent": "pairs of votes that agree",
    "krippendorff": "Krippendorff's alpha",
    "krippendorff_ordinal": "  the same, ordinal",
    "fleiss": "Fleiss' kappa",
    "cohen": "Cohen's kappa, mean of pairs",
    "gwet": "Gwet's AC1",
}
SCORE_COEFFICIENTS = {
    "interval_alpha": "Krippendorff's alpha, interval",
    "icc": "ICC(1), one-way",
    "icc_agreement": "ICC(A,1), two-way, absolute agreement",
    "weighted_kappa": "Cohen's kappa, quadratic weights, mean over pairs",
}


# --- what is taken for granted, and the tests of it

TOO_FEW_VOTES = (
    "No item has three votes, so the data cannot tell how good the voters are: collect a third vote on some of the "
    "items."
)


# --- the questions behind the claim, and the map

BALANCE_TITLE, ACCURACIES_TITLE = "Class balance against noise", "Accuracy on either class"
NOISE_AXIS, ACCURACY_ON = "noise: ", "accuracy on "  # how the names of axes begin
EVEN_NOISE = "drawn as if every wrong label were equally likely, which the verdict does not assume"
PANEL_PLACE = "at the mean of the workers' confusion matrices; the verdict takes each worker's own"


def balance_axes(label: Any, *, classes: int) -> tuple[str, str]:
    """The names of the axes of class balance and noise.

    >>> balance_axes("spam", classes=2)
    ('share of spam', 'noise: mean of both error rates')
    """
    if classes == 2:
        return f"share of {label}", f"{NOISE_AXIS}mean of both error rates"
    return f"share of {label}, the commonest class", f"{NOISE_AXIS}share of wrong votes"


def map_note(n_votes: int, drawn_for: str, place: str = "") -> str:
    """For how many votes a plane of the map is drawn, and for what else."""
    return "; ".join(filter(None, [f"{n_votes} votes per item", drawn_for, place]))


def for_class_shares(share: float) -> str:
    """What a plane of accuracies is drawn for."""
    return f"drawn for class shares of {100 * share:.0f} and {100 - 100 * share:.0f}%"


def for_error_rates(right_0: float, right_1: float) -> str:
    """What a plane of noise is drawn for."""
    return f"drawn for error rates that divide as here, {100 - 100 * right_0:.0f} : {100 - 100 * right_1:.0f}"


# --- asking an expert


NOT_A_SAMPLE = (
    "These items were picked because the rules disagree on them: do not use them to estimate accuracy. For that draw a "
    "random sample with majorant ask --teach."
)
