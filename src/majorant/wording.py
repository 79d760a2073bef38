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
MODEL_IS_TRUTH = "the model's own figure: agreement with what this crowd would say with unlimited votes"
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

HARMLESS = "too few votes"  # the flag that says nothing against a worker
MILLION = 1e6


def workers_sentence(workers: Mapping[str, Any]) -> str:
    """Who stands out, what would change without them, and whether they err together."""
    flagged = {flag: number for flag, number in workers["flagged"].items() if flag != HARMLESS}
    text = f"{count(workers['workers'], 'worker')}; flagged: {_flags(flagged)}."
    if (removal := workers["removal"]) is not None:
        changed = count(removal["labels_changed"], "label")
        text += f" Without the {removal['workers']:,} flagged, {changed} would change."
    return f"{text} {(workers['dependence'] or {'sentence': ''})['sentence']}".rstrip()


def workers_judged(workers: Mapping[str, Any], n_shown: int) -> tuple[str, str]:
    """Who stands out by which method, and what is shown of the others."""
    judged = f"{count(workers['workers'], 'worker')} by {workers['method']}; flagged: {_flags(workers['flagged'])}."
    return judged, f"Those with the most votes, {n_shown} of {workers['workers']:,}:"


def _flags(flagged: Mapping[str, int]) -> str:
    return ", ".join(f"{flag} {number:,}" for flag, number in flagged.items()) or "none"


def few_votes_evidence(votes: int, least: int) -> str:
    """Why a worker is not judged."""
    return f"{votes} of the {least} that a judgement takes"


def accuracy_evidence(accuracy: float, votes: int, chance: float, others: float) -> str:
    """Why a worker is taken for a guesser, or for worse.

    >>> accuracy_evidence(.52, 1200, .5, .83)
    'right on 52 % of 1,200 votes; guessing 50 %, the others 83 %'
    """
    right = f"right on {percent(accuracy, 0)} of {votes:,} votes"
    return f"{right}; guessing {percent(chance, 0)}, the others {percent(others, 0)}"


def one_label_evidence(label: Any, votes: int, odds: float) -> str:
    """Why a worker is taken to give one label always.

    >>> one_label_evidence("no", 20, 4e3), one_label_evidence("no", 90, 1e9)[-24:]
    ("no on all 20 votes; by the crowd's habits 1 in 4,000", 'less than 1 in a million')
    """
    rare = f"1 in {odds:,.0f}" if odds < MILLION else "less than 1 in a million"
    return f"{label} on all {votes:,} votes; by the crowd's habits {rare}"


def speed_evidence(share: float, votes: int, others: float, seconds: float) -> str:
    """Why a worker is taken to click through."""
    fast = f"{percent(share, 0)} of {votes:,} votes in under a third of the usual time on the item"
    return f"{fast}, {percent(others, 0)} of the others'; median {seconds:.3g} s"


def redundant_evidence(other: Any, agreed: int, items: int, expected: float) -> str:
    """Why a worker is taken to repeat another."""
    return (
        f"same label as {other} on {agreed:,} of {items:,} common items, where {percent(expected, 0)} would be expected"
    )


def _names(names: Iterable[Any], between: str = ", ") -> str:
    return between.join(map(shown, names))


def review_sentence(review: Mapping[str, Any], confidence: Mapping[str, Any]) -> str:
    """What a look at the most doubtful items would gain, by whom that is expected, and which comes first."""
    by, items = _by_confidence(confidence), count(review["items"], "most doubtful item")
    gain = f"{by[0].upper()}{by[1:]}, {_looker(review)} on the {items} would gain {in_points(review['gain'])}"
    return f"{gain}; the first is {shown(review['rows'][0]['item'])} ({review['rows'][0]['reason']})."


def _by_confidence(confidence: Mapping[str, Any]) -> str:
    """Whose the doubt about labels is."""
    return "by confidences that gold labels calibrated" if confidence["source"] == "gold" else "by the model alone"


def _looker(review: Mapping[str, Any]) -> str:
    return "an expert" if review["resource"] == "expert" else "one more vote"


# --- what is taken for granted, and the tests of it

INDEPENDENT = "votes on an item are independent given its class"
PLAN_ASSUMPTIONS = (
    f"{INDEPENDENT} (hard items and shared errors make votes gain less than shown)",
    "all votes, also further ones, come from one confusion matrix; a tied vote is drawn",
)
VOTES_DEPEND = "votes were independent"  # what a plan doubts
WORKERS_DIFFER = "workers were alike"
SIZES_DIFFER = "the number of votes did not go with the item"
# --- claims

TOO_FEW_VOTES = (
    "No item has three votes, so the data cannot tell how good the voters are: collect a third vote on some of the "
    "items."
)


def right_sentence(shares: Mapping[str, str], n_gold: int | None) -> str:
    """How often each rule is right, by gold or, said to be that, by the model.

    >>> right_sentence({"majority": "80.0 %", "ebcc": "82.0 %"}, 50)
    'By gold (50 items; a tie is a fair draw) majority vote is right on 80.0 %, ebcc on 82.0 % of the items.'
    """
    by = "By the model (agreement with what this crowd would say with unlimited votes)"
    if n_gold is not None:
        by = f"By gold ({count(n_gold, 'item')}; a tie is a fair draw)"
    first, *others = shares
    rest = "".join(f", {rule_words(name)} on {shares[name]}" for name in others)
    return f"{by} {rule_words(first)} is right on {shares[first]}{rest} of the items."


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

ALL_BEST = "The best rule of all, if the model holds"
NOT_BEST = "Not the best rule that ignores who voted"
BY_GOLD_BEST = "By gold, as good as any rule that ignores who voted"
BY_GOLD_QUESTION = "Do gold labels alone settle it?"
IDENTIFIED_QUESTION = "Can the votes tell how good the voters are?"
NOT_IDENTIFIED = "Inconclusive: a third vote on some items, or gold labels, would tell"
INDEPENDENT_QUESTION = "Are votes on an item independent, given its true label?"
NOT_TESTABLE = "assumed, cannot be tested"
GIVEN_DIFFICULTY = "yes, given item difficulty"
DEPENDENT = "The model fails: errors are shared, or items mislead"
INSIDE_QUESTION = "Do class balance and noise lie where majority vote is optimal?"
OUTSIDE_PERHAPS = "Outside at the estimate, but not certain"
EITHER_GOOD = "proved or supported"
NAMED_QUESTION = "Is it also as good as any rule that knows who voted?"
BALANCE_TITLE, ACCURACIES_TITLE = "Class balance against noise", "Accuracy on either class"
NOISE_AXIS, ACCURACY_ON = "noise: ", "accuracy on "  # how the names of axes begin
EVEN_NOISE = "drawn as if every wrong label were equally likely, which the verdict does not assume"
PANEL_PLACE = "at the mean of the workers' confusion matrices; the verdict takes each worker's own"


def margin_at_estimate(margin: float) -> str:
    """How far the estimate lies from where rules differ."""
    return f"margin {margin:+.2f} nats at the estimate"


def certain_question(level: float) -> str:
    """Whether a verdict is certain."""
    return f"Is that certain, at {level_percent(level)}?"


def takes_more(more_items: int | None) -> str:
    """What would decide."""
    return f"Undecided: it takes {f'about {more_items:,} ' if more_items else ''}fresh items"


def knowing_gains(*, surely: bool) -> str:
    """What comes of knowing who voted."""
    return f"The best rule that ignores who voted; knowing who voted {'gains' if surely else 'may gain'} more"


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


def headline(answer: Any) -> str:
    """The decision, as a manager reads it."""
    if answer.action == "switch":
        return f"Switch to {answer.other}."
    if answer.action == "keep":
        return "Keep majority vote."
    until = f"use {answer.other}, as you asked" if answer.asked_for else "keep majority vote"
    return f"Ask an expert about {count(answer.ask.first, 'item')}; until then {until}."


def rule_words(rule: str) -> str:
    """A rule, as sentences name it."""
    return "majority vote" if rule == "majority" else rule


def gain_line(answer: Any) -> str:
    """What the other rule gains over majority vote, in percentage points, and what ties have to do with it."""
    present = rule_words(answer.present)
    if answer.alone:
        return f"None: majority vote was compared with no other rule. {tie_sentence(answer)}".rstrip()
    if not answer.differ:
        return f"None: {answer.other} and {present} give every item the same label."
    gain = answer.gain
    differ = f"{answer.other} and {present} differ on {answer.differ:,} of {count(answer.items, 'item')}"
    if answer.basis in ("bound", "draw", "votes"):
        text = f"At most {at_most(answer.stake)} percentage points either way: {differ}."
    elif gain.value is None:
        text = f"Between {signed(gain.low)} and {signed(gain.high)} percentage points: {differ}."
    elif gain.low is None or gain.low == gain.high:
        text = f"{signed(gain.value)} percentage points: {differ}."
    else:
        text = f"{signed(gain.value)} percentage points [{signed(gain.low)}, {signed(gain.high)}]: {differ}."
    if answer.basis == "model":
        text = f"If the model holds, {text[0].lower()}{text[1:]}"
    return f"{text} {tie_sentence(answer)}".rstrip()


def labels_line(answer: Any) -> str:
    """What the choice does to the labels, counted in labels, with what the count rests on."""
    if answer.alone:
        return "No label changes: majority vote was compared with no other rule."
    if not answer.differ:
        same = f"{answer.other} and {rule_words(answer.present)} say the same of {count(answer.items, 'item')}"
        return f"No label changes: {same}."
    start, gain = f"{answer.differ:,} of {answer.items:,} labels differ", answer.gain
    by_expert = answer.basis == "expert labels" and gain.low is not None
    if answer.basis in ("bound", "draw", "votes") or (gain.value is None and not by_expert):
        return f"{start}; which of them are right is not known yet."
    scale = answer.items / 100
    source = {"gold": "by the gold labels", "expert labels": "by the expert's labels"}.get(
        answer.basis, "if the model holds"
    )
    if gain.low is None or gain.low == gain.high:
        about, between = "" if answer.basis in ("gold", "expert labels") else "about ", ""
    else:  # whole labels, rounded outwards
        low, high = (round(end * scale, 6) for end in (gain.low, gain.high))
        about, between = "about ", more_to_fewer(int(low // 1), int(-(-high // 1)))
    if gain.value is None:
        return f"{start}; {source} so far, {answer.other} gets {between} of them right."
    between = f" ({between})" if between else ""
    right = more_or_fewer(round(gain.value * scale))
    return f"{start}; {source}, {answer.other} gets {about}{right} of them right{between}."


def more_or_fewer(labels: int) -> str:
    """A difference in labels.

    >>> more_or_fewer(150), more_or_fewer(-3)
    ('150 more', '3 fewer')
    """
    return f"{abs(labels):,} {'fewer' if labels < 0 else 'more'}"


def more_to_fewer(low: int, high: int) -> str:
    """An interval of differences in labels.

    >>> more_to_fewer(20, 260), more_to_fewer(-20, 260), more_to_fewer(-9, -2)
    ('20 to 260 more', '20 fewer to 260 more', '9 to 2 fewer')
    """
    if low < 0 <= high:
        return f"{more_or_fewer(low)} to {more_or_fewer(high)}"
    return f"{abs(low):,} to {more_or_fewer(high)}"


def tie_sentence(answer: Any) -> str:
    """The share of the items that majority vote leaves tied, and what a fair draw on them costs."""
    if not answer.tied:
        return ""
    share = f"{count(answer.tied, 'item')} ({percent(answer.tied / answer.items)}) are tied"
    share = share.replace(" are tied", " is tied") if answer.tied == 1 else share
    if answer.basis == "expert labels":
        return f"{share}; the design broke them once, at random."
    if answer.tie_gain is None or answer.basis not in ("gold", "model"):
        return f"{share}; majority vote counts as a fair draw there."
    source = "" if answer.basis == "gold" else " by the model"
    cost = f"{signed(answer.tie_gain)} points{source} come from deciding them rather than drawing"
    return f"{share}; {cost}."


MAJORITY_ALONE = (
    "None: these votes teach no other rule. It takes two classes and an item with three votes to see whose votes are "
    "better."
)
MAJORITY_ASKED_FOR = "None: majority vote is the rule that you asked for."


def evidence(answer: Any) -> str:
    """What the answer rests on, with its condition in the same sentence."""
    if answer.basis == "gold":
        return _by_gold(answer)
    if answer.alone:
        return MAJORITY_ASKED_FOR if answer.asked_for else MAJORITY_ALONE
    if answer.basis == "bound" and not answer.differ:
        return "Exact, without labels or model: the two rules give every item the same label."
    if answer.basis == "expert labels":
        return _by_expert(answer)
    if answer.basis == "bound":
        return (
            f"Exact, without labels or model: whichever of the two you use, accuracy changes by at most "
            f"{at_most(answer.stake)} points (tolerance {answer.tolerance:.1f})."
        )
    if answer.basis == "draw":
        return (
            f"Exact, without labels or model: the two differ only on tied items, and each of these, once drawn, has "
            f"the label of {answer.other}. No expert label can tell them apart."
        )
    if answer.basis == "model":
        return _by_model(answer)
    return _votes_cannot_tell(answer)


def _by_expert(answer: Any) -> str:
    start = "None yet, by expert labels" if answer.action == "ask" else "Exact, by expert labels"
    return f"{start}: {race_sentence(answer.expert)} {withdrawn_sentence(answer)}".rstrip()


def _by_gold(answer: Any) -> str:
    gold = answer.gold
    tie = ", a tie by its share" if answer.tied else ""
    moved = f"{gold.wins:.0f} become right and {gold.losses:.0f} wrong{tie}"
    right = f"of the {gold.used:,} where the two rules differ, {moved}"
    if gold.whole:
        text = f"Exact, by gold: every item has a gold label; {right}."
    else:
        text = (
            f"Exact, by gold, if the {count(gold.labels, 'gold item')} are a random sample of the items: {right} "
            f"({level_percent(answer.level)}, however often you look; no model of the votes)."
        )
    return f"{text} {withdrawn_sentence(answer)}".rstrip()


def withdrawn_sentence(answer: Any) -> str:
    """What a model expected and labels exclude."""
    expected = answer.withdrawn
    if expected is None:
        return ""
    low, high, value = answer.gain.low, answer.gain.high, expected.value
    allow = f"at most {signed(high)}" if value > high else f"at least {signed(low)}"
    labels = "the gold labels" if answer.basis == "gold" else "the expert's labels"
    labels_say = f"{labels} say {signed(high)}" if low == high else f"{labels} allow {allow}"
    return f"The model expected {signed(value)} points; {labels_say}."


def _by_model(answer: Any) -> str:
    model = answer.model
    condition = "If votes on an item are independent given its class and each worker keeps one confusion matrix"
    tested = "what of this can be tested was, and passed"
    if model.untested:
        tested = (
            f"not tested: {one_of(model.untested)}; it holds up to a correlation of {model.breakdown:.2g} between votes"
        )
    if answer.action == "keep":
        claim = "no rule gains more than the tolerance over majority vote"
        if model.best:
            claim = "no rule is expected to beat majority vote"
    else:
        claim = f"knowing who voted gains about {signed(answer.gain.value)} points"
    return f"{condition}, {claim} ({level_percent(answer.level)}, {tested})."


def _votes_cannot_tell(answer: Any) -> str:
    model = answer.model
    if model.failed:
        reason = f"the votes contradict the model ({one_of(model.failed)})"
    elif model.untested:
        reason = f"these votes cannot test what a model needs ({one_of(model.untested)})"
    elif model.panel:
        reason = "judges of a panel may err together, which votes do not show"
    else:
        reason = "the model leaves it open"
    return f"None yet: votes alone cannot tell which of the two is right where they differ; {reason}."


def in_command(name: str) -> str:
    """A file as a command names it, in any shell.

    >>> in_command("votes.csv"), in_command("my votes.csv")
    ('votes.csv', '"my votes.csv"')
    """
    return f'"{name}"' if any(map(str.isspace, name)) else name


def next_command(answer: Any, source: str) -> str:
    """The command to run now, empty where there is nothing to ask."""
    ask, file = answer.ask, in_command(source or "votes.csv")
    if ask is None:
        return ""
    if ask.design is not None:
        return more_command(source, ask.labels, ask.design)
    return f"majorant ask {file} --n {ask.first}"


def more_command(source: str, labels: int, design: str) -> str:
    """The command that asks for further labels of a design."""
    return f"majorant ask {in_command(source or 'votes.csv')} --more {labels} --design {in_command(design)}"


def next_move(answer: Any, command: str) -> str:
    """What to do now; it ends with the command."""
    ask = answer.ask
    if ask is None:
        if answer.basis == "draw":
            return "Nothing: go on with majority vote, its ties drawn. Another seed may draw them otherwise."
        if answer.alone and answer.tied:
            return f"Go on with majority vote; another vote, or an expert, decides {count(answer.tied, 'tied item')}."
        return "Use the labels." if answer.action == "switch" else "Nothing: go on with majority vote."
    if ask.design is not None:
        return f"Label what is left, or ask about more items: {command}"
    if answer.action != "ask":
        now = "Use the labels" if answer.action == "switch" else "Go on with majority vote"
        return f"{now}; about {count(ask.labels, 'expert label')} would confirm it without a model: {command}"
    start = f"Start with {ask.first:,} of the {count(ask.items, 'item')} on which they differ"
    if ask.first == ask.items:
        start = f"Label the {count(ask.items, 'item')} on which they differ"
    rest = f"; about {ask.labels:,} should settle it" if ask.labels > ask.first else ", which should settle it"
    return f"{start}{rest}: {command}"


# --- asking an expert


def at_stake(rules: Sequence[str], differ: int, n_items: int, stake: float, tolerance: float) -> str:
    """What can lie between rules at most: they are equally right where they say the same, a tie being a fair draw.

    >>> at_stake(["majority", "auto"], 72, 800, .085, .01)
    'majority and auto differ on 72 of 800 items (9.0 %), so at most 8.5 points are at stake.'
    >>> at_stake(["majority", "auto"], 5, 500, .01, .01)
    'majority and auto differ on 5 of 500 items (1.0 %): whichever you use, accuracy changes by at most 1.0 points.'
    """
    if not differ:
        return f"{one_of(rules)} give every one of {count(n_items, 'item')} the same label."
    share = f"{one_of(rules)} differ on {differ:,} of {count(n_items, 'item')} ({percent(differ / n_items)})"
    if len(rules) > 2:
        return f"{share}; on the others the choice does not matter."
    most = at_most(100 * stake)
    if stake <= tolerance:
        return f"{share}: whichever you use, accuracy changes by at most {most} points."
    return f"{share}, so at most {most} points are at stake."


def labels_planned(expected: int | None, asked: int) -> str:
    """How many labels it will probably take, before any is asked for."""
    if expected is None:
        return "How many labels it takes will show after the first ones."
    if expected == 0:
        return "No labels are needed."
    if asked >= expected:
        return f"About {count(expected, 'label')} should settle it; these {asked:,} probably will."
    return f"About {count(expected, 'label')} should settle it; these {asked:,} come first."


def labelling_help(labels: Sequence[Any]) -> str:
    """What to write into the empty column."""
    return (
        f"Fill in the column label from the top ({listed(map(str, labels))}; ? where you cannot tell). "
        "Do not look at the votes. Stop whenever you like."
    )


def race_sentence(outcome: Any) -> str:
    """What expert labels say of two or more rules, with what it rests on."""
    return _two_rules(outcome) if len(outcome.rules) == 2 else _several_rules(outcome)


def _two_rules(outcome: Any) -> str:
    present, other = outcome.rules
    low, high = (signed(100 * end) for end in (outcome.value.low, outcome.value.high))
    counted = (
        f"{outcome.labels:,} of the {outcome.n_differ:,} items where the two differ are labelled{_skipped(outcome)}: "
        f"{other} is right on {outcome.right[other]:,}, {present} on {outcome.right[present]:,}"
    )
    where = "this file" if outcome.kind == "rules" else f"the {outcome.n_items:,} items that taught it nothing"
    ends = low if low == high else f"{low} to {high}"
    gains = f"{other} gains {ends} points over {present} on {where} ({_level(outcome)})"
    if not outcome.labels and outcome.decided:
        stake = outcome.facts["stake"]
        return at_stake(outcome.rules, outcome.n_differ, outcome.n_items, stake, outcome.tolerance)
    if not outcome.decided:
        return f"Open after {count(outcome.labels, 'label')}: {gains}. {counted}. {_more(outcome)}"
    if outcome.verdict == "same":
        near = at_most(100 * outcome.tolerance)
        return f"{other} and {present} are the same within {near} points: {counted}. {gains}."
    best = other if outcome.verdict == "better" else present
    return f"{best} is better: {counted}. {gains}."


def _several_rules(outcome: Any) -> str:
    near, best = at_most(100 * outcome.tolerance), outcome.leader
    rivals = len(outcome.rules) - len(outcome.facts["same_as"])
    out = [rule for rule in outcome.rules if rule not in outcome.alive and rule not in outcome.facts["same_as"]]
    dropped = f" Out: {listed(out)}." if out else ""
    if outcome.decided:
        apart = [rule for rule in outcome.alive if rule != best]
        alike = f" Not told apart: {listed([best, *apart])}." if apart else ""
        claim = f"{best} is within {near} points of the best of these {rivals} rules on this file"
        return f"{claim} ({count(outcome.labels, 'label')}{_skipped(outcome)}; {_level(outcome)}).{dropped}{alike}"
    right = [f"{rule} {outcome.right[rule]:,}" for rule in outcome.rules if rule != best]
    return (
        f"After {count(outcome.labels, 'label')}{_skipped(outcome)} {best} leads: right on {outcome.right[best]:,} "
        f"({listed(right)}). It may be up to {at_most(100 * outcome.below)} points below the best.{dropped} "
        f"Use {best} now, or go on. {_more(outcome)}"
    )


def close_calls_sentence(outcome: Any) -> str:
    """What expert labels of close calls say of majority vote against rules that look only at counts."""
    facts, near = outcome.facts, at_most(100 * outcome.tolerance)
    family = "a rule that looks at how close the vote was and which class led"
    low, high = at_most(100 * outcome.value.low), at_most(100 * outcome.value.high)
    if outcome.verdict == "good enough":
        text = f"Good enough: {family.replace('a rule', 'no rule')} gains more than {near} points"
    elif outcome.verdict == "beaten":
        text = f"Beaten: {family} gains {low} to {high} points over majority vote"
    else:
        text = f"Open: {family} gains {low} to {high} points over majority vote"
    counted = f"{count(outcome.labels, 'label')}{_skipped(outcome)}; {_level(outcome)}"
    if facts["monotone"]:
        text = f"If a clearer vote is never less likely to be right: {text[0].lower()}{text[1:]}"
    ties = ""
    if tied := facts["tied"]:
        depends = f"up to {at_most(100 * facts['tie_stake'])} points depend on how they are broken"
        ties = f" {count(tied, 'tied item')} ({percent(tied / outcome.n_items)}) are not part of this: {depends}."
    return f"{text} ({counted}).{ties}" + ("" if outcome.decided else f" {_more(outcome)}")


def accuracy_sentence(outcome: Any) -> str:
    """What expert labels of items drawn uniformly say of the accuracy of the written labels."""
    rule, value = outcome.leader, outcome.value
    text = (
        f"{rule}'s labels are {100 * value.low:.1f} to {100 * value.high:.1f} % right on these {outcome.n_items:,} "
        f"items ({count(outcome.labels, 'label')}{_skipped(outcome)}, drawn uniformly; {_level(outcome)})."
    )
    return text if outcome.decided else f"{text} {_more(outcome)}"


def _level(outcome: Any) -> str:
    return f"{level_percent(outcome.level)}, however often you look; no model of the votes"


def _skipped(outcome: Any) -> str:
    return f", {outcome.skipped:,} skipped" if outcome.skipped else ""


def _more(outcome: Any) -> str:
    if outcome.more is None:
        return "It will take hundreds more labels to settle it."
    if not outcome.more:
        return "All items that could tell are labelled; what you skipped leaves it open."
    return f"About {count(outcome.more, 'more label')} should settle it."


def answers_notes(outcome: Any) -> list[str]:
    """What there is to know about the labels themselves."""
    notes = []
    if outcome.ignored:
        named = listed(map(str, outcome.ignored))
        notes.append(f"{count(len(outcome.ignored), 'labelled item')} outside the design, not counted: {named}.")
    if outcome.unknown:
        named = listed(map(repr, outcome.unknown))
        notes.append(f"Labels that no vote uses, counted as skipped: {named}.")
    if outcome.relabelled:
        named = listed(map(str, outcome.relabelled))
        notes.append(f"{count(len(outcome.relabelled), 'item')} labelled twice, the last label counts: {named}.")
    if outcome.disagreed:
        named = listed(map(str, outcome.disagreed))
        notes.append(f"Experts disagree on {count(len(outcome.disagreed), 'item')}, counted as skipped: {named}.")
    return notes


NOT_A_SAMPLE = (
    "Labels drawn by design are no random sample: they answer the design's question, and no accuracy, calibration or "
    "choice among other rules can be read off them."
)
A_SAMPLE = "The items were drawn uniformly from all: these labels are a random sample, and gold for all else as well."
ACCURACY_COSTS = (
    "Accuracy takes hundreds of labels, where choosing between rules takes tens: an interval is as wide as the number "
    "of labels allows, however good the rules are."
)


def outcome_sentence(outcome: Any) -> str:
    """What expert labels by design settle."""
    sentences = {"close-calls": close_calls_sentence, "accuracy": accuracy_sentence}
    return sentences.get(outcome.kind, race_sentence)(outcome)


def ask_lines(
    *,
    question: str,
    rules: Sequence[str],
    items: int,
    differ: int,
    stake: float | None,
    tolerance: float,
    expected: int | None,
    asked: int,
    labels: Sequence[str],
    files: Sequence[str],
    votes: str,
) -> list[str]:
    """What is asked and why, how many labels it will take, and what to do with the files."""
    if question in ("rules", "correct"):
        first = at_stake(rules, differ, items, stake or 0.0, tolerance)
    elif question == "learn":
        first = (
            f"Does the crowd lean to a class? Labels of {count(asked, 'item')}, drawn from all {items:,}, teach a "
            f"correction of {rules[0]}; labels of others then show whether it is better."
        )
    elif question == "accuracy":
        first = f"How often are the labels of {rules[0]} right on these {count(items, 'item')}? {ACCURACY_COSTS}"
    else:
        near = at_most(100 * tolerance)
        first = f"Does majority vote give away more than {near} points in {count(differ, 'item')} that are not tied?"
    if not asked:
        return [first, "No labels are needed." if question in ("rules", "correct") else "There is nothing to label."]
    lines = [first] if question == "learn" else [first, labels_planned(expected, asked)]
    lines.append(
        f"Wrote    {one_of(files)}: {count(asked, 'item')} in random order, and the design that will judge them."
    )
    if question == "learn":
        check = f"majorant ask {votes} --correct --design {in_command(files[-1])} --out to_judge.csv"
        in_tool = f"Label them from the top in your tool and export them as {files[0]}."
    else:
        check = judge_command(files, votes)
        in_tool = "Label them from the top in your tool and export them, here to EXPORT."
    helped = labelling_help(labels) if files[0].endswith(".csv") else in_tool
    return [*lines, helped, label_next(files[0], check)]


def more_lines(added: int, files: Sequence[str], votes: str) -> list[str]:
    """What was added to a file of items to label, and what to do with it."""
    wrote = f"Wrote    {one_of(files)}: {count(added, 'further item')}; labels that stand in the file stay."
    return [wrote if added else "No item is left to ask about.", label_next(files[0], judge_command(files, votes))]


def judge_command(files: Sequence[str], votes: str) -> str:
    """The command that judges labels: of the file that was filled in, or of what a tool exports."""
    if files[0].endswith(".csv"):
        return f"majorant check {votes} --gold-file {in_command(files[0])}"
    return f"majorant check {votes} --gold-file EXPORT --design {in_command(files[-1])}"


def label_next(file: str, check: str) -> str:
    """The command to label items with, and the one that judges the labels."""
    if not file.endswith(".csv"):
        return f"Next     {check}"
    return f"Next     majorant label {in_command(file)}   or fill in the file; then {check}"


def label_line(number: int, n_items: int, shown: dict[str, str], keys: dict[str, str]) -> list[str]:
    """An item to label in the terminal, and the keys."""
    content = [f"  {name}: {value}" for name, value in shown.items()]
    choices = "   ".join(f"[{key}] {label}" for key, label in keys.items())
    return ["", f"{number} of {n_items}", *content, f"  {choices}   [s] cannot tell   [u] undo   [q] quit"]


# --- judges


def gate_sentence(
    judged: Sequence[tuple[str, float | None, float | None, float | None]], *, bar: float, level: float, n_gold: int
) -> str:
    """Whether judges are good enough to gate on; each comes with its accuracy by gold and the ends of its interval.

    >>> gate_sentence([("a", .95, .91, .98)], bar=.9, level=.95, n_gold=200)[:70]
    'Good enough to gate on at 90 %: a, right on 95.0 % of the gold items, '
    >>> gate_sentence([], bar=.9, level=.95, n_gold=0)
    'Not known: votes alone promise nothing about judges who may err together. Label a few items: majorant ask.'
    """
    wanted, sure = percent(bar, 0), f"{level_percent(level)} confidence"
    if not judged:
        alone = "votes alone promise nothing about judges who may err together"
        return f"Not known: {alone}. Label a few items: majorant ask."
    good = [one for one in judged if one[2] is not None and one[2] >= bar]
    if good:
        name, value, low, _ = max(good, key=lambda one: one[2] or 0.0)
        seen, bound = percent(value or 0.0), f"at least {percent(low or 0.0)} of all that it labels"
        return f"Good enough to gate on at {wanted}: {name}, right on {seen} of the gold items, {bound} ({sure})."
    if all(one[3] is not None and one[3] < bar for one in judged):
        name, value, _, high = max(judged, key=lambda one: one[1] or 0.0)
        seen, bound = percent(value or 0.0), f"at most {percent(high or 0.0)} of all that it labels"
        best = f"the best, {name}, is right on {seen} of the gold items, {bound}"
        return f"Not good enough to gate on at {wanted}: {best} ({sure})."
    few = f"{count(n_gold, 'gold label')} {'is' if n_gold == 1 else 'are'} too few"
    return f"Not known yet: {few} to tell whether any judge is right {wanted} of the time."


def judges_sentence(source: str) -> str:
    """What else there is to ask of a log of judges."""
    return (
        f"majorant judges {source} holds each judge against gold: who repeats whom, and is it good enough to gate on?"
    )


def _most_confused(confusion: Sequence[Sequence[int]], labels: Sequence[Any]) -> list[str]:
    """The two mistakes that a judge makes most.

    >>> _most_confused([[5, 2], [1, 9]], ["fail", "pass"])
    ['    calls fail pass 2 times of 7, pass fail 1 time of 10']
    """
    off = [(n, k, l) for k, row in enumerate(confusion) for l, n in enumerate(row) if k != l and n]
    mistakes = [
        f"{labels[k]} {labels[l]} {count(n, 'time')} of {sum(confusion[k])}"
        for n, k, l in sorted(off, key=lambda one: -one[0])[:2]
    ]
    return [f"    calls {', '.join(mistakes)}"] if mistakes else []


def judge_lines(facts: dict[str, Any]) -> list[str]:
    """Each judge, the panel, pairs that agree most, and the order of candidates, a line each."""
    lines = [facts["gate"]]
    for one in [*facts["judges"], *([facts["panel"]] if facts["panel"] else [])]:
        if one["accuracy"] is None:
            lines.append(f"  {one['name']}: labels no gold item")
            continue
        kappa = "" if one["kappa"] is None else f", kappa {one['kappa']:.2f}"
        wrong = f"; wrong on {listed(map(str, one['wrong']))}" if one["wrong"] else ""
        between = f"{percent(one['low'])} to {percent(one['high'])}"
        lines.append(f"  {one['name']}: {one['right']} of {one['judged']} right ({between}){kappa}{wrong}")
        lines += _most_confused(one["confusion"], facts["labels"])
    if facts["worth"]["value"] is not None:
        worth = facts["worth"]
        ends = f"{worth['low']:.1f} to {worth['high']:.1f}"
        n_judges = count(len(facts["judges"]), "judge")
        lines.append(f"  The {n_judges} are worth {worth['value']:.1f} independent ones ({ends}), by their gold errors")
    for pair in facts["repeats"][:3]:
        either = pair["either_wrong"]
        errors = f", wrong together on {pair['both_wrong']} of {either} on which either is" if either else ""
        agreed = f"{percent(pair['agreed'])} of {count(pair['common'], 'item')}"
        lines.append(f"  {pair['first']} and {pair['second']} agree on {agreed}{errors}")
    for one in facts["positions"]:
        biased = one["p_value"] is not None and one["p_value"] < 0.05
        leans = "the first" if one["first_twice"] > one["second_twice"] else "the second"
        verdict = f"prefers {leans} shown (p = {one['p_value']:.2g})" if biased else "no preference for a place found"
        lines.append(
            f"  {one['judge']}: the same in both orders on {one['consistent']} of {one['pairs']}, the first twice on "
            f"{one['first_twice']}, the second twice on {one['second_twice']}: {verdict}"
        )
    return lines


# --- a plan

PLAN_ADVICE = {
    "enough": "The votes you have are enough.",
    "better rule": "No more votes are needed: the best rule reaches it with the votes you have.",
    "more votes": "It takes more votes; a better rule saves none of them.",
    "both": "The best rule saves votes.",
    "know who votes": "No more votes are needed: the best rule that knows who voted reaches it with those you have.",
    "doubtful": "The data put that in doubt, so expect less.",
    "out of reach": "No number of votes up to this limit reaches it: better workers or instructions would.",
}


def plan_sentence(plan: Any) -> str:
    """How many votes per item an accuracy takes, by majority and by the best rule, begun by what it rests on."""

    def votes(needed: int | None) -> str:
        return f"more than {len(plan.points)} votes" if needed is None else count(needed, "vote")

    now = "" if plan.votes_now is None else f" You have {plan.votes_now:.3g}."
    condition, takes = (one_of(plan.doubts), "would take") if plan.doubts else ("votes are independent", "takes")
    return (
        f"If {condition}, being right on {100 * plan.target:g} % of the items {takes} {votes(plan.majority_votes)} per "
        f"item by majority, {votes(plan.best_votes)} by the best rule that ignores who voted.{now} "
        f"{PLAN_ADVICE[plan.advice]}"
    )


def plan_doubt(plan: Mapping[str, Any]) -> list[str]:
    """A warning where gold, or the votes themselves, show that the model promises too much; a line or two."""
    if VOTES_DEPEND not in plan["doubts"]:
        return []
    observed, expected = plan["observed_now"], plan["expected_now"]
    if expected is None or observed["high"] is None or observed["high"] >= expected:
        return ["Votes depend on each other (hard items, shared errors): they gain less than the numbers below."]
    return [
        f"By gold, majority is right on {with_ends(observed, percent)} of the items. The numbers below expect",
        f"{percent(expected)}: votes depend on each other (hard items, shared errors).",
    ]


def plan_decides(plan: Mapping[str, Any]) -> list[str]:
    """How many further items would settle whether majority vote is optimal, with gold and without."""
    condition = f", if {one_of(plan['doubts'])}" if plan["doubts"] else ""
    wants = [
        (plan["gold_items"], "gold item", "", condition),
        (plan["more_gold"], "fresh gold item", ", judged by themselves,", ""),
        (plan["more_items"], "fresh item", " without gold, judged by themselves,", ""),
    ]
    return [
        f"About {count(number, what)}{more} would decide whether majority vote is optimal{condition}."
        for number, what, more, condition in wants
        if number is not None
    ]


def plan_keeps(plan: Mapping[str, Any]) -> str:
    """Which workers to keep, and how often they are right."""
    reached = percent(plan["panel"][len(plan["keep"]) - 1]["best"])
    together = "together " if len(plan["keep"]) > 1 else ""
    condition = f" if {one_of(plan['doubts'])}" if plan["doubts"] else ""
    right = f"{together}right on {reached}{condition}, by the best rule that knows who voted"
    return f"Keep {_names(plan['keep'])}: {right}."


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
PATH_TITLE = "The questions, and the way that these votes took"
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


def path_words(path: Mapping[str, Any]) -> str:
    """The questions that were answered, and where they led."""
    answered = [f"{step['question']} {step['answer']}." for step in path["steps"] if step["answer"] is not None]
    return " ".join([*answered, f"So: {path['outcome']}."])


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
SETTLE_TITLE = "Settle it with about {answer.ask.labels} labels"
NO_PLAN = "There is no plan for these votes."
NOTHING_TO_REVIEW = "No item would gain from a second look."
LABEL_BY_LABEL = (
    "An item may have several labels, so each label is a question of its own: is it given, yes or no? Each verdict is "
    "about one label."
)
SETTLE = (
    "An expert labels some of these, in a random order; the comparison is then exact, whatever the votes, workers and "
    "items are like."
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
REMOVAL = "Without the {workers.removal.workers} flagged, {workers.removal.labels_changed} labels would change."
ROWS_READ = (
    "{input.rows} read: {input.votes} votes, {input.abstained} without a label, {input.merged} exact copies merged, "
    "{input.dropped} repeats dropped"
)
PATH_ABOUT = (
    "The claim about rules that ignore who voted comes from the same questions each time. The way that these votes "
    "took is in colour"
)
PATH_AFTER = "The answer above looks at evidence that assumes less first."


def gain_title(answer: Mapping[str, Any]) -> str:
    """Above the gain."""
    return f"Gain of {answer['other']} over {rule_words(answer['present'])}"


def gain_figure(answer: Mapping[str, Any]) -> tuple[str, str]:
    """The gain as one large number, and below it what goes with it."""
    gain, basis = answer["gain"], answer["basis"]
    if gain["value"] is not None and basis not in ("bound", "draw", "votes"):
        between = "" if gain["low"] in (None, gain["high"]) else "{answer.gain.low:gain} to {answer.gain.high:gain}"
        return "{answer.gain.value:gain}", between + (" if the model holds" if basis == "model" else "")
    if basis == "expert labels" and gain["low"] is not None:
        between = "{answer.gain.low:gain} to {answer.gain.high:gain}"
        return between, "by {answer.expert.labels} labels; more of them narrow it"
    if answer["differ"]:
        return f"≤ {at_most(answer['stake'])}", "either way; which way is not known"
    return "0", "exactly: the labels are the same"


def accuracy_title(accuracy: Mapping[str, Any]) -> str:
    """Above the accuracy of majority vote."""
    return "Majority vote is right on" + (", by the model" if accuracy["source"] == "model" else "")


def scope(summary: Mapping[str, Any]) -> str:
    """Of which votes all this is said, and what its accuracies and claims rest on."""
    text = "{votes.votes} votes by {votes.workers} workers on {votes.items} items, {votes.classes} classes."
    if summary["accuracy"]["source"] == "model" and summary["accuracy"]["majority"]["value"] is not None:
        text += (
            " The model's figures are agreement with what this crowd would say with unlimited votes; without gold "
            "labels nothing shows how often that is right."
        )
    return f"{text} {sampled('{sample.items}')}." if "sample" in summary else text


def sampled(items: str) -> str:
    """That not all items taught what is said of them, without its stop."""
    return f"Claims, rule and plan were learned from {items} items drawn at random"


def settle(between: Sequence[str]) -> str:
    """What labels of an expert would show, and how."""
    return f"Only the items on which {one_of(between)} differ can decide between them. {SETTLE}"


def change_sentence(method: str) -> str:
    """What the other rule does to the labels."""
    if method == "majority":
        return "These votes bear no rule but majority vote, which leaves {majority.tied} items tied."
    return (
        f"With {method} in place of majority vote, {{decision.labels_changed}} labels change and "
        "{decision.ties_settled} ties are decided. Blue stays as it was; orange moves."
    )


def rules_caption(source: str, not_run: Sequence[str]) -> str:
    """Above the rules that were fitted."""
    by = "on the gold items; the gain above counts all items"
    if source != "gold":
        by = "by the model: agreement with what this crowd would say with unlimited votes"
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


def review_about(review: Mapping[str, Any], confidence: Mapping[str, Any]) -> str:
    """What a look at the most doubtful items would gain."""
    gain = "on the {review.items} most doubtful items would gain {review.gain:points} of accuracy"
    return f"Where one more look gains most: {_by_confidence(confidence)}, {_looker(review)} {gain}. The first of them:"


def workers_about(workers: Mapping[str, Any]) -> str:
    """Who judged the workers."""
    return f"{{workers.workers}} workers, judged by {workers['method']}."


def worth_about(n_eff: Mapping[str, Any]) -> str:
    """How many independent votes those of an item are worth."""
    rough, reason = "roughly " if n_eff["low"] is None else "", f" ({n_eff['reason']})" if n_eff["reason"] else ""
    value = f"{rough}{{workers.dependence.n_eff:estimate ratio}}"
    return f"Together, the votes on an item are worth {value} independent ones{reason}."


def dependence_caption(truth: str) -> str:
    """What the correlations of pairs are."""
    source = ", on the gold items" if truth == "gold" else ", roughly, from votes alone"
    return (
        f"Correlation of two workers’ votes once the true label is known{source}: orange, they err together; blue, "
        "they avoid each other’s errors."
    )


def busiest_shown(n_shown: int) -> str:
    """That not all workers are shown."""
    return f"The {n_shown} busiest of {{workers.workers}} workers; workers.csv holds them all."


def decides_about(kind: str) -> str:
    """How many items would decide a claim."""
    what = "fresh gold items" if kind == "gold" else "fresh items"
    return f"about {{certificate.{kind}.more_items}} {what}, judged by themselves"


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


def without_command(next_sentence: str, command: str) -> str:
    """What to do next, where a button stands for the command.

    >>> without_command("Label the 7 items: majorant ask votes.csv --n 7", "majorant ask votes.csv --n 7")
    'Label the 7 items.'
    """
    return next_sentence.removesuffix(f": {command}") + "." if command else next_sentence


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


def labels_left(more: int | None) -> str:
    """How much labelling is left, beside the item to label.

    >>> labels_left(12), labels_left(None)
    ('about 12 more', 'how many more will show')
    """
    return "how many more will show" if more is None else f"about {more:,} more"


def question_words(kind: str, rules: Sequence[str]) -> str:
    """The question that labels by design answer.

    >>> question_words("rules", ["majority", "combination"]), question_words("accuracy", ["majority"])
    ('Which is right more often, majority or combination?', 'How often are the labels of majority right?')
    """
    if kind == "accuracy":
        return f"How often are the labels of {rules[-1]} right?"
    if kind == "close-calls":
        return "What does majority vote give away to the best rule that looks only at counts?"
    return f"Which is right more often, {' or '.join(rules)}?"


def asked_of_columns(missing: Sequence[str]) -> str:
    """What a person is asked where columns cannot be told by their names.

    >>> asked_of_columns(["label"]), asked_of_columns(["item", "label"])
    ('Which column is the label?', 'Which columns are the item and the label?')
    """
    roles = [f"the {role}" for role in missing]
    return f"Which column is {roles[0]}?" if len(roles) == 1 else f"Which columns are {one_of(roles)}?"
