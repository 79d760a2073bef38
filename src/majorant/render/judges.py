"""Text and JSON for judges: who is good enough for a gate, whom to keep, who shares mistakes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from majorant.render.plain import Facts, facts_of, plain
from majorant.render.words import count, listed, one_of, quoted_number, shown
from majorant.render.workers import copies_facts
from majorant.results.judges import Gate, Judge, Judges, Repeats
from majorant.results.positions import Position
from majorant.results.sub_panels import GOLD_TO_CHOOSE, Enough, SubPanel

PRINTED = 30  # judges


def gate_text(judges: Judges) -> str:
    """Whether any judge is good enough to gate on."""
    bar, best, sure = f"{judges.bar:.0%}", judges.best, f"{100 * judges.level:g}% sure"
    if best is None:
        return "Votes alone do not show how accurate the judges are: they may share mistakes."
    best_name = "majority vote" if best is judges.panel else shown(best.name)
    name, seen = best_name, f"is right on {best.accuracy.value or 0:.1%} of {count(best.judged, 'gold item')}"
    if judges.gate is Gate.MET:
        low = f"at least {best.accuracy.low or 0:.1%} in general"
        return f"Good enough to gate on at {bar}: {name} {seen}, {low} ({sure})."
    if judges.gate is Gate.NOT_MET:
        high = f"at most {best.accuracy.high or 0:.1%} in general"
        return f"Not good enough to gate on at {bar}: even the best, {name}, {seen}, {high} ({sure})."
    few = f"{count(judges.n_gold, 'gold label')} {'is' if judges.n_gold == 1 else 'are'} too few"
    return f"Not known yet: {few} to tell whether any judge is right {bar} of the time."


def keep_text(sub_panels: Sequence[SubPanel], n_judges: int, n_gold: int) -> list[str]:
    """Which judges to keep: the best one, three and five by gold, compared with all of them."""
    if not sub_panels:
        if n_judges < 2:
            return []
        if n_gold < GOLD_TO_CHOOSE:
            return [f"To see which judges you need, {label_more(GOLD_TO_CHOOSE, n_gold)}."]
        return []
    better = sorted((one for one in sub_panels if one.enough is Enough.BETTER), key=lambda one: -one.accuracy)
    enough = better[:1] or [one for one in sub_panels if one.enough is Enough.AS_GOOD][:1]
    lines = []
    if enough:
        than = "better than" if enough[0].enough is Enough.BETTER else "as good as"
        lines.append(f"Keep {_names(enough[0])}: {than} all {n_judges} judges together.")
    else:
        lines.append(f"Keep all {n_judges} judges for now: the labels do not show that fewer would be as good.")
    for one in sub_panels:
        size = {1: "The best judge", 3: "The best three", 5: "The best five"}.get(len(one.judges), "The best")
        lines.append(f"  {size}: {_names(one)}, right on {one.accuracy:.1%}, {_difference(one, n_judges)}")
    return lines


def label_more(wanted: int, n_gold: int) -> str:
    """How many more items to label.

    >>> label_more(30, 0), label_more(30, 20)
    ('label 30 random items', 'label 10 more random items')
    """
    return f"label {wanted - n_gold}{' more' if n_gold else ''} random items"


def _names(one: SubPanel) -> str:
    return one_of([shown(name) for name in one.judges])


def _difference(one: SubPanel, n_judges: int) -> str:
    value, low, high = (100 * (end or 0.0) for end in one.difference.ends)
    points = f"{abs(value):.1f} points"
    beside = "the same as" if points == "0.0 points" else f"{points} {'better' if value > 0 else 'worse'} than"
    return f"{beside} all {n_judges} ({low:+.1f} to {high:+.1f})"


def judges_lines(judges: Judges) -> list[str]:
    """Each judge against gold, which to keep, what the panel is worth, pairs that agree most, and position bias."""
    lines = [
        "Judges against gold labels; these intervals hold for all of them at once"
        if judges.judges
        else "Judges compared with each other"
    ]
    for one in judges.judges[:PRINTED]:
        lines += _judge_lines(shown(one.name), one, judges.labels)
    if judges.panel is not None:
        lines += _judge_lines("majority vote", judges.panel, judges.labels)
    if (more := len(judges.judges) - PRINTED) > 0:
        lines.append(f"  and {count(more, 'more judge')}")
    if judges.left_out:
        names = listed(shown(name) for name in judges.left_out)
        lines.append(f"  Left out because they labelled too few gold items: {names}")
    lines += keep_text(judges.sub_panels, judges.n_judges, judges.n_gold)
    lines += _worth(judges)
    lines += [_pair_line(pair) for pair in judges.repeats[:3]]
    return [*lines, *map(_position_line, judges.positions)]


def _judge_lines(name: str, one: Judge, labels: Sequence[Hashable]) -> list[str]:
    if one.accuracy.value is None:
        return [f"  {name}: has not labelled any gold item"]
    right = f"{one.right:g}" if one.right == int(one.right) else f"{one.right:.1f}"
    between = f"{one.accuracy.low or 0:.1%} to {one.accuracy.high or 0:.1%}"
    ties = f", {count(one.tied, 'tie')} counted in part" if one.tied else ""
    kappa = "" if one.kappa is None else f", kappa {one.kappa:.2f}"
    names = [str(item) for item in one.wrong]
    wrong = f"; wrong on {listed(names)}" if names and max(map(len, names)) <= 30 else ""
    lines = [f"  {name}: {right} of {one.judged:,} right ({between}){ties}{kappa}{wrong}"]
    return [*lines, *_mistakes(one.confusion_kl.tolist(), labels)]


def _mistakes(confusion_kl: Sequence[Sequence[int]], labels: Sequence[Hashable]) -> list[str]:
    """The two most frequent kinds of mistake of a judge.

    >>> _mistakes([[5, 2], [1, 9]], ["fail", "pass"])
    ['    said pass on 2 of the 7 fail items, fail on 1 of the 10 pass items']
    >>> _mistakes([[5, 2], [1, 9]], [1, 2])
    ['    said "2" on 2 of the 7 "1" items, "1" on 1 of the 10 "2" items']
    """
    names = list(map(quoted_number, labels))
    off = [(n, k, l) for k, row in enumerate(confusion_kl) for l, n in enumerate(row) if k != l and n]
    most = [
        f"{names[l]} on {n} of the {sum(confusion_kl[k])} {names[k]} items"
        for n, k, l in sorted(off, key=lambda one: -one[0])[:2]
    ]
    return [f"    said {', '.join(most)}"] if most else []


def _worth(judges: Judges) -> list[str]:
    """The number of independent judges that the panel is worth, by gold labels."""
    worth = judges.worth
    if worth.value is not None and worth.low is not None and worth.high is not None:
        ends = f"{worth.low:.1f} to {worth.high:.1f}"
        worth_text = f"worth {worth.value:.1f} independent ones ({ends}), by their errors on gold items"
        return [f"  The {judges.n_judges} judges are {worth_text}"]
    return []


def _pair_line(pair: Repeats) -> str:
    errors = f"; they share {pair.both_wrong} of their {pair.either_wrong} mistakes" if pair.either_wrong else ""
    agreed = f"{pair.agreed:.1%} of {count(pair.common, 'item')}"
    return f"  {shown(pair.first)} and {shown(pair.second)} agree on {agreed}{errors}"


def _position_line(one: Position) -> str:
    biased = one.p_value is not None and one.p_value < 0.05
    leans = "first" if one.first_twice > one.second_twice else "second"
    verdict = f"prefers the one shown {leans} (p = {one.p_value:.2g})" if biased else "no position bias found"
    return (
        f"  {shown(one.judge)}: gave the same answer in both orders on {one.consistent} of {one.pairs} pairs, picked "
        f"the first both times on {one.first_twice} and the second both times on {one.second_twice}: {verdict}"
    )


def judges_facts(judges: Judges) -> Facts:
    """The facts for JSON."""
    return {
        **facts_of(judges, "gate"),
        "sentence": gate_text(judges),
        "best": None if judges.best is None else plain(judges.best.name),
        "judges": [_judge_facts(one) for one in judges.judges],
        "panel": None if judges.panel is None else _judge_facts(judges.panel),
        "sub_panels": sub_panels_facts(judges.sub_panels),
        "copies": copies_facts(judges.copies.groups),
        **facts_of(judges, "left_out repeats positions worth labels gold=n_gold bar level"),
    }


def sub_panels_facts(sub_panels: Sequence[SubPanel]) -> list[Facts]:
    """The best one, three and five judges."""
    return [facts_of(one, "judges accuracy difference enough") for one in sub_panels]


def _judge_facts(judge: Judge) -> Facts:
    return {
        **facts_of(judge, "name right judged tied"),
        **facts_of(judge.accuracy, "accuracy=value low high"),
        **facts_of(judge, "kappa confusion=confusion_kl wrong"),
    }
