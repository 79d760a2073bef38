"""What do labels gain whose rule was learned from 30 (crowds: 60) expert labels, and are the announced gains delivered?

    MAJORANT_DATA=FOLDER python benchmarks/learn.py [--labels N] [--draws N] [--ways random,fives] [SET ...]

The product's own session draws items from a random half of the items with gold labels, in two ways: at random, and
"fives" (ten where judges differ, then five at a time where labels change most; `once`: all where judges differ).  Rules
are compared on the other half, the same for all ways.  Columns, in points over majority vote, with ties by their share:

    rule        the learned rule alone
    written     the labels that are written: an average with the rule used without labels, if it is expected to gain
    file        the half that was labelled, including the expert's labels
    said        how often a gain is announced; then the mean gain claimed and delivered, how often it was worse than
                majority vote by more than half a point, and how often the 80% range held
    free        the rule used without labels

Means by family weigh each source of data sets once.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

import numpy as np

import board
from majorant.ask.question import UNASKED, Wanted
from majorant.ask.questions import _session
from majorant.ask.session import Session
from majorant.defaults import WEIGHTED_VOTE
from majorant.evidence.learn import Features
from majorant.evidence.rules import fit_rule
from majorant.items import take_items
from majorant.kernels import shares
from majorant.methods.fit import chances
from majorant.methods.weighted_vote import written_rule
from majorant.setting import Setting
from majorant.tally import counts
from majorant.values import FloatArray
from majorant.votes import Votes
from public_sets import data_sets

MOST_ITEMS = 1500
COLUMNS = ("rule", "written", "file", "said", "claim", "delivers", "worse", "range")
SAME_SOURCE = {
    "alt": ("alt_lgbteen", "alt_summeval"),
    "chexpert": ("chexpert_eleven", "chexpert_soft"),
    "code": ("code_java", "code_summary_java"),
    "llmbar": ("llmbar_six", "llmbar_65", "mtbench_pairs"),
    "snow": ("snow_temporal", "snow_wsd", "snow_disgust"),
    "act": ("SP", "SP_amt", "MS", "CF", "CF_amt", "ZenCrowd_in", "ZenCrowd_us"),
}
FAMILY = {name: family for family, names in SAME_SOURCE.items() for name in names}


class Trial:
    """A data set, and the rules used without labels on it."""

    def __init__(self, votes: Votes) -> None:
        known = np.flatnonzero((votes.gold_i >= 0) & (votes.votes_i > 0))
        known = np.sort(np.random.default_rng(0).permutation(known)[:MOST_ITEMS])
        blind = replace(votes, gold_i=None)
        self.panel = Setting.of(votes).panel
        self.baseline = written_rule(Setting.of(blind))
        weighted = fit_rule(WEIGHTED_VOTE, blind)
        self.votes, self.truth_i = take_items(blind, known), np.asarray(votes.gold_i)[known]
        self.weighted = weighted.take(known)
        self.share_ik = shares(counts(self.votes).astype(float))
        self.majority_ik = chances(self.share_ik)
        self.base_ik = self.weighted.posterior if self.baseline == WEIGHTED_VOTE else self.share_ik
        self.features = Features.of(self.votes, self.weighted.posterior)

    def gain(self, score_ik: FloatArray, item_n: np.ndarray) -> float:
        """The gain over majority vote on these items."""
        shift_ik = chances(score_ik) - self.majority_ik[item_n]
        return float(shift_ik[np.arange(len(item_n)), self.truth_i[item_n]].mean())

    def run(self, way: str, n: int, seed: int) -> list[float]:
        """One row of results."""
        order = np.random.default_rng(1000 + seed).permutation(len(self.truth_i))
        pool, rest = order[: len(order) // 2], order[len(order) // 2 :]
        wanted = Wanted(rules=(), seed=seed, draw="random" if way == "random" else "teach")
        session = _session(self.votes, pool, self.weighted, self.baseline, len(pool), wanted)
        answer_d = draw(session, way, n, self.truth_i[pool])
        session = answer_d[0]
        known = session.known(answer_d[1])
        learned = session.learn(known, answer_d[1])
        weights = learned.weights_for(self.votes.workers)
        rule_ik = self.features.predict(weights)
        average_ik = learned.share * rule_ik + (1 - learned.share) * self.base_ik
        written_ik = average_ik if learned.written else self.base_ik
        left = np.setdiff1d(pool, pool[known])
        in_file = self.gain(written_ik[left], left) * len(left)
        in_file += (1 - self.majority_ik[pool[known], self.truth_i[pool[known]]]).sum()
        gain = learned.gain
        values = [self.gain(rule_ik[rest], rest), self.gain(written_ik[rest], rest), in_file / len(pool)]
        values += [learned.earned, gain.value, gain.low, gain.high, self.gain(self.base_ik[rest], rest)]
        return [100 * float(value) for value in values]


def draw(session: Session, way: str, n: int, truth_d: np.ndarray) -> tuple[Session, np.ndarray]:
    """A session with n labelled items."""
    answer_d = np.full(session.size, UNASKED)
    if way == "random":
        answer_d[:n] = truth_d[:n]
        return session, answer_d
    while len(session.drawn.place_t) < n:
        asked = len(session.drawn.place_t)
        session = session.draw_next(answer_d, n if way == "once" else min(10 if not asked else 5, n - asked))
        answer_d[session.drawn.place_t] = truth_d[session.drawn.place_t]
    return session, answer_d


def summary(rows: list[list[float]]) -> list[float]:
    """The columns of a table."""
    rule, written, file, said, claim, low, high, _ = np.array(rows).T
    on = said > 0
    held = (low <= written) & (written <= high)
    of_said = [claim[on], written[on], 100.0 * (written[on] < -0.5), 100.0 * held[on]]
    return [float(np.mean(x)) if len(x) else np.nan for x in (rule, written, file, said, *of_said)]


def by_family(values: dict[str, float]) -> tuple[float, float]:
    """The mean over families, and its standard error."""
    families: dict[str, list[float]] = {}
    for name, value in values.items():
        if np.isfinite(value):
            families.setdefault(FAMILY.get(name, name), []).append(value)
    means = [np.mean(one) for one in families.values()]
    error = np.std(means, ddof=1) / np.sqrt(len(means)) if len(means) > 1 else np.nan
    return (float(np.mean(means)) if means else np.nan), float(error)


def main() -> None:
    """Print a row for every set and way, and the goals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--labels", type=int, default=30)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--ways", default="random,fives")
    parser.add_argument("--kind", choices=["panel", "crowd"], default="panel")
    options = parser.parse_args()
    ways = options.ways.split(",")
    found: dict[str, dict[str, list[list[float]]]] = {way: {} for way in ways}
    print(" " * 30 + "".join(f"{name:>9}" for name in (*COLUMNS, "free")))
    for name, votes in data_sets(Path(os.environ["MAJORANT_DATA"])):
        if votes.gold_i is None or (options.sets and name not in options.sets):
            continue
        if Setting.of(votes).panel != (options.kind == "panel") or len(votes.labels) < 2:
            continue
        trial = Trial(votes)
        if len(trial.truth_i) < 4 * options.labels:
            continue
        for way in ways:
            rows = found[way][name] = [trial.run(way, options.labels, seed) for seed in range(options.draws)]
            shown = [*summary(rows), np.mean([row[-1] for row in rows])]
            print(f"{name[:19]:20}{way:10}" + "".join(f"{x:9.1f}" for x in shown), flush=True)
    for way in ways:
        report(way, found[way])
    if {"random", "fives"} <= set(ways):
        for n, what in enumerate(COLUMNS[:3]):
            more = {name: summary(rows)[n] - summary(found["random"][name])[n] for name, rows in found["fives"].items()}
            print("fives minus random, by family, {}: {:+.2f} +- {:.2f}".format(what, *by_family(more)))


def report(way: str, of_set: dict[str, list[list[float]]]) -> None:
    """Print the means of a way of drawing, and whether the goals are met."""
    every = [row for rows in of_set.values() for row in rows]
    if not every:
        return
    whole = summary(every)
    print(f"{'all':20}{way:10}" + "".join(f"{x:9.1f}" for x in whole) + f"   worst {worst(of_set)}")
    means = [by_family({name: summary(rows)[n] for name, rows in of_set.items()}) for n in range(len(COLUMNS))]
    print(f"{'by family':20}{way:10}" + "".join(f"{mean:9.1f}" for mean, _ in means))
    print(f"{'standard error':20}{way:10}" + "".join(f"{error:9.1f}" for _, error in means))
    mean, error = overstated(of_set)
    limit = 2.5 if way == "random" else 1.5
    board.at_most(f"points claimed minus delivered, {way}, by family", f"{mean:+.1f} +- {error:.1f}", f"{limit}",
                  abs(mean) / limit, 1)  # fmt: skip
    board.at_most(f"announced and worse by half a point, {way}", f"{whole[6]:.1f}%", "10%", whole[6] / 10, 1)
    board.at_least(f"80% range holds, {way}", f"{whole[7]:.0f}%", "80%", whole[7] / 80, 1)


def overstated(of_set: dict[str, list[list[float]]]) -> tuple[float, float]:
    """Gain claimed minus delivered per announcement, with as many draws of each family, and its jackknife error.

    A family counts as often as gains are announced in it.
    """
    families: dict[str, list[list[float]]] = {}
    for name, rows in of_set.items():
        said = np.array([[row[3] > 0, (row[3] > 0) * (row[4] - row[1])] for row in rows], dtype=float)
        families.setdefault(FAMILY.get(name, name), []).append(said.mean(axis=0).tolist())
    mean_f = np.array([np.mean(one, axis=0) for one in families.values()])
    without_f = (mean_f.sum(axis=0) - mean_f)[:, ::-1]
    ratio_f = without_f[:, 0] / np.maximum(without_f[:, 1], 1e-9)
    error = np.sqrt((len(ratio_f) - 1) * np.mean((ratio_f - ratio_f.mean()) ** 2))
    return float(mean_f[:, 1].sum() / max(mean_f[:, 0].sum(), 1e-9)), float(error)


def worst(of_set: dict[str, list[list[float]]]) -> str:
    """The set on which the labels written gain least."""
    mean, name = min((summary(rows)[1], name) for name, rows in of_set.items())
    return f"{mean:+.1f} ({name})"


if __name__ == "__main__":
    main()
