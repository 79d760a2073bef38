"""Every sentence, unit and number format that a person reads about an answer, in one place.

The functions take plain facts (numbers, names, flags) and import nothing, so that whoever holds facts can say them.
Number formats come first, then the parts of a result in the order in which it is made, then where it is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

MOST_LISTED = 8
LONGEST_SHOWN = 40  # of a user's value on the terminal
MOST_CHANGES = 20  # from label to label, in the words of a figure
# --- numbers and names


def count(number: int, thing: str) -> str:
    """1 item, 2 items."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def percent(value: float, digits: int = 1) -> str:
    """0.816 as 81.6 %."""
    return f"{100 * value:.{digits}f} %"


def level_percent(level: float) -> str:
    """A level of confidence with all its digits.

    >>> level_percent(.95), level_percent(.999)
    ('95 %', '99.9 %')
    """
    return f"{100 * level:g} %"


def points(accuracy: float) -> str:
    """A difference of accuracies in percentage points.

    >>> points(.0294), points(-.00001)
    ('2.9', '0.0')
    """
    return f"{100 * accuracy:.1f}".replace("-0.0", "0.0")


def signed(value: float) -> str:
    """A number of percentage points with its sign.

    >>> signed(3.04), signed(-.2), signed(-.001)
    ('+3.0', '-0.2', '0.0')
    """
    text = f"{value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def at_most(value: float) -> str:
    """A bound in percentage points, rounded up, so that the sentence stays true.

    >>> at_most(.31), at_most(1.0), at_most(.004)
    ('0.4', '1.0', '0.1')
    """
    tenths = -int(-10 * round(value, 9) // 1)
    return f"{max(tenths, 1) / 10:.1f}" if value > 0 else "0.0"


def in_points(accuracy: float) -> str:
    """A difference of accuracies with its unit.

    >>> in_points(.0294)
    '2.9 points'
    """
    return f"{points(accuracy)} points"


def nats(margin: float | str) -> str:
    """A margin with its unit; JSON holds an infinite one as a string.

    >>> nats(.5), nats("inf")
    ('+0.500 nats', '+inf nats')
    """
    return f"{float(margin):+.3f} nats"


def share_of(part: int, whole: int) -> str:
    """Part of a whole in percent, or a dash of nothing."""
    return percent(part / whole) if whole else "-"


def interval(estimate: Mapping[str, Any], form: Callable[[Any], str]) -> str:
    """[low, high], or nothing where there is no interval."""
    return "" if estimate["low"] is None else f"[{form(estimate['low'])}, {form(estimate['high'])}]"


def with_ends(estimate: Mapping[str, Any], form: Callable[[Any], str]) -> str:
    """A number and its interval within a sentence.

    >>> with_ends({"value": 0.97, "low": 0.936, "high": 0.989}, percent)
    '97.0 % [93.6 %, 98.9 %]'
    """
    return f"{form(estimate['value'])} {interval(estimate, form)}".rstrip()


def price(votes: int, per_vote: float) -> str:
    """What votes cost, with as many decimals as the price of one was given with.

    >>> price(3, 0.05), price(3, 1.0), price(3, 2.5)
    ('0.15', '3', '7.5')
    """
    from decimal import Decimal

    exponent = Decimal(repr(float(per_vote))).normalize().as_tuple().exponent
    return f"{votes * per_vote:.{max(0, -exponent) if isinstance(exponent, int) else 0}f}"


NUMBER_FORMS: dict[str, Callable[[Any], str]] = {  # of the page, whose minus sign is as wide as its plus
    "percent": percent,
    "points": in_points,
    "bare points": points,
    "count": "{:,}".format,
    "ratio": "{:.2f}".format,
    "whole": level_percent,
    "gain": lambda value: signed(value).replace("-", "−"),
    "signed": lambda value: f"{value:+.2f}".replace("-", "−"),
    "fine": "{:.3g}".format,
}


def printable(text: str) -> str:
    """Text without signs that could move the cursor, change colours or reverse the writing."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def shown(value: Any) -> str:
    """A user's value on the terminal: control signs made harmless, clipped."""
    text = printable(str(value))
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


def listed(names: Iterable[str]) -> str:
    """The first few, and how many more."""
    every = list(names)
    more = len(every) - MOST_LISTED
    return ", ".join(every[:MOST_LISTED]) + (f" and {more:,} more" if more > 0 else "")


def one_of(names: Sequence[str]) -> str:
    """Names as a sentence lists them.

    >>> one_of(["a"]), one_of(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def under(conditions: Sequence[str], sentence: str) -> str:
    """The sentence, begun by what it rests on.

    >>> under(["votes are independent"], "Majority vote is best.")
    'If votes are independent, majority vote is best.'
    """
    if not conditions:
        return sentence
    return f"If {', and if '.join(conditions)}, {sentence[:1].lower()}{sentence[1:]}"


# --- why a number is missing, or its interval

NO_ACCURACY = "labels by design tell which rule is right more often, not how often each is"
NO_GOLD_LABEL = "no item has a gold label"
NO_GOLD_LABELS = "no gold labels"
NO_GOLD_JUDGED = "no gold item"
NO_MODEL = "no model was fitted"
NO_FITTED_MODEL = "no model could be fitted"
NO_VOTED_ITEM = "no item has a vote"
NO_UNIFORM_LABEL = "no label was given in the uniform order"
NO_CLOSE_CALL = "no close call is labelled"
NO_DIFFERENCE_LABELLED = "no item on which the two differ is labelled"
LABELS_LEAVE_IT_OPEN = "the labels leave it open"
NO_SIGN = "no label tells its sign"
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


def not_run(method: str) -> str:
    """A method that was not run."""
    return f"{method} was not run"


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


# --- what was read and counted


def read_sentence(account: Mapping[str, Any]) -> str:
    """What was read, and how many rows held no vote of their own."""
    left_out = [
        f"{account[name]:,} {meaning}"
        for name, meaning in (
            ("abstained", "without a label"),
            ("merged", "exact copies merged"),
            ("dropped", f"repeats dropped (kept the {account['repeats']})"),
        )
        if account[name]
    ]
    form = f" ({account['format']})" if account["format"] else ""
    return f"{printable(account['source'])}{form}: {', '.join([count(account['rows'], 'row'), *left_out])}."


def columns_words(account: Mapping[str, Any]) -> str:
    """Which column was taken for what, and which were not used."""
    unused = f"; not used: {listed(map(shown, account['ignored']))}" if account["ignored"] else ""
    return ", ".join(f"{role} = {shown(name)}" for role, name in account["columns"].items()) + unused


def more_notes(number: int) -> str:
    """That there is more to know about the input."""
    return f"{number} more notes on the input: see result.json."


def votes_counted(votes: Mapping[str, Any]) -> str:
    """How many votes there are, by whom and on what."""
    return f"{count(votes['votes'], 'vote')} by {count(votes['workers'], 'worker')} on {count(votes['items'], 'item')}"


def votes_sentence(votes: Mapping[str, Any]) -> str:
    """The same, and what the votes are for."""
    labels = listed(f"{shown(row['label'])} {share_of(row['votes'], votes['votes'])}" for row in votes["label_votes"])
    return f"{votes_counted(votes)}; votes for: {labels}."


def votes_spread(votes: Mapping[str, Any]) -> str:
    """How many votes items and workers have."""
    sizes, worker = votes["votes_per_item"], votes["votes_per_worker"]
    if len(sizes) > MOST_LISTED:
        spread = f"{sizes[0]['votes']} to {sizes[-1]['votes']}"
    else:
        spread = ", ".join(f"{row['votes']} on {count(row['items'], 'item')}" for row in sizes)
    given = f"{worker['least']:,} to {worker['most']:,}, median {worker['median']:,.0f}"
    return f"Votes per item: {spread}. Per worker: {given}."


def labels_sentence(labels: Mapping[str, Any]) -> str:
    """How many items got which label."""
    open_items = [
        text
        for number, text in (
            (labels["tied"], f"{labels['tied']:,} tied and left open"),
            (labels["without_votes"], f"{labels['without_votes']:,} without votes"),
        )
        if number
    ]
    by_label = listed(
        f"{shown(row['label'])} {share_of(row['items'], labels['labelled'])}" for row in labels["by_label"]
    )
    rest = ", ".join(open_items) or "no ties"
    doubt = "" if labels["converged"] else f" Not converged after {labels['steps']:,} steps."
    return f"by {labels['method']}: {count(labels['labelled'], 'item')} labelled, {rest}: {by_label}.{doubt}"


def mixed_set(path: Any, names: Sequence[str]) -> str:
    """What to know about files of two runs in one folder."""
    are = "is" if len(names) == 1 else "are"
    return (
        f"{one_of(names)} beside {path} {are} not what was written with it: a run was cut short, or the content was "
        "changed since. Run majorant check again to have one set."
    )


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
DISTANCES_HEADING = "Mean distance from gold of each rule:"


def agreement_heading(level: float) -> str:
    """Above the coefficients."""
    return f"Agreement, with {level_percent(level)} intervals"


def agreement_sentence(agreement: Mapping[str, Any]) -> str:
    """The coefficients that say most, for a reader in a hurry."""
    if agreement["percent"]["value"] is None:
        return str(agreement["percent"]["reason"])
    parts = [f"pairs of votes agree {with_ends(agreement['percent'], percent)}"]
    for name in ("krippendorff", "gwet"):
        if agreement[name]["value"] is not None:
            parts.append(f"{COEFFICIENTS[name]} {with_ends(agreement[name], '{:.3f}'.format)}")
    return "; ".join(parts) + "."


def pairs_heading(n_shown: int, n_pairs: int) -> str:
    """Above pairs of workers."""
    return f"Pairs of workers with the most items in common, {n_shown} of {n_pairs:,}"


def scores_heading(about: str) -> str:
    """Above the coefficients of labels with an order."""
    return f"Agreement by distance, between {about}:"


def score(estimate: Mapping[str, Any]) -> str:
    """A coefficient or a distance with its interval, or why there is none."""
    if estimate["value"] is None:
        return f"not known ({estimate['reason']})"
    ends = "" if estimate["low"] is None else f" ({estimate['low']:.3f} to {estimate['high']:.3f})"
    return f"{estimate['value']:.3f}{ends}"


def nearer_sentence(rule: str, lead: Mapping[str, float]) -> str:
    """Whether a rule comes nearer to gold scores than majority vote.

    >>> nearer_sentence("median", {"value": .2, "low": .1, "high": .3})
    '  median: nearer to gold than majority vote by 0.200 (0.100 to 0.300)'
    >>> nearer_sentence("mean", {"value": .02, "low": -.1, "high": .1})
    '  mean: not told apart from majority vote (nearer to gold by -0.100 to 0.100)'
    """
    low, high = lead["low"], lead["high"]
    if low <= 0 <= high:
        return f"  {rule}: not told apart from majority vote (nearer to gold by {low:.3f} to {high:.3f})"
    where, sign = ("nearer to", 1) if low > 0 else ("farther from", -1)
    ends = sorted((sign * low, sign * high))
    return f"  {rule}: {where} gold than majority vote by {abs(lead['value']):.3f} ({ends[0]:.3f} to {ends[1]:.3f})"


def closest_sentence(rule: str) -> str:
    """Which rule comes closest to gold scores."""
    return f"Closest to gold on these items: {rule}."


# --- workers


def _names(names: Iterable[Any], between: str = ", ") -> str:
    return between.join(map(shown, names))


# --- what is taken for granted, and the tests of it

INDEPENDENT = "votes on an item are independent given its class"
TOO_FEW_VOTES = (
    "No item has three votes, so the data cannot tell how good the voters are: collect a third vote on some of the "
    "items."
)


# --- the numbers behind claims, as `majorant certify` shows them


def slices_level(level: float) -> str:
    """At which level each of several claims is made."""
    return f"each at {percent(level, 2)}, so that all hold together"


def methods_heading(source: str) -> str:
    """Above all methods side by side."""
    return f"right {'by gold' if source == 'gold' else 'by the model'}; share of labels as majority's"


def plug_in_estimate(verdict: Mapping[str, Any]) -> str:
    """From what a plug-in verdict was computed."""
    source = f"all {verdict['items']:,} items" if verdict["share"] == 1 else count(verdict["items"], "random item")
    prior = ", ".join(f"{p:.3f}" for p in verdict["prior"])
    confusion = " / ".join(", ".join(f"{value:.3f}" for value in row) for row in verdict["confusion"])
    return f"Estimate from {source}: prior {prior}; confusion {confusion}"


def labels_loss_facts(loss: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """How labels from elsewhere compare: of how many items, and each number with its name."""
    numbers: dict[str, tuple[str, Callable[[float], str]]] = {
        "accuracy": ("right on gold", percent),
        "over_majority": ("lead over majority", in_points),
        "loss": ("loss, by gold", in_points),
        "model_loss": ("loss, by the model", in_points),
    }
    facts = []
    for name, (title, form) in numbers.items():
        one = loss[name]
        text = one["reason"]
        if one["value"] is not None:
            text = f"{form(one['value'])} {interval(one, form) or f'({text})'}"
        facts.append((title, text))
    items = f"{loss['n_items']:,} items with a label and an untied vote"
    return f"Labels of {printable(loss['source'])}, on {items}", facts


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
    return f"drawn for class shares of {100 * share:.0f} and {100 - 100 * share:.0f} %"


def for_error_rates(right_0: float, right_1: float) -> str:
    """What a plane of noise is drawn for."""
    return f"drawn for error rates that divide as here, {100 - 100 * right_0:.0f} : {100 - 100 * right_1:.0f}"


def map_reason(failed: Sequence[str]) -> str:
    """Why the map does not hold for these votes.

    >>> map_reason(["independent votes"])
    'These votes contradict what the map assumes (independent votes): it shows what would hold otherwise.'
    """
    which = f" ({one_of(failed)})" if failed else ""
    return f"These votes contradict what the map assumes{which}: it shows what would hold otherwise."


# --- the answer: keep, switch or ask


ACTION_SIGNS = {"keep": "✓", "switch": "⇄", "ask": "?"}  # told by their shape, not by their colour


def in_command(name: str) -> str:
    """A file as a command names it, in any shell.

    >>> in_command("votes.csv"), in_command("my votes.csv")
    ('votes.csv', '"my votes.csv"')
    """
    return f'"{name}"' if any(map(str.isspace, name)) else name


def more_command(source: str, labels: int, design: str) -> str:
    """The command that asks for further labels of a design."""
    return f"majorant ask {in_command(source or 'votes.csv')} --more {labels} --design {in_command(design)}"


# --- asking an expert


NOT_A_SAMPLE = (
    "These items were picked because the rules disagree on them: do not use them to estimate accuracy. For that draw a "
    "random sample with majorant ask --teach."
)


# --- judges


def judges_sentence(source: str) -> str:
    """What else there is to ask of a log of judges."""
    return (
        f"majorant judges {source} holds each judge against gold: who repeats whom, and is it good enough to gate on?"
    )


# --- a plan

# --- the theory of a model

WEAKEST_HEADING = "The votes on which majority stands weakest:"
NOT_ENUMERATED = "?: too many vote patterns to enumerate; majorant.theory.estimate_accuracy simulates."


def optimal_votes_sentence(numbers: str) -> str:
    """For how many votes majority is the best rule."""
    return f"Majority is optimal (ties left out) for these numbers of votes: {numbers}."


def ties_sentence(ties: str) -> str:
    """What becomes of tied votes."""
    spelt = {"exclude": "left out", "first": "to the first class", "prior": "to the larger prior", "random": "drawn"}
    return f"Tied votes: {spelt[ties]}."


# --- figures: their titles, and what they show, in words for those who cannot see them

FATE_TITLE = "What majority vote makes of the items"
OPTIMAL_TITLE = "Where majority vote is the optimal rule"
RULES_DIFFER = "the optimal rule differs on some votes"
GIVEN_MODEL = "the given model, with its margin"
ACCURACY_AXIS = "accuracy (bars: blind guessing); in brackets: votes"


def flow_words(changes: Sequence[tuple[int, str, str]]) -> str:
    """How many items go from which label to which.

    >>> flow_words([(3, "tie", "yes")]), flow_words([])
    ('Items that change: 3 from tie to yes.', 'Items that change: none.')
    """
    every = "; ".join(f"{number:,} from {old} to {new}" for number, old, new in changes[:MOST_CHANGES])
    return f"Items that change: {every or 'none'}."


def confidence_words(bins: Sequence[Mapping[str, Any]]) -> str:
    """How many labels are as sure as any."""
    sure = bins[-1]
    between = f"from {percent(sure['low'], 0)} to {percent(sure['high'], 0)}"
    return f"{sure['items']:,} items have a confidence {between}."


def reliability_words(bins: Sequence[Mapping[str, Any]]) -> str:
    """How often labels are right that are so sure, by gold."""
    each = (
        f"{percent(row['mean_confidence'], 0)} sure: right on {row['gold_right']} of {row['gold_items']}"
        for row in bins
    )
    return "; ".join(each) + "."


def votes_words(sizes: Sequence[Mapping[str, int]]) -> str:
    """How many items hold how many votes."""
    few = "; ".join(f"{row['items']:,} with {row['votes']}" for row in sizes[:MOST_LISTED])
    more = f"; and {len(sizes) - MOST_LISTED} more numbers" if len(sizes) > MOST_LISTED else ""
    return f"Items: {few}{more}."


def fate_words(fate: Mapping[str, int]) -> str:
    """What becomes of the items."""
    return ", ".join(f"{name} {number:,}" for name, number in fate.items()) + "."


def agreement_words(values: Mapping[str, float]) -> str:
    """Each coefficient."""
    return ", ".join(f"{title} {value:.2f}" for title, value in values.items()) + "."


def accuracies_words(workers: Sequence[Mapping[str, Any]], n_flagged: int) -> str:
    """How good the workers are, those with the most votes first."""
    accuracies = [one["accuracy"] for one in workers]
    votes = f"{workers[-1]['votes']:,} to {workers[0]['votes']:,} votes"
    between = f"{percent(min(accuracies), 0)} to {percent(max(accuracies), 0)}"
    return f"{len(workers):,} workers, with {votes}; accuracies from {between}; {n_flagged:,} flagged."


def strongest_pair_words(correlation: float, workers: Sequence[str], test: str) -> str:
    """Which two workers err together most, or avoid each other's errors most."""
    strongest = f"the strongest is {correlation:+.2f}, between {one_of(workers)}"
    return f"Correlation given the true label; {strongest}. {test}"


def confusion_words(right: Sequence[tuple[str, float]]) -> str:
    """How often a worker is right on each class."""
    return f"Right when the truth is: {', '.join(f'{label} {percent(share, 0)}' for label, share in right)}."


def map_words(names: tuple[str, str], point: tuple[float, float], *, level: float | None, optimal: bool) -> str:
    """Where votes lie on a plane of the map; with a level where they have a region."""
    around = "" if level is None else f", with its {percent(level, 0)} region around it"
    inside = "inside" if optimal else "outside"
    return (
        f"{names[0]} across, {names[1]} up. These votes lie at {percent(point[0], 0)} and {percent(point[1], 0)}"
        f"{around}, {inside} the region where majority vote is optimal."
    )


# --- the page of a report
#
# {address} or {address:form} stands for the number at that address of the summary, in one of NUMBER_FORMS; the page
# marks each with its address.

MAP_CLAIM = (
    "If votes on an item are independent given its class, majority vote is the best rule that ignores who voted "
    "wherever the voters’ accuracies and the class balance lie in the blue region."
)
MAP_SLIDERS = "Move the sliders, or drag the ring, to see what would hold elsewhere."
MAP_FIGURES = "Its figures are of one confusion matrix for all workers, fitted to the counts of votes alone"
NO_PLACE_ON_MAP = "These votes have no place on the map: it needs two or more classes and some items with three votes."
NO_SCRIPT = "The sliders need a script, which does not run here."
NO_PLAN = "There is no plan for these votes."
NOTHING_TO_REVIEW = "No item would gain from a second look."
LABEL_BY_LABEL = (
    "An item may have several labels, so each label is a question of its own: is it given, yes or no? Each verdict is "
    "about one label."
)
VOTES_AND_TIES = (
    "{votes.items} items hold {votes.votes} votes; majority vote leaves {majority.tied} of them tied. A tie is never "
    "broken in silence: it stays open in the labels, and counts as a fair draw in every accuracy."
)
AGREEMENT_ABOUT = (
    "How often two votes on the same item say the same, and how far that is beyond chance. Dots are estimates, bars "
    "their {agreement.level:whole} intervals; 1 is perfect agreement, 0 what chance would give."
)
WORKERS_CAPTION = (
    "A dot is a worker, the line its interval: the more votes, the shorter. A worker near the mark of blind guessing "
    "adds nothing."
)
CONFUSION_CAPTION = (
    "For the busiest workers: each row is a true class, each column what the worker says, in percent. Blue is right, "
    "orange wrong."
)
ROWS_READ = (
    "{input.rows} read: {input.votes} votes, {input.abstained} without a label, {input.merged} exact copies merged, "
    "{input.dropped} repeats dropped"
)


def scope(summary: Mapping[str, Any]) -> str:
    """Of which votes all this is said, and what its accuracies and claims rest on."""
    text = "{votes.votes} votes by {votes.workers} workers on {votes.items} items, {votes.classes} classes."
    return f"{text} {sampled('{sample.items}')}." if "sample" in summary else text


def sampled(items: str) -> str:
    """That not all items taught what is said of them, without its stop."""
    return f"Claims, rule and plan were learned from {items} items drawn at random"


def change_sentence(method: str) -> str:
    """What the other rule does to the labels."""
    if method == "majority":
        return "These votes bear no rule but majority vote, which leaves {majority.tied} items tied."
    return (
        f"With {method} in place of majority vote, {{flow.changed}} labels change. Blue stays as it was; orange moves."
    )


def rules_caption(source: str, not_run: Sequence[str]) -> str:
    """Above the rules that were fitted."""
    by = "on the gold items; the gain above counts all items"
    if source != "gold":
        by = "by the model's own figure"
    idle = f" Not run: {', '.join(not_run)}." if not_run else ""
    return f"The rules that were fitted, and how often each is right {by}.{idle}"


def map_about(*, region: bool, live: bool, drawn: bool) -> str:
    """What the map shows."""
    if not drawn:
        return MAP_CLAIM
    around = "; around it, everything that they leave possible at {level:whole}" if region else ""
    lies = f"The orange dot is where these votes lie{around}."
    figures = f"{MAP_FIGURES}; how often these labels are right is said above."
    if live:
        return f"{MAP_CLAIM} {lies} {MAP_SLIDERS} {figures}"
    classes = "Sliders show two or three classes; with {votes.classes} there are too many, so this is a picture."
    return f"{MAP_CLAIM} {lies} {figures} {classes}"


def confidence_about(confidence: Mapping[str, Any]) -> str:
    """What confidences are, and whether they can be trusted."""
    whose = ": the model's own figure, which only gold labels can test"
    if confidence["source"] == "gold":
        whose = ", calibrated by the gold labels"
    trust = "Gold labels for some items would show whether it can be trusted."
    if confidence["ece"] is not None:
        trust = (
            "By the gold labels of {confidence.gold_items} items it is off by {confidence.ece:points} on average "
            "(expected calibration error): dots below the line are more confident than right."
        )
    return f"Each label comes with a probability{whose}. {trust}"


def worth_about(n_eff: Mapping[str, Any]) -> str:
    """How many independent votes those of an item are worth."""
    rough = "at most about " if n_eff["low"] is None else ""
    return (
        f"Together, the votes on an item are worth {rough}{{workers.dependence.n_eff:estimate ratio}} independent ones."
    )


def dependence_caption(truth: str) -> str:
    """What the correlations of pairs are."""
    source = ", on the gold items" if truth == "gold" else ", roughly, from votes alone"
    return (
        f"Correlation of two workers’ votes once the true label is known{source}: orange, they err together; blue, "
        "they avoid each other’s errors."
    )


def decides_about(kind: str) -> str:
    """How many items would decide a claim."""
    what = "fresh gold items" if kind == "gold" else "fresh items"
    return f"about {{certificate.{kind}.more_items}} {what}"


# --- the page of majorant serve

STAGE_WORDS = {  # what a run does, in its order
    "reading": "Reading the file",
    "counting": "Counting votes",
    "testing": "Testing whether majority vote is optimal",
    "comparing": "Comparing it with other rules",
    "judging": "Judging workers and confidence",
    "measuring": "Measuring agreement, and where a look pays",
    "writing": "Writing the report",
}
LOOKING = {"looking": "Looking at the columns"}
DRAWING = {"reading": STAGE_WORDS["reading"], "comparing": "Drawing the items to label"}
CHECKING, CHECKING_LABELS = "Checking the votes", "Checking with your labels"
WAITING, STARTING = "Waiting for its turn", "Starting"
DOWNLOADS = {
    "labels.csv": "one label per item, with its confidence",
    "workers.csv": "how good each worker is",
    "review.csv": "where a look pays most",
    "result.json": "every number",
    "report.html": "the whole report, one file",
    "to_label.csv": "the items to label, with the labels so far",
    "to_label.design.json": "the design that judges the labels",
}


def between(low: float | None, high: float | None, form: Callable[[Any], str]) -> str:
    """Low to high; empty where there is no interval.

    >>> between(.1, .2, percent), between(None, None, percent)
    ('10.0 % to 20.0 %', '')
    """
    return "" if low is None or low == high else f"{form(low)} to {form(high)}"


def in_sight_sentence(labels: int) -> str:
    """Labels that were given with the votes in sight."""
    were, they = ("was", "it") if labels == 1 else ("were", "they")
    return f"{labels} of them {were} given with the votes in sight: {they} may repeat the crowd."


def map_in_report(n_classes: int) -> str:
    """Why there is no live map."""
    return f"The live map shows two or three classes. Of {n_classes} the whole report holds a picture."


def progress_note(done: int | None, total: int | None, what: str) -> str:
    """How far a stage is.

    >>> progress_note(1200, None, ""), progress_note(500, 2000, "sorting")
    ('1,200 rows', 'sorting, 25 %')
    """
    if done is None:
        return ""
    if total:
        return f"{what}, {100 * done // total} %" if what else f"{100 * done // total} %"
    return f"{what}, {done:,}" if what else f"{done:,} rows"


def size_words(n_bytes: int) -> str:
    """The size of a file as people say it.

    >>> size_words(512), size_words(20_400), size_words(3_200_000_000)
    ('512 bytes', '20 kB', '3.2 GB')
    """
    for unit, name, digits in ((10**9, "GB", 1), (10**6, "MB", 1), (10**3, "kB", 0)):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.{digits}f} {name}"
    return count(n_bytes, "byte")


def asked_of_columns(missing: Sequence[str]) -> str:
    """What a person is asked where columns cannot be told by their names.

    >>> asked_of_columns(["label"]), asked_of_columns(["item", "label"])
    ('Which column is the label?', 'Which columns are the item and the label?')
    """
    roles = [f"the {role}" for role in missing]
    return f"Which column is {roles[0]}?" if len(roles) == 1 else f"Which columns are {one_of(roles)}?"
