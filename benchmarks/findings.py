"""How accurate is majority vote on public data sets, how accurate is `check`, and what do 30 labels add?

MAJORANT_DATA=FOLDER python benchmarks/findings.py [part of a name]      writes docs/findings.md; five minutes

Sets are scored on their items with gold labels, which `check` does not see.  With 30 of them as a random sample, it is
scored on the other items, over ten samples (three for large sets).
"""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import majorant as mj
from majorant.setting import Setting
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes
from public_sets import data_sets

PAGE = Path(__file__).parent.parent / "docs" / "findings.md"
HEAD = """# Findings

Accuracy on public data sets with gold labels, written by `python benchmarks/findings.py`. For majority vote,
a tie among n labels counts as 1/n of a correct label. *Check* is the accuracy of the labels from `majorant check`
without any gold labels. *30 labels* is the same with gold labels on 30 random items, scored on the other items: the
mean and range over ten random samples (three on sets with 20,000 votes or more). The best judge is picked with all the
gold labels, so nobody could know it in advance.
"""
LABELS = 30


@dataclass(frozen=True, slots=True)
class Finding:
    """Accuracies on one set."""

    name: str
    panel: bool
    items: int
    workers: int
    majority: float
    tied: int
    checked: float
    best: tuple[str, float] | None  # of a panel
    taught: tuple[float, ...]  # for each sample of 30 labels


def main() -> None:
    """Write the page, or print the findings of some sets."""
    folder, part = Path(os.environ["MAJORANT_DATA"]), sys.argv[1] if len(sys.argv) > 1 else ""
    warnings.simplefilter("ignore", mj.DataNote)
    found = [measure(name, votes) for name, votes in data_sets(folder) if part in name and votes.gold_i is not None]
    page = write(found)
    if part:
        print(page)
    else:
        PAGE.write_text(page, encoding="utf-8")


def measure(name: str, votes: Votes) -> Finding:
    """Score a set."""
    gold_i = np.asarray(votes.gold_i)
    known = (gold_i >= 0) & (votes.votes_i > 0)
    counts_ik = np.zeros((votes.shape[0], len(votes.labels)))
    np.add.at(counts_ik, (np.repeat(np.arange(votes.shape[0]), votes.votes_i), votes.label_n), 1)
    top_ik = counts_ik == counts_ik.max(axis=1, keepdims=True)
    right_i = top_ik[np.arange(len(gold_i)), gold_i] / top_ik.sum(axis=1)
    panel = Setting.of(votes).panel
    blind = replace(votes, gold_i=None)
    n_samples = 10 if len(votes.label_n) < 20_000 else 3
    print(name, file=sys.stderr)
    return Finding(
        name=name,
        panel=panel,
        items=votes.shape[0],
        workers=votes.shape[1],
        majority=float(right_i[known].mean()),
        tied=int((top_ik.sum(axis=1) > 1)[votes.votes_i > 0].sum()),
        checked=_right(blind, gold_i, known),
        best=_best(votes, gold_i) if panel else None,
        taught=tuple(_taught(votes, gold_i, known, seed) for seed in range(n_samples)),
    )


def _right(votes: Votes, gold_i: IntArray, scored_i: FloatArray) -> float:
    code_of = {label: code for code, label in enumerate(votes.labels)}
    given = mj.check(votes).labels.to_dict()
    label_of = dict(zip(given["item"], given["label"], strict=True))
    code_i = np.array([code_of.get(label_of.get(item), -1) for item in votes.items])
    return float((code_i == gold_i)[scored_i].mean())


def _taught(votes: Votes, gold_i: IntArray, known: FloatArray, seed: int) -> float:
    drawn = np.random.default_rng(seed).permutation(np.flatnonzero(known))[:LABELS]
    some_i = np.full(len(gold_i), -1, dtype=gold_i.dtype)
    some_i[drawn] = gold_i[drawn]
    rest = known.copy()
    rest[drawn] = False
    return _right(replace(votes, gold_i=some_i), gold_i, rest)


def _best(votes: Votes, gold_i: IntArray) -> tuple[str, float]:
    item_n = np.repeat(np.arange(votes.shape[0]), votes.votes_i)
    judged = gold_i[item_n] >= 0
    right = (votes.label_n == gold_i[item_n])[judged]
    total_j = np.bincount(votes.worker_n[judged], minlength=votes.shape[1])
    share_j = np.bincount(votes.worker_n[judged], right, votes.shape[1]) / np.maximum(total_j, 1)
    share_j[total_j < 30] = 0.0  # too few to be called the best
    return str(votes.workers[int(share_j.argmax())]), float(share_j.max())


def write(found: list[Finding]) -> str:
    """Render the page."""
    parts = [HEAD]
    for title, panel in (("Panels of judges", True), ("Crowds", False)):
        some = sorted((one for one in found if one.panel is panel), key=lambda one: one.majority)
        if some:
            parts += [f"## {title}\n", table(some)]
    return "\n".join(parts)


def table(found: list[Finding]) -> str:
    """A row for each set."""
    who, best = ("judges", " best judge |") if found[0].panel else ("workers", "")
    lines = [
        f"| set | items | {who} | majority vote | ties |{best} check | 30 labels |",
        "|---" * (8 if best else 7) + "|",
    ]
    for one in found:
        name = f" {one.best[1]:.1%} ({one.best[0]}) |" if one.best is not None else ""
        low, high = min(one.taught), max(one.taught)
        lines.append(
            f"| {one.name} | {one.items:,} | {one.workers:,} | {one.majority:.1%} | {one.tied:,} |{name}"
            f" {one.checked:.1%} | {np.mean(one.taught):.1%} ({low:.1%} to {high:.1%}) |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
