"""Text and JSON for workers: who is barely better than guessing, who repeats whom, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from majorant.evidence.copies import CopyGroup
from majorant.render.plain import Facts, facts_of, number, plain
from majorant.render.words import columns, count, level_percent, listed, one_of, shown
from majorant.results.workers import FEW_VOTES, Flag, FlagKind, Removal, Workers


def flag_text(flag: Flag) -> str:
    """Why a worker is flagged.

    >>> flag_text(Flag(kind=FlagKind.NEAR_CHANCE, votes=1200, accuracy=.52, chance=.5, typical=.83))
    'right on 52% of 1,200 votes; guessing would get 50%, a typical worker gets 83%'
    >>> flag_text(Flag(kind=FlagKind.ONE_LABEL, votes=90, label="no", times=1e9))
    'said no in all 90 votes; a typical worker would do this less than once in a million times'
    >>> flag_text(Flag(kind=FlagKind.COPY, votes=500, other="gpt-4o", agreed=497, shared=500))
    'gave the same answer as gpt-4o on 497 of 500 shared items'
    """
    if flag.kind in (FlagKind.ADVERSARIAL, FlagKind.NEAR_CHANCE):
        right = f"right on {flag.accuracy or 0:.0%} of {flag.votes:,} votes"
        return f"{right}; guessing would get {flag.chance or 0:.0%}, a typical worker gets {flag.typical or 0:.0%}"
    if flag.kind is FlagKind.ONE_LABEL:
        times = flag.times or 0.0
        rare = f"once in {times:,.0f} times" if times < 1e6 else "less than once in a million times"
        return f"said {flag.label} in all {flag.votes:,} votes; a typical worker would do this {rare}"
    if flag.kind is FlagKind.TOO_FAST:
        fast = f"gave {flag.share or 0:.0%} of {flag.votes:,} votes in under a third of the item's usual time"
        return f"{fast}, compared with {flag.others or 0:.0%} for other workers; median {flag.seconds or 0:.3g} s"
    if flag.kind is FlagKind.COPY:
        return f"gave the same answer as {flag.other} on {flag.agreed or 0:,} of {flag.shared:,} shared items"
    if flag.kind is FlagKind.DISAGREES:
        agrees = f"agrees with {flag.agreement or 0:.0%} of the other votes on the same items"
        return f"{agrees}; chance alone would give {flag.chance or 0:.0%}"
    return f"{flag.votes} votes are too few to judge a worker (at least {FEW_VOTES})"


def copies_text(groups: Sequence[CopyGroup]) -> str:
    """Which workers repeat each other; empty if none do.

    >>> group = CopyGroup(workers=("a", "b"), identical=True, shared=500, agreed=500, departed=90, together=90)
    >>> copies_text([group])
    'a and b gave the same answer on 500 of 500 shared items, even on 90 where most others differ. All votes count.'
    """
    sentences = [_group_text(group) for group in groups[:3]]
    if (more := len(groups) - 3) > 0:
        sentences.append(f"{count(more, 'more group')} of workers repeat each other.")
    if sentences:
        sentences.append("All votes count.")
    return " ".join(sentences)


def _group_text(group: CopyGroup) -> str:
    """What was observed about a group; with more than two workers, about the pair that is least alike."""
    names, which = one_of([shown(name) for name in group.workers]), "" if len(group.workers) == 2 else "at least "
    same = f"{names} gave the same answer on {which}{group.agreed:,} of {group.shared:,} shared items"
    if group.wrong:
        share = f"{group.same_wrong / group.wrong:.0%}"
        other = "the other" if len(group.workers) == 2 else "another"
        return f"{same}; when one is wrong, {other} gives the same wrong answer {share} of the time."
    return f"{same}, even on {group.together:,} where most others differ."


def workers_line(workers: Workers, copies: Sequence[CopyGroup], removal: Removal | None) -> str:
    """Which workers are flagged, in one to three sentences."""
    parts = [_skill_text(workers)]
    if n_same := len(_flagged_names(workers, FlagKind.ONE_LABEL)):
        parts.append(f"{n_same:,} always gave the same label.")
    if n_fast := len(_flagged_names(workers, FlagKind.TOO_FAST)):
        parts.append(f"{n_fast:,} voted suspiciously fast.")
    parts.append(copies_text(copies))
    if removal is not None:
        changed = count(removal.labels_changed, "label")
        parts.append(f"Removing the {removal.workers:,} flagged would change {changed}.")
    return " ".join(filter(None, parts))


def _skill_text(workers: Workers) -> str:
    """How many workers are clearly better than guessing, and who is not."""
    everyone = count(len(workers.names), "judge" if workers.panel else "worker")
    if workers.panel and not workers.gold_votes_j.any():
        about = f"{everyone}. Votes alone cannot show how accurate judges are, because they may share mistakes."
        if apart := _flagged_names(workers, FlagKind.DISAGREES):
            agree = "agrees" if len(apart) == 1 else "agree"
            about += f" {len(apart):,} {agree} with the others no more than chance would: {listed(apart)}."
        return about
    with np.errstate(invalid="ignore"):
        doubtful_j = workers.low_j <= workers.chance_j
    doubtful = [shown(workers.names[j]) for j in workers.worst_first if doubtful_j[j]]
    found = [
        (_flagged_names(workers, FlagKind.ADVERSARIAL), "worse than guessing"),
        (_flagged_names(workers, FlagKind.NEAR_CHANCE), "barely better than guessing"),
    ]
    if not any(names for names, _ in found):
        found = [(doubtful, "not clearly better than guessing")]
    sentences = [
        f"{len(names):,} of {everyone} {'is' if len(names) == 1 else 'are'} {what}: {listed(names)}."
        for names, what in found
        if names
    ]
    n_few = int((workers.votes_j < FEW_VOTES).sum())
    who = "All" if n_few == len(workers.names) else f"{n_few:,}"
    few = f"{who} gave fewer than {FEW_VOTES} votes, too few to judge." if n_few else ""
    if not sentences:
        judged = (
            ""
            if np.isnan(workers.low_j).all()
            else f", {'the others' if n_few else 'all'} clearly better than guessing"
        )
        sentences = [f"{everyone}{judged}."]
    return " ".join(filter(None, [*sentences, few]))


def _flagged_names(workers: Workers, kind: FlagKind) -> list[str]:
    order = [j for j in workers.worst_first if any(flag.kind is kind for flag in workers.flags[j])]
    return [shown(workers.names[j]) for j in order]


def accuracy_source(workers: Workers) -> str:
    """Where the accuracies come from, as a note below the table of workers; empty if there are none.

    Intervals of estimates are widened, because on their own they are too narrow: see docs/workers.md.
    """
    level = level_percent(workers.level).replace(" ", "")
    if workers.by_gold_j.all():
        return f"Accuracy is measured on gold labels, with {level} intervals."
    if workers.panel:
        return "Accuracy is measured on gold labels." if workers.by_gold_j.any() else ""
    estimated = "estimated from the votes, with intervals widened to match public crowds"
    if workers.by_gold_j.any():
        return f"Accuracy is measured on gold labels where there are enough, and otherwise {estimated}."
    return f"Accuracy is {estimated}."


def workers_lines(workers: Workers, copies: Sequence[CopyGroup]) -> list[str]:
    """What `majorant workers` prints: a summary, and a table with the worst workers first."""
    lines = [f"Workers  {workers_line(workers, copies, None)}"]
    order = workers.worst_first[:30]
    if len(order) < len(workers.names):
        lines.append(f"         The worst {len(order)} of {len(workers.names):,}; the output file lists all of them.")
    head = _head(workers)
    lines += columns([head, *(_row(workers, int(j)) for j in order)], left=(0, len(head) - 1))
    if source := accuracy_source(workers):
        lines.append(f"         {source}")
    for j in order:
        if workers.mistakes[j]:
            train = listed(shown(item) for item in workers.mistakes[j])
            lines.append(f"         Items to train {shown(workers.names[j])} on: {train}.")
    return lines


def _head(workers: Workers) -> tuple[str, ...]:
    if np.isnan(workers.accuracy_j).all():
        return ("worker", "votes", "agreement", "flags")
    name = "accuracy" if workers.by_gold_j.any() else "estimated"
    return ("worker", "votes", name, "interval", "agreement", "flags")


def _row(workers: Workers, j: int) -> tuple[str, ...]:
    agreement = "-" if np.isnan(workers.agreement_j[j]) else f"{workers.agreement_j[j]:.0%}"
    flags = "; ".join(flag.kind for flag in workers.flags[j])
    ends = (shown(workers.names[j]), f"{workers.votes_j[j]:,}"), (agreement, flags)
    if np.isnan(workers.accuracy_j).all():
        return (*ends[0], *ends[1])
    if np.isnan(workers.accuracy_j[j]):
        return (*ends[0], "-", "", *ends[1])
    mark = "" if workers.by_gold_j[j] or not workers.by_gold_j.any() else " est."
    between = f"{workers.low_j[j]:.0%} to {workers.high_j[j]:.0%}"
    return (*ends[0], f"{workers.accuracy_j[j]:.0%}{mark}", between, *ends[1])


def workers_facts(workers: Workers) -> Facts:
    """The facts for JSON and the report: how many workers have each flag, and a row per worker, worst first."""
    kinds = [flag.kind for flags in workers.flags for flag in flags]
    return {
        "level": workers.level,
        "workers": len(workers.names),
        "panel": workers.panel,
        "by_gold": bool(workers.by_gold_j.any()),
        "source": accuracy_source(workers),
        "weak": [plain(workers.names[j]) for j in workers.worst_first if workers.weak_j[j]],
        "flagged": {str(kind): kinds.count(kind) for kind in dict.fromkeys(kinds)},
        "rows": [
            {
                "worker": plain(workers.names[j]),
                "votes": int(workers.votes_j[j]),
                "gold_votes": int(workers.gold_votes_j[j]),
                "by_gold": bool(workers.by_gold_j[j]),
                **{name: number(getattr(workers, f"{name}_j")[j]) for name in ("accuracy", "low", "high", "chance")},
                "agreement": number(workers.agreement_j[j]),
                "flags": [{"flag": str(flag.kind), "evidence": flag_text(flag)} for flag in workers.flags[j]],
                "wrong_on": [plain(item) for item in workers.mistakes[j]],
            }
            for j in workers.worst_first[:500]
        ],
    }


def copies_facts(groups: Sequence[CopyGroup]) -> Facts:
    """The facts for JSON and the report: the groups of copies and a sentence."""
    return {
        "text": copies_text(groups),
        "groups": [
            facts_of(group, "workers identical shared agreed departed together wrong same_wrong") for group in groups
        ],
    }


def worker_columns(workers: Workers) -> Facts:
    """The columns of workers.csv: those of the result, plus the evidence for each flag as text."""
    columns = workers.table()
    evidence = ["; ".join(map(flag_text, workers.flags[j])) for j in workers.worst_first]
    names = list(columns)
    at = names.index("flags") + 1
    return {name: columns[name] for name in names[:at]} | {"evidence": evidence} | {n: columns[n] for n in names[at:]}
