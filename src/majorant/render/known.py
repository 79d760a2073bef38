"""What is known of the judges of a panel, in words and as plain data."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from majorant.evidence.evidence import Record
from majorant.known import Kind, KnownJudges, RatingTable, Stake
from majorant.render.plain import Facts, to_plain
from majorant.render.words import about_points, count, listed, quoted_number, shown

ABOUT_EQUAL = 2.0  # times as much weight
WORTH_SAYING = 0.05  # difference in how often two raters give a label


def say_judges(known: KnownJudges, *, record: Record | None = None, today: datetime.date | None = None) -> str:
    """Who counts how much, how such labels did on public panels, and who was not recognised; empty if nobody was."""
    if not known.n_known:
        return ""
    sentences = [_weights(known)] if known.decide else [_too_few(known)]
    if known.decide and known.spread >= ABOUT_EQUAL:
        sentences += _largest(known)
        if record is not None:
            sentences.append(say_record(record))
    sentences += _not_recognised(known)
    if estimated := [shown(judge.name) for judge in known.judges if judge.kind is Kind.ESTIMATED]:
        sentences.append(f"Estimated from the size of the model: {listed(estimated)}.")
    age = known.table.age(datetime.date.today() if today is None else today)
    if age is not None and age > 1:
        sentences.append("These ratings are more than a year old; give newer ones with --ratings FILE.")
    return " ".join(sentences)


def say_record(record: Record) -> str:
    """What such labels gained on public panels.

    >>> print(say_record(Record(sets=9, better=6, worse=2, mean_gain=.031, worst_gain=-.09)).partition(": ")[2])
    better on 6, worse on 2, at worst by 9 points.
    """
    return (
        f"On {count(record.sets, 'public panel')} such labels were right {about_points(record.mean_gain)} more often "
        f"than majority vote: better on {record.better}, worse on {record.worse}, at worst by "
        f"{-100 * record.worst_gain:.0f} points."
    )


def say_stake(stake: Stake | None) -> str:
    """What the best-rated model and majority vote disagree on; empty if they hardly do.

    >>> say_stake(Stake("gpt-4", "error", .18, .72))
    'gpt-4 says error on 18% of the items, majority vote on 72%: 10 labels would tell who is right.'
    """
    if stake is None or stake.difference < WORTH_SAYING:
        return ""
    return (
        f"{shown(stake.model)} says {quoted_number(stake.label)} on {100 * stake.model_share:.0f}% of the items, "
        f"majority vote on {100 * stake.majority_share:.0f}%: 10 labels would tell who is right."
    )


def say_table(table: RatingTable) -> str:
    """The source of the ratings and their month.

    >>> say_table(RatingTable((), "public chat ratings", "", "2025-12-11", ""))
    'public chat ratings, December 2025'
    """
    if not table.date:
        return table.source
    return f"{table.source}, {datetime.date.fromisoformat(table.date):%B %Y}"


def _weights(known: KnownJudges) -> str:
    source = say_table(known.table)
    if known.spread < ABOUT_EQUAL:
        return f"Your judges are rated about equal; ratings change little ({source})."
    rated = [judge for judge in known.judges if judge.rating is not None]
    best, least = known.judges[known.best], min(rated, key=lambda judge: judge.weight)
    times = 1 / least.weight
    much = f"{times:,.0f}" if times >= 3 else f"{times:.1f}"
    return f"{shown(best.name)} counts {much} times as much as {shown(least.name)} ({source})."


def _too_few(known: KnownJudges) -> str:
    n_judges = count(len(known.judges), "judge")
    models = count(len(known.models), "model")
    return (
        f"{known.n_known} of {n_judges} recognised ({models}); ratings weigh votes if half of the judges and two "
        "models are."
    )


def _largest(known: KnownJudges) -> Sequence[str]:
    """The judge or model with more than half of the weight."""
    name, share = next(iter(known.shares.items()))
    if share <= 0.5:
        return ()
    names = [judge.name for judge in known.judges if judge.model == name]
    under = f", under {len(names)} names" if len(names) > 1 else ""
    return (f"{shown(name)} has {100 * share:.0f}% of the weight{under}.",)


def _not_recognised(known: KnownJudges) -> Sequence[str]:
    unknown = [shown(judge.name) for judge in known.judges if judge.rating is None]
    if not unknown:
        return ()
    counts = " (they count as the median)" if known.decide else ""
    return (f"Not recognised{counts}: {listed(unknown)}; --trust NAME=RATING says more.",)


def known_facts(known: KnownJudges) -> Facts:
    """Who the judges are and where their ratings come from, as plain data for JSON."""
    table = known.table
    return {
        "used": known.decide,
        "source": table.source,
        "terms": table.terms,
        "date": table.date,
        "sha256": table.sha256,
        "judges": [to_plain(judge) for judge in known.judges],
    }
