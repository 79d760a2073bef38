"""Do labels drawn to teach measure accuracies without bias, and do the intervals hold?

    MAJORANT_DATA=FOLDER python benchmarks/drawn.py [--loops N] [SET ...]

Each loop draws ten items and then fives, up to 30, with the product's session; gold stands in for the expert.  There is
a row for majority vote and each judge: the accuracy on all items, the mean of the measured ones with its bias in
standard errors, the root mean square error in points (of 30 random labels in brackets), how often the interval at 95%
held, and its mean width (of 30 random labels in brackets).
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

import board
from learn import Trial, draw
from majorant.ask.question import Wanted
from majorant.ask.questions import _session
from majorant.methods.fit import chances
from public_sets import data_sets

PANELS = ("llmbar_six", "rewardbench2_nine", "realmistake_fact")
LABELS = 30


def main() -> None:
    """Print a row for every accuracy, and the goals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=PANELS)
    parser.add_argument("--loops", type=int, default=10_000)
    options = parser.parse_args()
    print(f"{'':40}{'true':>8}{'mean':>8}{'bias/se':>9}{'rmse':>14}{'holds %':>9}{'width':>14}")
    biases, held = [], []
    for name, votes in data_sets(Path(os.environ["MAJORANT_DATA"])):
        if name not in options.sets:
            continue
        trial = Trial(votes)
        n_items = len(trial.truth_i)
        found: dict[str, list[tuple[float, float, float, float]]] = {}
        order = np.random.default_rng(0).permutation(n_items)
        truth_d = trial.truth_i[order]
        for seed in range(options.loops):
            wanted = Wanted(rules=(), seed=seed, draw="teach")
            session = _session(trial.votes, order, trial.weighted, trial.baseline, n_items, wanted)
            session, answer_d = draw(session, "fives", LABELS, truth_d)
            for one in session.measure(answer_d):
                value, low, high = one.accuracy.ends
                found.setdefault(one.name, []).append((value, low, high, one.width_at_random))
        share_dk = trial.share_ik[order]
        for rule, rows in found.items():
            value, low, high, at_random = np.array(rows).T
            true = accuracy(rule, trial, share_dk, truth_d, order)
            error = value.std(ddof=1) / np.sqrt(len(value))
            biases.append(abs(value.mean() - true) / error)
            held.append(np.mean((low <= true) & (true <= high)))
            rmse, simple = np.sqrt(np.mean((value - true) ** 2)), np.sqrt(true * (1 - true) / LABELS)
            print(
                f"{name[:19]:20}{rule[:19]:20}{100 * true:8.1f}{100 * value.mean():8.1f}{biases[-1]:9.1f}"
                f"{f'{100 * rmse:.1f} ({100 * simple:.1f})':>14}{100 * held[-1]:9.1f}"
                f"{f'{100 * np.mean(high - low):.0f} ({100 * at_random.mean():.0f})':>14}",
                flush=True,
            )
    worst, least = max(biases), min(held)
    board.at_most(
        "bias of an accuracy from labels drawn to teach, in standard errors", f"{worst:.1f}", "3", worst / 3, 1
    )
    board.at_least("intervals from labels drawn to teach hold", f"{100 * least:.1f}%", "95%", least / 0.95, 1)


def accuracy(rule: str, trial: Trial, share_dk: np.ndarray, truth_d: np.ndarray, order: np.ndarray) -> float:
    """The accuracy of majority vote or of a judge on all items."""
    if rule == "majority":
        return float(chances(share_dk)[np.arange(len(truth_d)), truth_d].mean())
    votes = trial.votes
    mine = votes.worker_n == [str(worker) for worker in votes.workers].index(rule)
    label_i = np.full(len(truth_d), -1)
    label_i[votes.item_n[mine]] = votes.label_n[mine]
    return float((label_i[order] == truth_d).mean())


if __name__ == "__main__":
    main()
