"""How fast are methods that crowd-kit lacks beside plain dictionaries, the way they are usually first written?

python benchmarks/plain.py [votes]      1e5 votes by default; seconds and the share of equal labels
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict

import numpy as np

from clock import best_seconds, seconds
from majorant.methods import ESTIMATORS
from majorant.votes import Votes
from methods import crowd

Ballots = dict[int, list[tuple[int, int]]]


def ballots(votes: Votes) -> Ballots:
    """For each item its votes as (worker, label)."""
    found: Ballots = defaultdict(list)
    for i, j, l in zip(votes.item_n.tolist(), votes.worker_n.tolist(), votes.label_n.tolist(), strict=True):
        found[i].append((j, l))
    return found


def iwmv(ballot: Ballots, n_classes: int) -> dict[int, int]:
    """Iterated weighted majority: label by weights, weights by agreement with the labels."""
    weight: dict[int, float] = defaultdict(lambda: 1.0)
    labels: dict[int, int] = {}
    for _ in range(20):
        score = {i: Counter() for i in ballot}
        for i, votes in ballot.items():
            for j, l in votes:
                score[i][l] += weight[j]  # type: ignore[assignment]
        before, labels = labels, {i: max(s, key=lambda l, s=s: (s[l], -l)) for i, s in score.items()}
        right, total = Counter[int](), Counter[int]()
        for i, votes in ballot.items():
            for j, l in votes:
                right[j] += l == labels[i]
                total[j] += 1
        weight = defaultdict(float, {j: n_classes * right[j] / total[j] - 1 for j in total})
        if labels == before:
            break
    return labels


def la_two_pass(ballot: Ballots, n_classes: int) -> dict[int, int]:
    """One pass that keeps accuracies up to date, a second that votes with them."""
    right: dict[int, float] = defaultdict(lambda: 1.0)
    seen: dict[int, float] = defaultdict(lambda: 2.0)
    for votes in ballot.values():
        score: dict[int, float] = defaultdict(float)
        for j, l in votes:
            score[l] += right[j] / seen[j]
        label = max(score, key=lambda l, s=score: (s[l], -l))
        for j, l in votes:
            right[j] += l == label
            seen[j] += 1
    labels = {}
    for i, votes in ballot.items():
        score = defaultdict(float)
        for j, l in votes:
            score[l] += n_classes * right[j] / seen[j] - 1
        labels[i] = max(score, key=lambda l, s=score: (s[l], -l))
    return labels


def main(n_votes: int) -> None:
    """Print a row per method and number of classes."""
    print(f"{n_votes:,} votes, a crowd")
    print(f"{'method':<14}{'K':>3}{'ours, s':>10}{'dictionaries, s':>17}{'ratio':>8}{'same labels':>13}")
    for n_classes in (2, 10):
        votes = crowd(n_votes, n_classes)
        ballot = ballots(votes)
        for name, plain in (("iwmv", iwmv), ("la-two-pass", la_two_pass)):
            code_i = ESTIMATORS[name]().fit(votes).codes("first")
            ours = best_seconds(lambda n=name, v=votes: ESTIMATORS[n]().fit(v), 3)
            theirs = seconds(lambda p=plain, b=ballot, k=n_classes: p(b, k))
            found = plain(ballot, n_classes)
            alike = np.mean([found[i] == code for i, code in enumerate(code_i.tolist()) if i in found])
            print(
                f"{name:<14}{n_classes:>3}{ours:>10.4f}{theirs:>17.2f}{theirs / ours:>7.0f}x{alike:>13.2%}", flush=True
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
