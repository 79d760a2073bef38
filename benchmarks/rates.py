"""How wide are the intervals for a rate, how often do they miss, and how far off is the panel's own number?

`MAJORANT_DATA=... python benchmarks/rates.py widths`    half-widths, compared with labels alone and PPI++ (3 min)
`MAJORANT_DATA=... python benchmarks/rates.py coverage [RUNS]`   misses at any number of labels (7 min)
`MAJORANT_DATA=... python benchmarks/rates.py limit`     the narrowest interval possible with a single look (3 min)
`MAJORANT_DATA=... python benchmarks/rates.py record`    write how far off majority vote's rates are on public panels

`coverage` writes its table into docs/rates.md.

PPI++ is ppi_py's `ppi_mean_ci` with the share of votes as prediction, at level .95: an asymptotic interval for one
number of labels chosen in advance.  Ours are valid at all numbers of labels simultaneously.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

import numpy as np

import board
from majorant.ask import rate
from majorant.ask.rate import Bets, Features, bounds, log_capitals, mirrored, offer_bets
from majorant.kernels import shares
from majorant.methods.fit import chances
from majorant.read import read
from majorant.results import rates
from majorant.results.rate_inputs import find_target
from majorant.results.rate_panel import Panel
from majorant.tally import counts
from majorant.values import FloatArray

LOOKS = (30, 60, 100, 200)
TAIL = 0.025
PANELS = ("chexpert_eleven", "faithbench", "llmbar_six", "mtbench_pairs", "rewardbench2_nine")
CROWDS = ("medical_treat", "mozafari", "politifact_six", "snow_temporal")
PAGE = Path(__file__).parents[1] / "docs" / "rates.md"
RECORD = Path(rates.__file__).with_name("rate_record.json")


@dataclass(frozen=True, eq=False)
class Population:
    """Items with the truth of each, a number in [0, 1], and what the panel says."""

    name: str
    truth_i: FloatArray
    share_i: FloatArray  # of the votes
    features: Features | Known

    def order(self, rng: np.random.Generator, most: int = max(LOOKS)) -> np.ndarray:
        """Items in random order, as many as are labelled."""
        return rng.permutation(len(self.truth_i))[: min(most, int(0.8 * len(self.truth_i)))]

    def bets(self, order: np.ndarray, *, learned: bool = True) -> Bets:
        """What labels in this order are worth."""
        y_t = self.truth_i[order]
        predictions = map(self.features.predict, self.features.learn(order, y_t)) if learned else None
        return offer_bets(predictions, order, y_t, n=len(self.truth_i))


def real_sets() -> Iterator[Population]:
    """Public sets with gold on all items, the share of their last class."""
    folder = Path(os.environ["MAJORANT_DATA"])
    for kind, names in (("panels", PANELS), ("crowds", CROWDS)):
        for name in names:
            path = folder / kind / name
            votes = read(str(path / "label.csv"), gold_file=str(path / "truth.csv"), repeats="each")
            assert votes.gold_i is not None
            blind, cls = replace(votes, gold_i=None), len(votes.labels) - 1
            panel = Panel.of(blind, find_target(blind, None, votes.labels[cls], None))
            known = votes.gold_i[panel.item_i] >= 0
            features = replace(panel.features, value_id=panel.features.value_id[known])
            share_i = shares(counts(blind).astype(float))[panel.item_i][known, cls]
            yield Population(name, (votes.gold_i[panel.item_i][known] == cls).astype(float), share_i, features)


def simulated(
    rng: np.random.Generator, n: int, share: float, accuracy: float, judges: int = 5, lean: float = 0.0
) -> Population:
    """A panel of judges who are right so often, and otherwise say yes to `lean` of the items regardless."""
    truth = rng.permutation(np.arange(n) < round(share * n)).astype(float)
    said = np.where(rng.random((n, judges)) < accuracy, truth[:, None], 1 - truth[:, None])
    said = np.where(rng.random((n, 1)) < lean, 1.0, said)
    mean_i = said.mean(axis=1)
    return Population("simulated", truth, mean_i, Features.of(mean_i[:, None], said))


SIMULATED = {  # name: (items, rate, accuracy of a judge, lean)
    "five judges of .85": (1000, 0.7, 0.85, 0.0),
    "five judges of .75": (1000, 0.5, 0.75, 0.0),
    "judges who say yes": (1000, 0.5, 0.85, 0.5),
    "useless judges": (1000, 0.6, 0.5, 0.0),
    "perfect judges": (1000, 0.7, 1.0, 0.0),
    "rare class": (1000, 0.05, 0.85, 0.0),
    "300 items": (300, 0.8, 0.8, 0.0),
}


def widths(draws: int = 60) -> None:
    """Half-widths in points, and coverage, of labels alone, learned bets and PPI++."""
    from ppi_py import ppi_mean_ci

    rng = np.random.default_rng(0)
    made = (
        (name, simulated(np.random.default_rng(1), *setting[:3], lean=setting[3]))
        for name, setting in SIMULATED.items()
    )
    every = [*((population.name, population) for population in real_sets()), *made]
    print("set                  rate  votes say | labels: alone, learned, PPI++ (half-width in points / coverage in %)")
    at_100, dearer = [], []
    for name, population in every:
        truth, cells = float(population.truth_i.mean()), []
        looks = [n for n in LOOKS if n <= 0.7 * len(population.truth_i)]
        found = {n: np.zeros((draws, 3, 2)) for n in looks}
        for draw in range(draws):
            order = population.order(rng)
            for n in looks:
                mine, rest = order[:n], np.setdiff1d(np.arange(len(population.truth_i)), order[:n])
                ends = [bounds(population.bets(mine, learned=way), TAIL, whole=True) for way in (False, True)]
                share = population.share_i
                low, high = ppi_mean_ci(population.truth_i[mine], share[mine], share[rest], alpha=2 * TAIL)
                ends.append((float(np.squeeze(low)), float(np.squeeze(high))))
                found[n][draw] = [((high - low) / 2, low - 1e-9 <= truth <= high + 1e-9) for low, high in ends]
        for n in looks:
            (alone, _), (learned, _), (ppi, _) = mean = found[n].mean(axis=0)
            cells.append(f"{n}: " + ", ".join(f"{100 * half:.1f}/{100 * covered:.0f}" for half, covered in mean))
            dearer.append((learned / alone, name, n))
            if n == 100:
                at_100.append((learned / ppi, name))
        print(
            f"{name:20s} {100 * truth:5.1f} {100 * population.share_i.mean():6.1f}    | " + " | ".join(cells),
            flush=True,
        )
    ratios = [ratio for ratio, _ in at_100]
    worst, where = max(at_100)
    mean = float(np.exp(np.mean(np.log(ratios))))
    print(f"at 100 labels, width over that of PPI++: geometric mean {mean:.2f}, most {worst:.2f} ({where})")
    board.at_most("half-width at 100 labels over PPI++, worst set", f"{worst:.2f}", where, worst, 1.25)
    most, where, n = max(dearer)
    board.at_most("half-width over labels alone, worst set", f"{most:.2f}", f"{where}, {n} labels", most, 1.05)


def stacked(every: list[Bets]) -> Bets:
    """Bets of many runs side by side, to be followed at once."""

    def side(name: str) -> np.ndarray:
        return np.stack([getattr(bets, name) for bets in every], axis=-1)

    return replace(
        every[0], residual_st=side("residual_st"), known_st=side("known_st"), low_t=side("low_t"),
        high_t=side("high_t"), variance_t=side("variance_t"),
    )  # fmt: skip


def misses(populations: list[Population], seed: int) -> dict[int, float]:
    """The share of runs, one for each population, in which the true rate is refuted by each look."""
    rng = np.random.default_rng(seed)
    bets = stacked([population.bets(population.order(rng)) for population in populations])
    truth_r = np.array([population.truth_i.mean() for population in populations])
    refuted_r, found = np.zeros(len(truth_r), dtype=bool), {}
    both = zip(log_capitals(bets, truth_r, TAIL), log_capitals(mirrored(bets), -truth_r, TAIL), strict=True)
    for t, (up_r, down_r) in enumerate(both, start=1):
        refuted_r |= (up_r >= -np.log(TAIL)) | (down_r >= -np.log(TAIL))
        if t in LOOKS or t == bets.labels:
            found[t] = float(refuted_r.mean())
    return found


def coverage(runs: int = 2000) -> None:
    """Misses at every look: simulated panels of all kinds, tiny files, and real panels in random orders."""
    start, cells = time.process_time(), []
    print(f"{runs} runs each; standard error at 5 %: {100 * np.sqrt(0.05 * 0.95 / runs):.2f} points")
    panels = {
        "useless": (0.5, 0.0), "weak": (0.65, 0.0), "good": (0.9, 0.0), "perfect": (1.0, 0.0),
        "contrary": (0.2, 0.0), "leaning": (0.85, 0.5),
    }  # fmt: skip
    for n in (12, 60, 400):
        for share in (0.02, 0.1, 0.5, 0.9, 0.98):
            for kind, (accuracy, lean) in panels.items():
                rng = np.random.default_rng([n, int(100 * share), len(cells)])
                found = misses([simulated(rng, n, share, accuracy, lean=lean) for _ in range(runs)], len(cells))
                cells.append((f"simulated, {n} items", f"rate {share:4.2f}, {kind} judges", found))
                _print_cell(*cells[-1])
    for population in real_sets():
        cells.append(("public sets", population.name, misses([population] * runs, len(cells))))
        _print_cell(*cells[-1])
    worst, where = max((max(found.values()), f"{files}, {kind}") for files, kind, found in cells)
    took = time.process_time() - start
    print(f"most missed: {100 * worst:.2f} % ({where}), of {len(cells)} cells; {took:.0f} s of CPU")
    board.at_most("misses of 95 % intervals at any look, worst cell", f"{100 * worst:.1f} %", where, worst / 0.05, 1.0)
    _publish("coverage", coverage_table(cells, runs))


def coverage_table(cells: list[tuple[str, str, dict[int, float]]], runs: int) -> list[str]:
    """The worst cell of each kind of file at each look."""
    head = ("files", "settings", "30 labels", *map(str, LOOKS[1:]), "any number")
    lines = [_row(head), "|---" * len(head) + "|"]
    for files in dict.fromkeys(files for files, *_ in cells):
        every = [found for of, _, found in cells if of == files]
        at_look = [[found[look] for found in every if look in found] for look in LOOKS]
        shown = [f"{100 * max(missed):.1f}" if missed else "" for missed in at_look]
        lines.append(_row((files, str(len(every)), *shown, f"{max(100 * max(found.values()) for found in every):.1f}")))
    error = 100 * np.sqrt(0.05 * 0.95 / runs)
    lines.append(f"\n{runs:,} runs per setting; the standard error of 5% is {error:.1f} points.")
    return lines


def _print_cell(files: str, kind: str, found: dict[int, float]) -> None:
    shown = "  ".join(f"{look}: {100 * missed:.1f}" for look, missed in found.items())
    print(f"{files:22s} {kind:28s} {shown}", flush=True)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _publish(name: str, lines: list[str]) -> None:
    """Put a table into the page on rates."""
    PAGE.write_text(board.put(PAGE.read_text(encoding="utf-8"), name, "\n".join(lines)), encoding="utf-8")


def limit(names: tuple[str, ...] = ("rewardbench2_nine", "chexpert_eleven"), draws: int = 100) -> None:
    """Half-widths at 100 labels of bettors who know more than we do, and put everything on that one look.

    The first knows the best linear predictor and the variance of its residuals, and bets as we do.  The second knows
    the distribution of the residuals and how far off the candidate is, and makes the best of all bets.
    """
    from ppi_py import ppi_mean_ci

    one_look = mock.patch.object(rate, "horizons", return_value=(np.array([100.0]), np.ones(1)))
    for population in (one for one in real_sets() if one.name in names):
        value_id, truth_i, share_i = population.features.value_id, population.truth_i, population.share_i
        best_d = np.linalg.lstsq(value_id, truth_i, rcond=None)[0]
        fitted_i = np.clip(value_id @ best_d, 0, 1)
        knowing = replace(population, features=Known(value_id=value_id, best_d=best_d))
        found, rng = np.zeros((draws, 3)), np.random.default_rng(2)
        for draw in range(draws):
            order = population.order(rng, 100)
            rest = np.setdiff1d(np.arange(len(truth_i)), order)
            known = knowing.bets(order)
            known = replace(known, variance_t=np.full(100, ((truth_i - fitted_i) ** 2).mean()))
            ppi = ppi_mean_ci(truth_i[order], share_i[order], share_i[rest], alpha=2 * TAIL)
            with one_look:
                ends = [bounds(known, TAIL, whole=True)]
            ends = [bounds(population.bets(order), TAIL, whole=True), *ends, np.squeeze(ppi)]
            found[draw] = [(high - low) / 2 for low, high in ends]
        ours, one, ppi = 100 * found.mean(axis=0)
        unlabelled = np.sqrt(1 - 100 / len(truth_i))  # drawn without replacement
        least = np.mean([100 * unlabelled * least_distance(sign * (truth_i - fitted_i)) for sign in (1, -1)])
        shown = "  ".join(f"{who} {half:.2f} ({half / ppi:.2f} times PPI++)"
                          for who, half in (("ours", ours), ("one look", one), ("best bets", least)))  # fmt: skip
        print(f"{population.name:20s} {shown}", flush=True)


@dataclass(frozen=True, eq=False)
class Known:
    """A predictor that has nothing to learn."""

    value_id: FloatArray
    best_d: FloatArray

    def learn(self, item_t: np.ndarray, _y_t: np.ndarray) -> FloatArray:
        """The best coefficients, before every label."""
        return np.tile(self.best_d, (len(item_t) + 1, 1))

    def predict(self, coefficient_d: FloatArray) -> FloatArray:
        """The prediction of each item."""
        return np.clip(self.value_id @ coefficient_d, 0, 1)


def least_distance(residual_i: FloatArray, labels: int = 100) -> float:
    """How far below the mean a candidate must be for the best bets on one look to refute it half of the time.

    Dynamic programming over the log capital and the number of labels left; residuals are rounded to .01.
    """
    value_z, count_z = np.unique(residual_i.round(2), return_counts=True)
    chance_z = count_z / count_z.sum()
    value_z = value_z - value_z @ chance_z
    goal = -np.log(TAIL)
    capital_w = np.linspace(-4, goal, 260)

    def power(distance: float) -> float:
        gain_z = value_z + distance
        most = min(0.999 / max(-gain_z.min(), 1e-6), 8.0)
        stake_l = most * np.concatenate([[0.0], np.linspace(0.02, 1, 40)])
        after_lwz = capital_w[:, None] + np.log1p(stake_l[:, None] * gain_z)[:, None, :]
        power_w = (capital_w >= goal - 1e-9).astype(float)
        for _ in range(labels):
            power_w = (np.interp(after_lwz, capital_w, power_w, left=0.0, right=1.0) @ chance_z).max(axis=0)
            power_w[-1] = 1.0
        return float(np.interp(0.0, capital_w, power_w))

    near, far = 0.005, 0.2
    for _ in range(9):
        middle = (near + far) / 2
        near, far = (near, middle) if power(middle) >= 0.5 else (middle, far)
    return far


def record() -> None:
    """How far off majority vote's own rates are on the public panels: the class where it is worst."""
    folder, rows = Path(os.environ["MAJORANT_DATA"]) / "panels", []
    for name in PANELS:
        votes = read(str(folder / name / "label.csv"), gold_file=str(folder / name / "truth.csv"), repeats="each")
        assert votes.gold_i is not None
        known = votes.gold_i >= 0
        reported_k = chances(counts(votes).astype(float))[known].mean(axis=0)
        true_k = np.bincount(votes.gold_i[known], minlength=len(votes.labels)) / known.sum()
        k = int(np.abs(reported_k - true_k).argmax())
        rows.append(
            {
                "name": name,
                "class": str(votes.labels[k]),
                "reported": round(float(reported_k[k]), 4),
                "true": round(float(true_k[k]), 4),
            }
        )
        said, true = 100 * reported_k[k], 100 * true_k[k]
        print(f"{name:20s} {votes.labels[k]!s:12s} majority vote says {said:.1f} %, true {true:.1f} %")
    RECORD.write_text(
        json.dumps({"made_by": "benchmarks/rates.py record", "panels": rows}, indent=1) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    asked = sys.argv[1:] or ["widths"]
    if asked[0] == "coverage":
        coverage(*map(int, asked[1:2]))
    else:
        {"widths": widths, "limit": limit, "record": record}[asked[0]]()
