"""Are the answers of `check` on public data sets right?

    MAJORANT_DATA=... python benchmarks/track_record.py [--write] [--quick]

Checks each set without its gold labels and, unless `--quick`, with 100 of them drawn at random and with all of them.
`--write` writes `src/majorant/evidence/track_record.json`, which the package quotes, `track_record.csv` and
`docs/track-record.md`.  Judges are not recognised by their names here (benchmarks/known.py does that).  What is
predicted for a set rests on the other families (benchmarks/families.py).  Exits with 1 if the labels written without
gold labels on crowds that teach gain less than two points on average, if an item has no label, or if gold labels
contradict an answer.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

import majorant as mj
from families import family_of
from majorant.evidence import track_record
from majorant.evidence.identical import Difference
from majorant.evidence.labels import gold_accuracy, known_items, right_share
from majorant.evidence.learn import LEARNED, gold_labels
from majorant.evidence.rules import half_of
from majorant.evidence.track_record import PublicSet, forecast
from majorant.methods.fit import chances
from majorant.results.result import Result
from majorant.setting import Case
from majorant.values import Estimate
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
        how = {"gold_file": folder / "truth.csv", "repeats": "each", "ratings": False}
        votes = mj.read(folder / "label.csv", **how)
        if folder.parent.name == "grades":
            votes = mj.read(folder / "label.csv", **how, order=list(map(str, votes.labels)))
        yield folder.name, votes


def true_accuracy(votes: Votes, fit: mj.Fit) -> float:
    found = gold_accuracy(votes, fit, level=0.95)
    assert found is not None
    return found.value


def as_record(name: str, votes: Votes, result: Result) -> PublicSet:
    """The record of a set that was checked without its gold labels."""
    known = known_items(votes)
    fits = {"majority": result.majority, "written": result.written, "weighted": result.weighted}
    right = {rule: right_share(fit.posterior[known], votes.truth_i[known]) for rule, fit in fits.items()}
    before, after = chances(result.majority.posterior[known]), chances(result.written.posterior[known])
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


def gains_text(records: list[PublicSet]) -> str:
    gains = [100 * one.gain for one in records]
    families: dict[str, list[float]] = {}
    for one, gain in zip(records, gains, strict=True):
        families.setdefault(one.family, []).append(gain)
    means = [float(np.mean(of)) for of in families.values()]
    return (
        f"{np.mean(gains):+.1f} points on average, {np.mean(means):+.1f} by family (worst set {min(gains):+.1f}), on "
        f"{len(records)} sets of {len(means)} families"
    )


def forecasts_text(records: list[PublicSet], predicted: dict[str, Estimate]) -> str:
    """How often the 80% range of the forecast for crowds held, and its mean."""
    held: dict[str, list[bool]] = {}
    crowds = [one for one in records if one.name in predicted]
    for one in crowds:
        _, low, high = predicted[one.name].ends
        held.setdefault(one.family, []).append(low - 1e-9 <= one.gain <= high + 1e-9)
    share = float(np.mean([np.mean(of) for of in held.values()]))
    said = np.mean([predicted[one.name].value for one in crowds])
    return (
        f"said {100 * said:+.1f}, true {100 * np.mean([one.gain for one in crowds]):+.1f} points on average; the 80% "
        f"range held for {100 * share:.0f}% of {len(held)} families"
    )


def faults(records: list[PublicSet], rows: list[Row]) -> list[str]:
    """Every violated requirement, as text."""
    crowds = np.mean([one.gain for one in records if one.case is Case.CROWD])
    return [
        *(f"{row.name} with gold {row.gold}: {row.wrong} excluded by gold" for row in rows if row.wrong),
        *(f"{row.name}: {row.blank} blank labels" for row in rows if row.blank),
        *([f"labels gain {100 * crowds:.1f} points on average"] if crowds < 0.02 else []),
    ]


HEAD = ("set", "kind", "gold given", "answer", "rule", "evidence", "predicted gain", "true gain", "label gain", "wrong")


KINDS = {
    Case.CROWD: "Crowds with ten votes per worker or more: the weighted vote",
    Case.PANEL: "Panels and thin crowds: majority vote with its ties broken by one step of Dawid-Skene",
    Case.GRADES: "Grades: the median (here by exact accuracy; it is meant for the distance between grades)",
    Case.CHANCE: "Crowds whose votes agree no more than chance: majority vote",
    Case.ONE_CLASS: "Labelling functions: majority vote",
}


def page(records: list[PublicSet], predicted: dict[str, Estimate]) -> str:
    """docs/track-record.md: one line per set, by case."""
    lines = [
        "# Track record",
        "",
        "What the labels that `majorant check` writes without labels gain over majority vote on public data sets, in",
        "percentage points, written by `python benchmarks/track_record.py`. Ties of majority vote count by their",
        "share. *Ties* is the gain on items with tied votes, *overturned* that on the others. *Forecast* is what",
        "`check` would say, with its 80% range, from the other families of sets alone. *Weighted vote* is the gain of",
        "that rule, which panels do not write. The rules were chosen on some of these sets and then tested on others,",
        "which are not public here. Judges are not recognised by their names.",
        "",
        f"Forecasts for crowds: {forecasts_text(records, predicted)}.",
        "",
    ]
    for case, title in KINDS.items():
        some = [one for one in records if one.case is case]
        if not some:
            continue
        lines += [f"## {title}", "", f"{gains_text(some)}.", ""]
        lines += ["| set | majority vote | gain | ties | overturned | forecast | weighted vote |", f"|{'---|' * 7}"]
        for one in some:
            cells = (
                one.name,
                f"{100 * (one.accuracy - one.gain):.1f}%",
                f"{100 * one.gain:+.1f}",
                f"{100 * one.ties:+.1f}",
                f"{100 * one.overturns:+.1f}",
                points(predicted[one.name]) if one.name in predicted else "",
                f"{100 * one.other_gain:+.1f}",
            )
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def on_gold(one: PublicSet) -> Difference:
    """How many gold items of a set are tied, and how many others have another label than majority vote gives."""
    tied, overturned = round(one.tied * one.items), round(one.overturned * one.items)
    return Difference(items=one.items, differ=tied + overturned, tied=tied)


def points(estimate: Estimate) -> str:
    """An estimate in points, with its range."""
    value, low, high = (100 * float(end or 0.0) for end in estimate.ends)
    return f"{value:+.1f} ({low:+.1f} to {high:+.1f})"


def main() -> None:
    warnings.simplefilter("ignore", mj.DataNote)
    sets = dict(public_sets())
    records, changed, rows = [], {}, []
    for name, votes in sets.items():
        result = mj.check(replace(votes, gold_i=None))
        records.append(as_record(name, votes, result))
        changed[name] = result.setting
        print(records[-1], flush=True)
    predicted = {}
    for one in records:
        others = [other for other in records if other.family != one.family]
        if one.case is Case.CROWD and (found := forecast(changed[one.name], on_gold(one), others)):
            predicted[one.name] = found.total
    for name, votes in {} if "--quick" in sys.argv else sets.items():
        others = tuple(one for one in records if one.family != family_of(name))
        with patch.object(track_record, "public_sets", lambda others=others: others):
            for gold, shown in (("none", replace(votes, gold_i=None)), ("100", with_some(votes, 100)), ("all", votes)):
                rows.append(check_set(name, votes, gold, shown))
                print(" | ".join(rows[-1].cells()), flush=True)
    for case in KINDS:
        if some := [one for one in records if one.case is case]:
            print(case, gains_text(some))
    print(forecasts_text(records, predicted))
    if "--write" in sys.argv:
        content = {"made_by": "benchmarks/track_record.py", "sets": [asdict(one) for one in records]}
        target = ROOT / "src/majorant/evidence/track_record.json"
        target.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        (ROOT / "docs/track-record.md").write_text(page(records, predicted), encoding="utf-8")
        if rows:
            with (ROOT / "benchmarks/track_record.csv").open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([HEAD, *(row.cells() for row in rows)])
    if found := faults(records, rows):
        sys.exit("; ".join(found))


if __name__ == "__main__":
    main()
