"""Charts of the workers: how accurate each one is, who shares mistakes, and which classes they confuse."""

from __future__ import annotations

from math import log10
from typing import Any

from majorant.render.figures.charts import Axis, Chart, Dot, Dots, Grid, Layer, Plot, clipped, percent_axis, round_ticks
from majorant.render.words import percent
from majorant.results.workers import FlagKind


def workers_charts(summary: dict[str, Any]) -> list[Chart]:
    """The accuracy of each worker, for many workers plotted against their number of votes; empty if unknown."""
    known = [row for row in summary["workers"]["rows"] if row["accuracy"] is not None]
    if not known:
        return []
    if len(known) > 12:
        return [_accuracy_by_votes(known)]
    dots = [
        Dot(
            f"{clipped(row['worker'], 14)} ({row['votes']:,})",
            row["accuracy"],
            row["low"],
            row["high"],
            percent(row["accuracy"], 0),
            row["chance"],
            _stands_out(row),
        )
        for row in sorted(known, key=lambda row: -row["accuracy"])
    ]
    return [Dots("Accuracy of each worker (votes in brackets, tick at guessing)", dots)]


def _stands_out(row: dict[str, Any]) -> bool:
    return any(flag["flag"] != FlagKind.FEW_VOTES for flag in row["flags"])


def _accuracy_by_votes(rows: list[dict[str, Any]]) -> Plot:
    layers = []
    for out, colour, name in ((False, "majority", "worker"), (True, "best", "stands out")):
        group = [row for row in rows if _stands_out(row) == out]
        clear = [row for row in group if row["low"] is not None and row["high"] - row["low"] < 0.7]  # others hide these
        ends = {end: [row[end] for row in clear] for end in ("low", "high")}
        x = [log10(max(row["votes"], 1)) for row in group]
        if group:
            at = [log10(max(row["votes"], 1)) for row in clear]
            layers.append(Layer("intervals", colour, at, ends["low"], high=ends["high"], opacity=0.3))
            accuracies = [row["accuracy"] for row in group]
            layers.append(Layer("points", colour, x, accuracies, radii=[3] * len(x), label=name))
    low, high = (log10(max(end(row["votes"] for row in rows), 1)) for end in (min, max))
    low, high = low - 0.05, high + 0.05
    ticks = [n * 10.0**k for k in range(10) for n in (1, 2, 5)]
    if high - low < 0.7:  # less than a factor of five
        ticks = round_ticks(10**low, 10**high)
    x_axis = Axis("votes (logarithmic)", low, high, [(log10(n), f"{n:,g}") for n in ticks if low <= log10(n) <= high])
    chances = sorted(row["chance"] for row in rows if row["chance"] is not None)
    if chances:
        chance = chances[len(chances) // 2]
        layers.append(Layer("line", "soft", [low, high], [chance, chance], dashed=True, label="guessing"))
    words = f"{len(rows):,} workers."
    return Plot("Accuracy against number of votes", words, x_axis, percent_axis("accuracy", 0, 1), layers)


def dependence_charts(summary: dict[str, Any]) -> list[Grid]:
    """The correlation of each pair; empty if no pair was measured."""
    dependence = summary["workers"]["dependence"]
    if dependence is None or not dependence["pairs"]:
        return []
    workers = [str(name) for name in dependence["workers"]]
    correlation = {frozenset(map(str, pair["workers"])): pair["correlation"] for pair in dependence["pairs"]}
    cells: list[list[tuple[str, float, bool] | None]] = []
    for a in range(1, len(workers)):
        values = [correlation.get(frozenset((workers[a], workers[b]))) for b in range(a)]
        row = [None if v is None else (f"{v:+.2f}".replace("-", "−"), min(1.0, 1.6 * abs(v)), v > 0) for v in values]
        cells.append([*row, *[None] * (len(workers) - 1 - a)])
    names = [clipped(name, 10) for name in workers]
    return [Grid("Shared errors, pair by pair", names[1:], names[:-1], cells)]


def confusion_charts(summary: dict[str, Any]) -> list[Grid]:
    """A confusion matrix for each worker."""
    labels = [clipped(row["label"], 7) for row in summary["votes"]["label_votes"]]
    return [
        Grid(
            clipped(one["worker"], 24),
            labels,
            labels,
            [
                [(f"{100 * share:.0f}", round(share, 2), k != l) for l, share in enumerate(row)]
                for k, row in enumerate(one["matrix"])
            ],
        )
        for one in summary["workers"]["confusions"]
    ]
