"""What does majorant say of every public set, and what is true?  Writes docs/track-record.md.

`MAJORANT_DATA=... python benchmarks/track_record.py [SET ...] > docs/track-record.md`, a quarter of an hour.  Each set
is checked three times: without its gold labels, with 100 of them drawn at random, and with all.  The truth is what all
gold labels of the set say; a set whose gold covers some of its items is judged on these.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import majorant as mj
from advice import find, load
from majorant.answer.answer import Answer
from majorant.answer.difference import difference, gold_lead
from majorant.certify.certificate import Claim
from majorant.certify.gold.claim import claim_from_cells
from majorant.claims import gather
from majorant.merge import take_items
from majorant.pipeline import Result
from majorant.site import MemorySite
from majorant.votes import Votes
from majorant.wording import signed

SOME = 100  # gold labels
HEAD = """# Track record

What `majorant check` says of public data sets whose truth is known, and what is true. Made by
`python benchmarks/track_record.py`; nothing here is written by hand. Each set is checked without its gold labels, with
{some} of them drawn at random, and with all. The constants of the rules were chosen while looking at some of these
sets, so expect a little worse elsewhere.

**{wrong} of {said} answers say something wrong**: an interval of the gain that does not hold the true gain,
*switch* where the other rule is not better, *keep* (for another reason than that the labels say so) where it gains
more than the tolerance, or an interval of what majority vote loses, not marked as the model's alone, that excludes what
the gold labels say. *Ask* claims nothing but that at most so much is at
stake, which is checked too.
"""
COLUMNS = ("set", "items", "gold given", "answer", "grade", "gain said", "true gain", "at stake", "wrong")


@dataclass(frozen=True)
class Row:
    """One check of one set."""

    name: str
    items: int
    gold: str
    answer: Answer
    truth: float  # percentage points
    wrong: tuple[str, ...]

    def cells(self) -> tuple[str, ...]:
        gain = self.answer.gain
        said = "-"
        if self.answer.basis in ("gold", "model") and gain.low is not None:
            middle = "" if gain.value is None or gain.low == gain.high else f"{signed(gain.value)} "
            ends = signed(gain.low) if gain.low == gain.high else f"[{signed(gain.low)}, {signed(gain.high)}]"
            said = middle + ends
        return (
            self.name,
            f"{self.items:,}",
            self.gold,
            self.answer.action,
            self.answer.grade,
            said,
            signed(self.truth),
            f"{self.answer.stake:.1f}",
            "; ".join(self.wrong) or "no",
        )


def checks(name: str, votes: Votes, seed: int = 0) -> Iterator[Row]:
    """The three checks of a set, on the items whose truth is known."""
    assert votes.gold_i is not None
    known = np.flatnonzero((votes.gold_i >= 0) & (votes.votes_i > 0))
    votes = take_items(votes, known) if len(known) < len(votes.items) else votes
    assert votes.gold_i is not None
    some = np.random.default_rng(seed).permutation(len(votes.items)) < SOME
    cells = gather(MemorySite(votes), rng=np.random.default_rng(seed)).gold
    whole = None if cells is None else claim_from_cells(cells, votes.labels, level=0.95)
    given = {"none": None, str(SOME): np.where(some, votes.gold_i, -1), "all": votes.gold_i}
    for gold, gold_i in given.items():
        result = mj.check(replace(votes, gold_i=gold_i), rng=seed)
        truth = true_gain(votes, result)
        yield Row(name, len(votes.items), gold, result.answer, truth, tuple(faults(result, whole, truth)))


def true_gain(votes: Votes, result: Result) -> float:
    """The gain of the other rule by all gold labels, in percentage points."""
    fit = result.decision.fit
    lead = gold_lead(MemorySite(votes), fit, difference(result.majority, fit), alpha=0.05)
    assert lead is not None
    assert lead.whole
    return 100 * (lead.lead.value or 0.0)


def faults(result: Result, whole: Claim | None, truth: float) -> Iterator[str]:
    """What the truth contradicts; `whole` is the claim by all gold labels."""
    answer, small = result.answer, 1e-9
    if abs(truth) > answer.stake + small:
        yield "stake"
    low, high = answer.gain.low, answer.gain.high
    bounded = answer.basis in ("gold", "model") and low is not None and high is not None
    if bounded and not low - small <= truth <= high + small:
        yield "interval of the gain"
    if answer.action == "switch" and truth <= 0:
        yield "switch"
    if answer.action == "keep" and answer.basis != "gold" and truth > answer.tolerance + small:
        yield "keep"
    claim = result.certificate.anonymous
    if claim.verdict in ("proved", "supported", "refuted", "undecided") and whole is not None:
        loss, known = claim.loss, whole.loss.value
        if None not in (loss.low, loss.high, known) and not loss.low - small <= known <= loss.high + small:
            yield "loss"


def main() -> None:
    wanted = set(sys.argv[1:])
    rows = []
    for name, path, truth in find(Path(os.environ["MAJORANT_DATA"])):
        if wanted and name not in wanted:
            continue
        for row in checks(name, load(path, truth)):
            rows.append(row)
            print(" | ".join(row.cells()), file=sys.stderr, flush=True)
    print(HEAD.format(some=SOME, wrong=sum(bool(row.wrong) for row in rows), said=len(rows)))
    if wanted:
        print(f"This run was of {len(wanted)} sets alone; without names the script takes all that it finds.\n")
    for cells in (COLUMNS, ["---"] * len(COLUMNS), *(row.cells() for row in rows)):
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
