"""Are the answers of `check` on public data sets right?

    MAJORANT_DATA=... python benchmarks/track_record.py [--write]

Checks each set without its gold labels, with 100 of them drawn at random, and with all of them.  `--write` writes
`src/majorant/evidence/track_record.json`, which the package quotes, `track_record.csv` and `docs/track-record.md`.
What is predicted for a set rests on the other families (benchmarks/families.py).  Exits with 1 if the labels written
without gold labels on crowds that teach gain less than two points on average, if an item has no label, or if gold
labels contradict an answer.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

import majorant as mj
from families import family_of
from majorant.evidence import track_record
from majorant.evidence.labels import gold_accuracy, known_items, right_share
from majorant.evidence.learn import LEARNED, gold_labels
from majorant.evidence.rules import half_of
from majorant.evidence.track_record import PublicSet
from majorant.methods.fit import chances
from majorant.results.result import Result
from majorant.setting import Case
from majorant.votes import Votes

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ["MAJORANT_DATA"])
MAJORITY = "majority"


def public_sets() -> Iterator[tuple[str, Votes]]:
    """Every data set in the folder with its gold labels, by name."""
    for path in sorted((DATA / "active-crowd-toolkit").glob("*.csv")):
        with path.open(encoding="utf-8") as file:
            columns = ["worker", "item", "label", "gold", "_"][: file.readline().count(",") + 1]
        yield path.stem, mj.read(path, columns=",".join(columns), repeats="each")
    for folder in sorted(path.parent for path in DATA.rglob("truth.csv")):
        how = {"gold_file": folder / "truth.csv", "repeats": "each"}
        votes = mj.read(folder / "label.csv", **how)
        if folder.parent.name == "grades":
            votes = mj.read(folder / "label.csv", **how, order=list(map(str, votes.labels)))
        yield folder.name, votes


def true_accuracy(votes: Votes, fit: mj.Fit) -> float:
    found = gold_accuracy(votes, fit, level=0.95)
    assert found is not None
    return found.value


def as_record(name: str, votes: Votes) -> PublicSet:
    """The record of a set, checked without its gold labels."""
    blind = replace(votes, gold_i=None)
    result = mj.check(blind)
    known = known_items(votes)
    majority = result.rules[MAJORITY] if result.rule != MAJORITY else mj.aggregate(blind, MAJORITY)
    right = {rule: right_share(fit.posterior[known], votes.gold_i[known]) for rule, fit in
             (("majority", majority), ("written", result.written), ("weighted", result.weighted))}  # fmt: skip
    before, after = chances(majority.posterior[known]), chances(result.written.posterior[known])
    tied = (before > 0).sum(axis=1) > 1
    gain = right["written"] - right["majority"]
    return PublicSet(
        name=name,
        family=family_of(name),
        case=result.setting.case,
        panel=result.setting.panel,
        items=len(known),
        tied=round(float(tied.mean()), 5),
        overturned=round(float((~tied & (before != after).any(axis=1)).mean()), 5),
        ties=round(float((gain * tied).mean()), 5),
        overturns=round(float((gain * ~tied).mean()), 5),
        other_gain=round(float((right["weighted"] - right["majority"]).mean()), 5),
        confidence=round(result.expected_accuracy, 5),
        accuracy=round(float(right["written"].mean()), 5),
    )


@dataclass(frozen=True)
class Row:
    """One check of one set."""

    name: str
    gold: str
    result: Result
    true_gain: float  # of the rule that was compared
    written_gain: float  # of the labels of the rule over majority vote with ties by lot
    blank: int  # items with a vote and without a label

    @property
    def wrong(self) -> str:
        """The part of the answer that gold labels contradict."""
        answer = self.result.answer
        if answer.certainty in ("proved", "supported"):
            low, high = answer.gain.low, answer.gain.high
            if low is not None and high is not None and not low - 1e-9 <= self.true_gain <= high + 1e-9:
                return "interval"
            if answer.action == "switch" and self.true_gain <= 0:
                return "switch"
            if answer.action == "keep" and self.true_gain > answer.tolerance:
                return "keep"
        return ""

    def cells(self) -> tuple[str, ...]:
        answer = self.result.answer
        gain, source = answer.gain, "" if answer.source is None else str(answer.source)
        said = "" if gain.value is None else f"{100 * gain.value:+.1f}"
        if gain.low is not None and gain.high is not None and gain.low != gain.high:
            said += f" ({100 * gain.low:+.1f} to {100 * gain.high:+.1f})"
        return (
            self.name,
            str(self.result.setting.case),
            self.gold,
            f"{answer.action} ({answer.certainty})",
            answer.other,
            source,
            said.strip(),
            f"{100 * self.true_gain:+.1f}",
            f"{100 * self.written_gain:+.1f}",
            self.wrong or "no",
        )


def check_set(name: str, votes: Votes, gold: str, shown: Votes) -> Row:
    result = mj.check(shown, gold_labels=False)
    blind = replace(votes, gold_i=None)
    other, gain = result.answer.other, 0.0
    majority = mj.aggregate(blind, MAJORITY)
    if other != MAJORITY:
        unseen = not_taught(votes, shown) if other == LEARNED and result.answer.gain.low is not None else votes
        gain = true_accuracy(unseen, result.other) - true_accuracy(unseen, majority)
    plain = true_accuracy(votes, majority)
    blank = sum(label is None for label in result.labels.to_dict()["label"])
    return Row(name, gold, result, gain, true_accuracy(votes, result.labels.fit) - plain, blank)


def not_taught(votes: Votes, shown: Votes) -> Votes:
    """The votes without the half of the gold labels from which a rule was learned."""
    assert votes.gold_i is not None
    gold_i = votes.gold_i.copy()
    item_p, _ = gold_labels(shown)
    gold_i[item_p[half_of(shown, item_p, seed=0)]] = -1
    return replace(votes, gold_i=gold_i)


def with_some(votes: Votes, n: int) -> Votes:
    """The votes with n of their gold labels, drawn at random."""
    assert votes.gold_i is not None
    known = np.flatnonzero((votes.gold_i >= 0) & (votes.votes_i > 0))
    kept = np.random.default_rng(0).permutation(known)[:n]
    gold_i = np.full(len(votes.items), -1, dtype=votes.gold_i.dtype)
    gold_i[kept] = votes.gold_i[kept]
    return replace(votes, gold_i=gold_i)


def of_case(rows: list[Row], *cases: Case) -> list[Row]:
    """The checks without gold labels of the sets of these cases; labelling functions are no sets of voters."""
    return [row for row in rows if row.gold == "none" and row.result.setting.case in cases]


def gains_text(rows: list[Row]) -> str:
    gains = [100 * row.written_gain for row in rows]
    families: dict[str, list[float]] = {}
    for row, gain in zip(rows, gains, strict=True):
        families.setdefault(family_of(row.name), []).append(gain)
    means = [float(np.mean(of)) for of in families.values()]
    return (
        f"{np.mean(gains):+.1f} points on average, {np.mean(means):+.1f} by family (worst set {min(gains):+.1f}), on "
        f"{len(rows)} sets of {len(means)} families"
    )


def forecasts_text(rows: list[Row]) -> str:
    """How often the 80% range of the forecast for crowds held, and its mean error."""
    crowds = of_case(rows, Case.CROWD)
    said = [
        (row.result.answer.gain, row.true_gain, family_of(row.name)) for row in crowds if row.result.answer.gain.low
    ]
    held: dict[str, list[bool]] = {}
    for gain, true, family in said:
        held.setdefault(family, []).append(gain.low - 1e-9 <= true <= gain.high + 1e-9)
    share = float(np.mean([np.mean(of) for of in held.values()]))
    return (
        f"said {100 * np.mean([gain.value for gain, _, _ in said]):+.1f}, true "
        f"{100 * np.mean([true for _, true, _ in said]):+.1f} points; the 80% range held for {100 * share:.0f}% of "
        f"{len(held)} families"
    )


def faults(rows: list[Row]) -> list[str]:
    """Every violated requirement, as text."""
    gains = [row.written_gain for row in of_case(rows, Case.CROWD)]
    return [
        *(f"{row.name} with gold {row.gold}: {row.wrong} excluded by gold" for row in rows if row.wrong),
        *(f"{row.name}: {row.blank} blank labels" for row in rows if row.blank),
        *([f"labels gain {100 * np.mean(gains):.1f} points on average"] if np.mean(gains) < 0.02 else []),
    ]


HEAD = ("set", "kind", "gold given", "answer", "rule", "evidence", "predicted gain", "true gain", "label gain", "wrong")


def page(rows: list[Row]) -> str:
    """docs/track-record.md: one line per set; track_record.csv has every answer."""
    cells = [row.cells() for row in rows]
    blank = sum(row.blank for row in rows)
    answers = {(name, gold): rest for name, _, gold, *rest in cells}
    wrong = sum(row[-1] != "no" for row in cells)
    head = (
        "set",
        "without labels",
        "predicted gain",
        "true gain",
        "label gain",
        "with 100 labels",
        "true gain",
        "label gain",
    )
    lines = [
        "# Track record",
        "",
        "What `majorant check` says about public data sets, compared with their gold labels, written by",
        "`python benchmarks/track_record.py`. All answers, including those with all gold labels, are in",
        "`benchmarks/track_record.csv`. Gains over majority vote are in percentage points: *true gain* is",
        "that of the rule in the answer, *label gain* that of the labels majorant writes over majority vote,",
        "whose ties count by their share. What is predicted for a set rests on the other families of sets. The rules",
        "were chosen on some of these sets, and then tested on others that are not public here.",
        "",
        f"**Gold labels contradict {wrong} of {len(cells)} answers, and {blank} items have no label.** Labels written",
        "without using gold labels gain",
        "",
        f"- crowds with at least ten votes per worker: {gains_text(of_case(rows, Case.CROWD))};",
        f"- panels and crowds with few votes per worker: {gains_text(of_case(rows, Case.PANEL))}.",
        "  Only ties are decided there, and that can cost: a tie is broken by what the judges' habits suggest, and",
        "  judges who share a bias break it the wrong way.",
        "",
        f"Forecasts for crowds, each without the set's family: {forecasts_text(rows)}.",
        "",
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
    ]
    for name, kind in dict.fromkeys((row[0], row[1]) for row in cells):
        free, some = answers[name, "none"], answers[name, "100"]
        shown = (f"{name} ({kind})", free[0], free[3], free[4], free[5], f"{some[0]}: {some[1]}", some[4], some[5])
        lines.append(f"| {' | '.join(shown)} |")
    return "\n".join([*lines, ""])


def main() -> None:
    sets = dict(public_sets())
    records = [as_record(name, votes) for name, votes in sets.items()]
    rows = []
    for name, votes in sets.items():
        others = tuple(one for one in records if one.family != family_of(name))
        with patch.object(track_record, "public_sets", lambda others=others: others):
            for gold, shown in (("none", replace(votes, gold_i=None)), ("100", with_some(votes, 100)), ("all", votes)):
                rows.append(check_set(name, votes, gold, shown))
                print(" | ".join(rows[-1].cells()), flush=True)
    for cases in ((Case.CROWD,), (Case.PANEL,), (Case.GRADES,), (Case.ONE_CLASS,)):
        print(", ".join(cases), gains_text(of_case(rows, *cases)))
    print(forecasts_text(rows))
    if "--write" in sys.argv:
        content = {"made_by": "benchmarks/track_record.py", "sets": [asdict(one) for one in records]}
        target = ROOT / "src/majorant/evidence/track_record.json"
        target.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        (ROOT / "docs/track-record.md").write_text(page(rows), encoding="utf-8")
        with (ROOT / "benchmarks/track_record.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([HEAD, *(row.cells() for row in rows)])
    if found := faults(rows):
        sys.exit("; ".join(found))


if __name__ == "__main__":
    main()
