"""Other ways to learn a correction from expert labels than the one that is shipped, and the most they could gain.

python benchmarks/correct_families.py [REPEATS] [SET ...]

Seeds are not those of `ask.py`, and what is tried was not tuned to these sets (the worth of the crowd's matrix was
looked at with 2, 10 and 50 votes: none gains): penalties by five-fold
cross-validation of the labels' likelihood; a model of each worker (confusion matrices drawn to the crowd's, worth ten
votes) in which the labels stand as the truth of their items; 30 or 80 labels of a hundred to learn from instead of 60.
The oracle sees all gold: weights and offsets of the shipped family, moved as long as more items come out right.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import ask
from advice import find, load
from ask_sets import NAMES, Population, populations
from majorant.ask.correction import LABELS, OFFSET_PENALTY, WEIGHT_PENALTY, Correction, learn, relabel, scores
from majorant.ask.question import UNASKED
from majorant.ask.race import Race
from majorant.methods.weighted_vote import COMBINATION
from majorant.votes import Votes

Ints, Floats = NDArray[np.int64], NDArray[np.float64]
Learner = Callable[[Ints], Ints]  # from places of labelled items to a label for every item
MULTIPLES, FOLDS = (0.3, 1.0, 3.0, 10.0, 30.0), 5
CROWD, STEPS = 10.0, 30  # votes that the crowd's confusion matrix is worth beside a worker's own; steps of EM
HEADS = ("shipped", "cross-validated", "workers", "30 to learn", "80 to learn")


def measure(population: Population, votes: Votes, seed: int) -> Floats:
    """Points gained on other items after a hundred labels: learned alone, then used if it leads, for each way."""
    posterior, truth_i = ask._members(population), population.truth_i

    def shipped(labelled: Ints) -> Ints:
        return relabel(learn(posterior[:, labelled], truth_i[labelled]), posterior)

    def validated(labelled: Ints) -> Ints:
        at = posterior[:, labelled]
        best = max(MULTIPLES, key=lambda multiple: _likelihood(at, truth_i[labelled], multiple))
        return relabel(_learn(at, truth_i[labelled], best), posterior)

    def workers(labelled: Ints) -> Ints:
        return _worker_model(votes, posterior.mean(axis=0), labelled, truth_i)

    ways: list[tuple[Learner, int]] = [(shipped, LABELS), (validated, LABELS), (workers, LABELS)]
    ways += [(shipped, 30), (shipped, 80)]
    return np.array([_gains(population, learner, n, seed) for learner, n in ways])


def _gains(population: Population, learner: Learner, n: int, seed: int) -> tuple[float, float]:
    rng, truth_i = np.random.default_rng([41, seed]), population.truth_i
    present_i, order = population.answers(COMBINATION, rng), rng.permutation(len(truth_i))
    learned_i, rest = learner(order[:n]), order[n:]
    differ = rng.permutation(rest[learned_i[rest] != present_i[rest]])
    gain = 100 * float((learned_i[rest] == truth_i[rest]).mean() - (present_i[rest] == truth_i[rest]).mean())
    if not len(differ):
        return gain, 0.0
    race = Race.of(("present", "corrected"), np.array([present_i[differ], learned_i[differ]]), n_items=len(rest))
    answer_d = np.where(np.arange(race.size) < ask.BUDGET - n, truth_i[differ], UNASKED)
    return gain, gain if race.standing(answer_d).leader == 1 else 0.0


def _learn(posterior: Floats, truth: Ints, multiple: float) -> Correction:
    """`learn` with its penalties multiplied."""
    from majorant.ask import correction

    correction.OFFSET_PENALTY, correction.WEIGHT_PENALTY = multiple * OFFSET_PENALTY, multiple * WEIGHT_PENALTY
    try:
        return learn(posterior, truth)
    finally:
        correction.OFFSET_PENALTY, correction.WEIGHT_PENALTY = OFFSET_PENALTY, WEIGHT_PENALTY


def _likelihood(posterior: Floats, truth: Ints, multiple: float) -> float:
    """Of labels that a correction has not seen, by cross-validation."""
    total = 0.0
    for fold in range(FOLDS):
        out = np.arange(len(truth)) % FOLDS == fold
        score_nk = scores(_learn(posterior[:, ~out], truth[~out], multiple), posterior[:, out])
        score_nk -= np.logaddexp.reduce(score_nk, axis=1, keepdims=True)
        total += float(score_nk[np.arange(out.sum()), truth[out]].sum())
    return total


def _worker_model(votes: Votes, start: Floats, labelled: Ints, truth_i: Ints) -> Ints:
    """EM for confusion matrices drawn to the crowd's, with the expert's labels as the truth of their items."""
    n_items, n_workers, n_classes = votes.shape
    rows = np.flatnonzero((votes.gold_i >= 0) & (votes.votes_i > 0))  # type: ignore[operator]
    known, told = rows[labelled], np.eye(n_classes)[truth_i[labelled]]
    belief_ik = np.full((n_items, n_classes), 1 / n_classes)
    belief_ik[rows], belief_ik[known] = start, told
    for _ in range(STEPS):
        count_jlk = np.zeros((n_workers, n_classes, n_classes))
        np.add.at(count_jlk, (votes.worker_n, votes.label_n), belief_ik[votes.item_n])
        crowd_lk = count_jlk.sum(axis=0) + 0.5
        confusion_jlk = count_jlk + CROWD * crowd_lk / crowd_lk.sum(axis=0)
        score_ik = np.tile(np.log(belief_ik.sum(axis=0) + 1), (n_items, 1))
        np.add.at(
            score_ik,
            votes.item_n,
            np.log(confusion_jlk / confusion_jlk.sum(axis=1, keepdims=True))[votes.worker_n, votes.label_n],
        )
        belief_ik = np.exp(score_ik - np.logaddexp.reduce(score_ik, axis=1, keepdims=True))
        belief_ik[known] = told
    return np.asarray(belief_ik[rows].argmax(axis=1))


def oracle(population: Population) -> float:
    """Points that the best weights and offsets gain over the combination on the gold that they were chosen by."""
    posterior, truth_i, rng = ask._members(population), population.truth_i, np.random.default_rng(0)
    present_i = population.answers(COMBINATION, rng)
    start = learn(posterior, truth_i)
    n_models, best = len(start.weight_m), np.concatenate([start.weight_m, start.offset_k])

    def right(value: Floats) -> int:
        moved = Correction(weight_m=value[:n_models], offset_k=value[n_models:], n_labels=0)
        return int((relabel(moved, posterior) == truth_i).sum())

    most, width = right(best), 0.5
    for step in range(1500):
        width = 0.5 * 0.997**step
        there = best + rng.normal(0, width, len(best)) * (rng.random(len(best)) < 0.5)
        if (found := right(there)) >= most:
            best, most = there, found
    return 100 * (most - int((present_i == truth_i).sum())) / len(truth_i)


def main() -> None:
    """A row for each set: gains of what was learned alone / used if it leads, and the oracle's."""
    arguments = sys.argv[1:]
    repeats = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else 20
    folder = os.environ.get("MAJORANT_DATA") or sys.exit("Set MAJORANT_DATA to the folder of the data sets.")
    places = {NAMES.get(name, name): (path, truth) for name, path, truth in find(Path(folder))}
    print(f"{repeats} repeats\n{'set':14}" + "".join(f"{head:>18}" for head in HEADS) + f"{'oracle':>10}")
    means, ceilings = [], []
    for population in populations(arguments):
        votes = load(*places[population.name])
        means.append(np.mean([measure(population, votes, seed) for seed in range(repeats)], axis=0))
        ceilings.append(oracle(population))
        print(f"{population.name:14}" + _row(means[-1]) + f"{ceilings[-1]:10.2f}", flush=True)
    print(f"{'mean':14}" + _row(np.mean(means, axis=0)) + f"{np.mean(ceilings):10.2f}")
    print(f"{'lowest':14}" + _row(np.min(means, axis=0)) + f"{np.min(ceilings):10.2f}")
    best = np.mean([gain_wc[:, 1].max() for gain_wc in means])
    print(f"used if it leads, the best way for each set in hindsight: {best:.2f}")


def _row(gain_wc: Floats) -> str:
    return "".join(f"{f'{alone:.2f} / {used:.2f}':>18}" for alone, used in gain_wc)


if __name__ == "__main__":
    main()
