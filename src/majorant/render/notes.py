"""Text of the notes on the input, spelled for Python or for the command line."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

from majorant.render.plain import Facts, to_plain
from majorant.render.words import count, one_of, printable
from majorant.votes import Account, Note, NoteKind

Spell = Callable[..., str]  # an option and its values, as Python or the command line writes it
REASONS = {  # why a column of a wide table is not a worker's
    "lists": "holds lists",
    "values": "has too many different values",
    "alone": "shares no value with the others",
    "about": "has a name that describes the item",
    "truth": "has a name that suggests true or combined labels",
    "unlike": "has a name unlike the others",
}


def note_text(note: Note, *, flags: bool = False) -> str:
    """A note as one or two sentences.

    Parameters
    ----------
    note : Note
        A fact about the input that the user should know.
    flags : bool
        Spell options as on the command line (``--empty NA``) rather than as in Python (``empty='NA'``).

    Examples
    --------
    >>> note_text(Note(NoteKind.MISSING_LABEL, {"labels": {"NA": 12}}))
    "'NA' (12 votes) counts as a label. If it means no vote, pass empty='NA'."
    >>> note_text(Note(NoteKind.WIDE, {"workers": ["Dr Lee", "Dr Wu"], "left_out": {}}), flags=True)
    "One row per item, one column per worker: 'Dr Lee' and 'Dr Wu'. To choose others: --workers 'Dr Lee,Dr Wu'."
    """
    return printable(_text(note.kind, note.facts, _as_flag if flags else _as_argument))


def account_facts(account: Account) -> Facts:
    """What was read, as plain data for JSON; notes come with their text."""
    return {**to_plain(account), "notes": [note_facts(note) for note in account.notes]}


def note_facts(note: Note) -> Facts:
    """A note as plain data for JSON."""
    told = {"kind": str(note.kind), "text": note_text(note), "changes_meaning": note.kind.changes_meaning}
    return {**told, "facts": to_plain(dict(note.facts))}


def _as_argument(name: str, *values: Any) -> str:
    return f"{name}={True if not values else values[0] if len(values) == 1 else [*values]!r}"


def _as_flag(name: str, *values: Any) -> str:
    flag = f"--{name.replace('_', '-')}"
    if name in ("workers", "item"):
        values = (",".join(values),)
    return " ".join(f"{flag} {shlex.quote(str(value))}" for value in values) or flag


def _text(kind: NoteKind, facts: Mapping[str, Any], spell: Spell) -> str:
    n = facts.get("count", 0)
    match kind:
        case NoteKind.MISSING_LABEL:
            labels = facts["labels"]
            shown = one_of([f"{label!r} ({count(votes, 'vote')})" for label, votes in labels.items()])
            said = "counts as a label. If it means" if len(labels) == 1 else "count as labels. If they mean"
            return f"{shown} {said} no vote, pass {spell('empty', *labels)}."
        case NoteKind.LABEL_VARIANTS:
            alike = _counted_groups(facts["groups"])
            return f"These labels look alike but count as different: {alike}. To merge them: {spell('fold_case')}."
        case NoteKind.COLLAPSED:
            given, voted = f"{facts['given']:.0%}", f"{facts['voted']:.0%}"
            only = f"though only {voted} have a vote for it"
            return (
                f"The method {facts['method']} labels {given} of the items {facts['label']}, {only}. Use majority "
                "vote, which cannot collapse into one class."
            )
        case NoteKind.MIXED_LABELS:
            known = {"bool": "true/false", "number": "numbers", "text": "text"}
            kinds = one_of([known.get(kind, kind) for kind in facts["kinds"]])
            return (
                f"The label column mixes {kinds}: 1, '1' and true count as different. To merge: {spell('fold_case')}."
            )
        case NoteKind.NUMBER_LABELS:
            return _number_labels(facts, spell)
        case NoteKind.ID_VARIANTS:
            role, groups = facts["role"], facts.get("groups", [])
            shown = "; ".join(one_of([repr(name) for name in group]) for group in groups)
            more = f" and {n - len(groups):,} more groups" if groups and n > len(groups) else ""
            alike = f"Some {role}s look alike but count as different" + (f": {shown}{more}" if shown else "")
            return f"{alike}. If they are the same, correct the file."
        case NoteKind.ROUNDED_IDS:
            example = f", such as {facts['example']}" if "example" in facts else ""
            column = f"Column {facts['column']!r} holds numbers that a spreadsheet has rounded{example}"
            return f"{column}: different {facts['role']}s may have been merged. Export the column as text."
        case NoteKind.WIDE:
            return _wide(facts, spell)
        case NoteKind.GUESSED_COLUMNS:
            shown = ", ".join(f"{role} = {name!r}" for role, name in facts["columns"].items())
            said = " ".join(spell(role, name) for role, name in facts["columns"].items())
            return f"Columns guessed from their content: {shown}. To confirm or change them: {said}."
        case NoteKind.FILE_WORKERS:
            shown = f": {_names(facts['workers'])}" if "workers" in facts else ""
            return f"Each file is read as one worker{shown}. If not, name the worker column: {spell('worker', 'NAME')}."
        case NoteKind.JOINED_ITEMS:
            columns = facts["columns"]
            return f"Each combination of {one_of(columns)} is one item ({spell('item', *columns)})."
        case NoteKind.DROPPED_RESPONSES:
            kept, total = facts["kept"], facts["total"]
            return f"The log has {total:,} responses. Its filter kept {kept:,} of them; only those count as votes."
        case NoteKind.BOTH_ORDERS:
            changed = facts["changed"]
            changes = {0: "None changed with the order", 1: "1 changed with the order and counts as a tie"}
            many = f"{changed:,} changed with the order and count as ties"
            places = f" {one_of(facts['places'])} are read as positions, not as names." if facts["places"] else ""
            return f"{facts['verdicts']:,} pairs were judged in both orders. {changes.get(changed, many)}.{places}"
        case NoteKind.NESTED:
            return f"Each cell of {facts['column']!r} holds several votes: each entry is one vote."
        case NoteKind.ROW_PER_WORKER:
            items = facts.get("items", [])
            shown = f": {_names(items)}" if items else ""
            text = f"One row per worker ({facts['column']!r}), one column per item{shown}."
            return " ".join([text, *_left_out(facts["left_out"]), f"If rows are items: {spell('wide')}."])
        case NoteKind.SEVERAL_IN_CELL:
            example = f" such as {facts['example']!r}" if "example" in facts else ""
            labels = count(facts["labels"], "label")
            return f"{labels}{example} may contain several labels. If so, treat each separately: {spell('several')}."
        case NoteKind.REPEATED_HEADER:
            return f"Ignored {count(facts['rows'], 'repeated header row')} (were files concatenated?)."
        case NoteKind.UNANIMOUS:
            same = f"All votes agree on each of the {facts['items']:,} items with several votes."
            return f"{same} Have these labels already been merged? Provide each worker's own label."
        case NoteKind.GOLD_UNKNOWN_ITEMS:
            shown = f": {_names(facts['items'], n)}" if "items" in facts else ""
            return f"No votes for {count(n, 'item')} of {facts['source']}{shown}."
        case NoteKind.THRESHOLD:
            return (
                f"Every claim is about whether a score is at least {facts['threshold']:g}, not about its exact value."
            )
        case NoteKind.ORDER:
            shown = " < ".join(facts["labels"][:6])
            claim = f"Every claim is about the exact label ({shown}), regardless of the distance between labels"
            measure = "mj.scores measures" if spell is _as_argument else "majorant agreement --scores measures"
            return f"{claim}; {measure} distances."
        case NoteKind.SEVERAL:
            return "Each label is treated as a separate yes/no question."
        case NoteKind.FOLDED_LABELS:
            return f"Merged labels that look alike: {_counted_groups(facts['groups'])}."
        case NoteKind.EQUAL_TRUST:
            value = facts["value"]
            same = "is empty" if value is None else f"is {value:.3g} for every worker"
            return f"Column {facts['column']!r} {same}, so it is ignored."
        case NoteKind.ABSTAINED:
            abstained = count(facts["rows"], "abstention")
            return f"{abstained}: rows with an empty label or with a status that means no vote."
        case NoteKind.MERGED:
            copies = "1 exact copy" if facts["rows"] == 1 else f"{facts['rows']:,} exact copies"
            return f"Merged {copies} of earlier votes."
        case NoteKind.DROPPED:
            dropped = count(facts["rows"], "repeated vote")
            return f"Left out {dropped}: only the {facts['repeats']} vote of each worker on an item counts."
        case NoteKind.SINGLE_CLASS:
            return f"Every vote says {facts['label']!r}: there is nothing to choose between."
        case NoteKind.UNLABELLED_ITEMS | NoteKind.SILENT_WORKERS:
            what = "item" if kind == NoteKind.UNLABELLED_ITEMS else "worker"
            shown = f": {_names(facts['names'], n)}" if "names" in facts else ""
            return f"{count(n, what)} without votes{shown}."
        case NoteKind.GOLD_UNUSED:
            return f"No worker ever used {count(n, 'gold label')}: {_names(facts['names'], n)}."
        case NoteKind.GOLD_WITHOUT_DESIGN:
            apart = facts.get("disagreed", 0)
            left_out = f" Left out: {count(apart, 'item')} on which experts disagree." if apart else ""
            return (
                f"The design that drew the items of {facts['source']} is not in its folder: the {facts['labels']:,} "
                "labels count as plain gold labels. Nobody can tell any more whether the items are a random sample, so "
                f"they prove less. Put the design beside the file if you still have it.{left_out}"
            )
        case NoteKind.GOLD_SAMPLE:
            source, labels = facts["source"], facts["labels"]
            return f"The {labels:,} gold labels of {source} are a random sample, because ask drew the items."
        case NoteKind.GOLD_SKIPPED:
            return f"No label for {count(facts['items'], 'item')} of the sample: treated as unlabelled."
        case _:
            assert_never(kind)


def _names(values: Sequence[Any], n_all: int | None = None) -> str:
    shown = [repr(value) for value in values[:6]]
    left = (n_all or len(values)) - len(shown)
    return f"{', '.join(shown)} and {left:,} more" if left > 0 else one_of(shown)


def _counted_groups(groups: Sequence[Sequence[tuple[Any, int]]]) -> str:
    return "; ".join(one_of([f"{label!r} ({votes:,})" for label, votes in group]) for group in groups[:3])


def _number_labels(facts: Mapping[str, Any], spell: Spell) -> str:
    low, high = facts["low"], facts["high"]
    commands = "mj.scores and mj.rate" if spell is _as_argument else "majorant agreement --scores and majorant rate"
    return (
        f"{facts['classes']:,} different numbers from {low:g} to {high:g} are treated as separate classes. If they are "
        f"scores, make two classes with {spell('threshold', _short(low, high))}, or see {commands}."
    )


def _short(low: float, high: float) -> float | int:
    """A threshold halfway between the ends, rounded to two digits."""
    middle = float(f"{(low + high) / 2:.2g}")
    return int(middle) if middle.is_integer() else middle


def _wide(facts: Mapping[str, Any], spell: Spell) -> str:
    workers, left_out = facts.get("workers", []), facts["left_out"]
    parts = [f"One row per item, one column per worker{f': {_names(workers)}' if workers else ''}."]
    parts += _left_out(left_out)
    truth = [name for name, why in left_out.items() if why in ("truth", "unlike")]
    if truth:
        parts.append(f"If {truth[0]!r} holds true labels: {spell('gold', truth[0])}.")
    if 0 < len(workers) <= 20:
        parts.append(f"To choose others: {spell('workers', *map(_pattern, workers))}.")
    return " ".join(parts)


def _left_out(left_out: Mapping[str, str]) -> list[str]:
    listed = "; ".join(f"{name!r} {REASONS[why]}" for name, why in left_out.items())
    return [f"Left out: {listed}."] if left_out else []


def _pattern(name: str) -> str:
    """A pattern that matches exactly this column name; a comma becomes "?", because it would separate two patterns."""
    return "".join({",": "?", "[": "[[]", "*": "[*]", "?": "[?]"}.get(sign, sign) for sign in name)
