"""The answer to the paper's question in words: the answer, its grade, what would overturn it, and the numbers."""

from __future__ import annotations

import math

from majorant.evidence.certificate.optimality import Optimality, Quantity, SettledCounts, SizeAnswer, TippingPoint
from majorant.evidence.evidence import Assumption, Certainty, Status, Tested
from majorant.render.assumptions import ASSUMPTION_TEXT
from majorant.render.plain import Facts, to_plain
from majorant.render.words import one_of, percent_of, points_and_ends, quoted_number

MOST_SIZES = 5  # numbers of votes with a line of their own
FAILED_TEXT = {
    Assumption.INDEPENDENT_VOTES: "These votes fail the test of independence.",
    Assumption.VOTES_PER_ITEM: "How many votes an item got depends on the item or on its votes.",
    Assumption.EXCHANGEABLE_WORKERS: "Workers differ, so rules that know who voted may do better.",
    Assumption.INDEPENDENT_WORKERS: "The workers' mistakes are correlated.",
    Assumption.NO_COPIES: "Some workers repeat others.",
}
TYPICAL = "on public crowds it is -0.01 to 0.32"  # correlation of votes given the class, by gold labels


def answer_sentence(found: Optimality) -> str:
    """Whether majority vote is optimal if votes are independent, and where it is not."""
    condition = "If these votes are independent given the truth"
    if found.optimal:
        never = " on any vote counts that occur" if found.wrong else ""
        closest = min(found.by_votes, key=lambda one: one.margin)
        odds = "" if found.wrong else f" In its closest call its label has odds of {_odds(closest.margin)} to 1."
        return f"{condition}, majority vote is optimal: no rule of the vote counts is right more often{never}.{odds}"
    if not found.wrong:
        return f"{condition}, majority vote is not optimal, but only on vote counts that no item has."
    gains = found.loss.value is not None and found.loss.value >= 0.0005  # else it rounds to 0.0 points
    gain = f" The best rule of the vote counts gains {points_and_ends(found.loss)}." if gains else ""
    return f"{condition}, majority vote is not optimal: {_wrong_text(found)}.{gain}"


def _wrong_text(found: Optimality) -> str:
    """The most common counts on which majority is wrong, and the share of all such items."""
    named = [_counts_text(one.counts, found) for one in found.wrong[:2]]
    more = len(found.wrong) - len(named)
    where = f"{', '.join(named)} and {more} more" if more > 0 else one_of(named)
    return f"another label is likelier on {where} ({_share(found.wrong_share)} of the items)"


def _counts_text(counts: tuple[int, ...], found: Optimality) -> str:
    """Vote counts with the label in front: '3-2 for yes', and all labels for more than two classes."""
    order = sorted(range(len(counts)), key=lambda k: -counts[k])
    if len(counts) == 2:
        return f"{counts[order[0]]}-{counts[order[1]]} for {quoted_number(found.labels[order[0]])}"
    return " and ".join(f"{counts[k]} x {quoted_number(found.labels[k])}" for k in order if counts[k])


def grade_sentence(found: Optimality) -> str:
    """How sure the answer is, and why."""
    record = found.record
    kind = "panels" if record.panel else "crowds"
    classes = "two classes" if record.two_classes else "more classes"
    said = "optimal" if found.optimal else "not optimal"
    sure = str(found.certainty).capitalize()
    often = f"gold labels agreed with this check on {record.right} of {record.sets} public {kind} with {classes}"
    often += f' ("{said}": {record.said_right} of {record.said})' if record.said else ""
    if found.certainty in (Certainty.PROVED, Certainty.SUPPORTED):
        sentence = f"{sure}: the assumptions that these votes can test passed; {often}."
    else:
        sentence = f"{sure}: {often}." if record.sets else f"{sure}: this check has no record on public {kind}."
    doubts = dict.fromkeys(_doubt_text(one) for one in found.doubts)
    warning = ""
    if not found.optimal:
        warning = "That is no reason to switch: labelling by this model lost accuracy "
        warning += f"on {record.hurt} of {record.not_optimal} such sets." if record.not_optimal else "elsewhere."
    return " ".join(part for part in (sentence, *doubts, warning) if part)


def _doubt_text(one: Tested) -> str:
    """An assumption that failed or cannot be tested, as a sentence."""
    if one.status == Status.FAILED:
        return FAILED_TEXT.get(one.assumption, f"The votes contradict that {ASSUMPTION_TEXT[one.assumption]}.")
    return f"These votes cannot test that {ASSUMPTION_TEXT[one.assumption]}."


def tipping_sentence(found: Optimality) -> str:
    """What would overturn the answer."""
    tipping = found.tipping
    least = min(found.by_votes, key=lambda one: one.margin)
    if tipping is None:
        factor = _odds(abs(least.margin))
        return f"The odds of two classes would have to change by a factor of {factor} or more, or T as much."
    if tipping.correlation is None:
        correlated = f"No correlation up to {tipping.searched:g} between the votes on an item would overturn it"
    else:
        correlated = f"A correlation of {tipping.correlation:.2f} between the votes on an item would overturn it"
    nearest = [_point_text(point) for point in tipping.points[:2]]
    points = one_of(nearest).replace(" and ", " or ") if nearest else ""
    also = (
        f"; so would {points}" if points and tipping.correlation is not None else f"; {points} would" if points else ""
    )
    return f"{correlated} ({TYPICAL}){also}."


def _point_text(point: TippingPoint) -> str:
    digits = 0 if round(100 * point.limit) != round(100 * point.value) else 1
    now, then = (f"{100 * share:.{digits}f}%" for share in (point.value, point.limit))
    label = quoted_number(point.label)
    if point.quantity is Quantity.SHARE:
        return f"a share of {label} of {then} instead of {now}"
    return f"votes right on {then} of {label} instead of {now}"


def fact_lines(found: Optimality) -> list[tuple[str, str]]:
    """The numbers behind the answer, each with its name: estimates, numbers of votes, wrong and settled counts."""
    lines = [("nu, T", _estimates_text(found))]
    common = sorted(found.by_votes, key=lambda one: -one.share)[:MOST_SIZES]
    lines += [(f"{one.n_votes} votes", _size_text(one, found)) for one in found.by_votes if one in common]
    if len(found.by_votes) > len(common):
        lines.append(("others", f"{len(found.by_votes) - len(common)} more, on fewer items"))
    if found.settled_share is not None:
        lines.append(("settled", _settled_text(found)))
    return lines


def _estimates_text(found: Optimality) -> str:
    most = 5
    names = [quoted_number(label) for label in found.labels]
    shares = ", ".join(f"{name} {_share(nu)}" for name, nu in list(zip(names, found.prior, strict=True))[:most])
    right = ", ".join(f"{_share(found.confusion[k][k])} of {names[k]}" for k in range(len(names))[:most])
    more = f" and {len(names) - most} more" if len(names) > most else ""
    who = "the workers' votes are on average" if found.by_worker else "votes are"
    return f"{shares}{more}; {who} right on {right}{more}"


def _size_text(one: SizeAnswer, found: Optimality) -> str:
    parts = [f"{_share(one.share)} of the items", f"margin {one.margin:+.2f} nats"]
    if one.window is not None:
        bounds = one.window
        sign = "<" if bounds.lower < bounds.value else ">="
        then = "<" if bounds.value < bounds.upper else ">="
        parts.append(f"f < g < h is {bounds.lower:.3g} {sign} {bounds.value:.3g} {then} {bounds.upper:.3g}")
    if one.handicap is not None and math.isfinite(one.handicap):
        who = found.labels[0] if one.handicap > 0 else found.labels[1]
        room = "less than 1/2 a vote" if one.n_votes % 2 else "less than 1 vote"
        parts.append(f"{quoted_number(who)} is {abs(one.handicap):.2f} votes behind (optimal if {room})")
    return ", ".join(parts)


def _settled_text(found: Optimality) -> str:
    sizes = sorted(found.by_votes, key=lambda one: -one.share)[:3]
    texts = [_settled_counts(one) for one in found.settled if any(one.n_votes == size.n_votes for size in sizes)]
    return f"{_share(found.settled_share or 0.0)} of the items: {'; '.join(texts)}"


def _settled_counts(one: SettledCounts) -> str:
    label, n = quoted_number(one.label), one.n_votes
    if one.smallest is None:
        return f"no count of {n} votes for {label}"
    narrow = f"{one.smallest}-{n - one.smallest}"
    return f"{n}-0 for {label}" if one.smallest == n else f"{n}-0 to {narrow} for {label}"


def optimality_summary(found: Optimality | None) -> Facts | None:
    """The answer as plain data with its sentences."""
    if found is None:
        return None
    return {
        "answer": answer_sentence(found),
        "grade": grade_sentence(found),
        "overturned_by": tipping_sentence(found),
        **to_plain(found),
        "lines": [list(line) for line in fact_lines(found)],
    }


def _share(share: float) -> str:
    return percent_of(round(10_000 * share), 10_000)


def _odds(margin: float) -> str:
    odds = math.exp(min(margin, 20.0))
    return f"{odds:.2g}" if odds < 100 else "more than 100" if margin > 20 else f"{odds:,.0f}"
