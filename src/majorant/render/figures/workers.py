"""Workers: how good each one is, who errs together, and what they confuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from majorant.render.figures.canvas import LIGHT, Panel, clipped
from majorant.results.workers import FlagKind
from majorant.wording import one_of, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class _Grid:
    """How large a square of cells is drawn, in points, and up to how many rows each cell holds its number."""

    cell: float
    margin: float
    least: float
    most: float
    most_numbers: int

    def side(self, rows: int) -> float:
        return min(max(self.margin + self.cell * rows, self.least), self.most)


PAIRS = _Grid(cell=40.0, margin=90.0, least=220.0, most=520.0, most_numbers=10)
CONFUSION = _Grid(cell=34.0, margin=72.0, least=150.0, most=330.0, most_numbers=6)


def workers_panels(summary: dict[str, Any]) -> list[Panel]:
    """One chart of how accurate workers are; none where votes do not show it."""
    scatter_size = (480, 330)
    known = [row for row in summary["workers"]["rows"] if row["accuracy"] is not None]
    rows = sorted(known, key=lambda row: -row["votes"])
    if not rows:
        return []
    words = _accuracies_words(rows, sum(map(_stands_out, rows)))
    if len(rows) <= 12:  # a row each
        size = (scatter_size[0], 90.0 + 30 * len(rows))
        return [Panel("workers0", "Accuracy of each worker", words, size, lambda axes: _by_name(axes, rows))]
    return [
        Panel("workers0", "Accuracy against number of votes", words, scatter_size, lambda axes: _by_votes(axes, rows))
    ]


def _stands_out(row: dict[str, Any]) -> bool:
    return any(flag["flag"] != FlagKind.FEW_VOTES for flag in row["flags"])


def _by_name(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """A row for each of a few workers, the best first."""
    ranked = sorted(rows, key=lambda row: row["accuracy"])
    for at, row in enumerate(ranked):
        colour = LIGHT["best"] if _stands_out(row) else LIGHT["majority"]
        if row["low"] is not None:
            axes.plot([row["low"], row["high"]], [at, at], color=colour, alpha=0.4, lw=6, solid_capstyle="round")
        axes.plot([row["accuracy"]], [at], "o", ms=8, color=colour, mec=LIGHT["card"], mew=1.2)
        if row["chance"] is not None:
            axes.plot([row["chance"]], [at], "|", ms=14, color=LIGHT["soft"])
    names = [f"{clipped(row['worker'], 14)} ({row['votes']:,})" for row in ranked]
    axes.set_yticks(range(len(ranked)), names, color=LIGHT["ink"])
    axes.set(
        xlim=(-0.02, 1.02), ylim=(-0.6, len(ranked) - 0.4), xlabel="accuracy (bars: blind guessing); in brackets: votes"
    )
    axes.xaxis.set_major_formatter(lambda value, _: percent(value, 0))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_axisbelow(True)


def _by_votes(axes: Axes, rows: list[dict[str, Any]]) -> None:
    faint = 0.45 if len(rows) <= 60 else 0.18
    for out, colour, name in ((False, LIGHT["majority"], "worker"), (True, LIGHT["best"], "stands out")):
        some = [row for row in rows if _stands_out(row) == out]
        if not some:
            continue
        x = [row["votes"] for row in some]
        sure = [
            row for row in some if row["low"] is not None and row["high"] - row["low"] < 0.7
        ]  # longer ones hide the rest
        axes.vlines(
            [row["votes"] for row in sure],
            [row["low"] for row in sure],
            [row["high"] for row in sure],
            color=colour,
            alpha=faint if not out else max(faint, 0.4),
            lw=1.4,
        )
        axes.scatter(
            x,
            [row["accuracy"] for row in some],
            s=26,
            color=colour,
            lw=0.5,
            edgecolor=LIGHT["card"],
            label=name,
            zorder=3,
        )
    chances = sorted(row["chance"] for row in rows if row["chance"] is not None)
    if chances:
        axes.axhline(
            chances[len(chances) // 2], color=LIGHT["soft"], lw=1, ls=(0, (4, 3)), label="blind guessing", zorder=1
        )
    _votes_scale(axes, rows)
    axes.legend(loc="lower right", frameon=False, fontsize=11, ncols=3, bbox_to_anchor=(1, 1.0))


def _votes_scale(axes: Axes, rows: list[dict[str, Any]]) -> None:
    most, least = rows[0]["votes"], rows[-1]["votes"]
    if most > 8 * max(least, 1):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.xaxis.set_minor_formatter(lambda *_: "")
    else:
        span = max(most - least, 1)
        axes.set_xlim(least - 0.15 * span - 0.02 * most, most + 0.15 * span + 0.02 * most)
    axes.set(xlabel="votes given", ylabel="accuracy", ylim=(-0.02, 1.02))
    axes.yaxis.set_major_formatter(lambda value, _: percent(value, 0))
    axes.grid(axis="y")
    axes.set_axisbelow(True)


def dependence_panels(summary: dict[str, Any]) -> list[Panel]:
    """One matrix; none where no pair was measured."""
    dependence = summary["workers"]["dependence"]
    if dependence is None or not dependence["pairs"]:
        return []
    side = PAIRS.side(len(dependence["workers"]))
    return [
        Panel(
            "dependence0",
            "Shared errors, pair by pair",
            _strongest_pair(dependence),
            (side, side - PAIRS.cell / 2),
            lambda axes: _draw_pairs(axes, dependence),
        )
    ]


def _strongest_pair(dependence: dict[str, Any]) -> str:
    pair = max(dependence["pairs"], key=lambda pair: abs(pair["correlation"]))
    return _strongest_pair_words(pair["correlation"], list(map(clipped, pair["workers"])), dependence["sentence"])


def _draw_pairs(axes: Axes, dependence: dict[str, Any]) -> None:
    from matplotlib.patches import Rectangle

    n = len(dependence["workers"])
    rho = {frozenset(map(str, pair["workers"])): pair["correlation"] for pair in dependence["pairs"]}
    for a in range(n):
        for b in range(a):
            value = rho.get(frozenset(map(str, (dependence["workers"][a], dependence["workers"][b]))))
            axes.add_patch(Rectangle((b, a), 1, 1, facecolor=LIGHT["faint"], edgecolor=LIGHT["card"], lw=1.5))
            if value is None:
                continue
            colour = LIGHT["warm"] if value > 0 else LIGHT["heat"]
            axes.add_patch(Rectangle((b, a), 1, 1, facecolor=colour, alpha=min(1.0, 1.6 * abs(value)), lw=0))
            if n <= PAIRS.most_numbers:
                axes.text(b + 0.5, a + 0.52, f"{value:+.2f}".replace("-", "−"), ha="center", va="center", fontsize=10.5)
    names = [clipped(name, 10) for name in dependence["workers"]]
    axes.set(xlim=(0, n), ylim=(n, 0.9), aspect="equal")
    axes.set_yticks([a + 0.5 for a in range(1, n)], names[1:], fontsize=10)
    axes.set_xticks(
        [b + 0.5 for b in range(n - 1)], names[:-1], fontsize=10, rotation=0 if max(map(len, names)) <= 5 else 90
    )
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def confusion_panels(summary: dict[str, Any]) -> list[Panel]:
    """One small panel for each worker."""
    labels = [row["label"] for row in summary["votes"]["label_votes"]]
    side = CONFUSION.side(len(labels))
    return [
        Panel(
            f"confusion{at}",
            clipped(one["worker"], 24),
            _confusion_words([(clipped(labels[k]), row[k]) for k, row in enumerate(one["matrix"])]),
            (side, side),
            partial(_draw_confusion, matrix=one["matrix"], labels=labels),
        )
        for at, one in enumerate(summary["workers"]["confusions"])
    ]


def _draw_confusion(axes: Axes, matrix: list[list[float]], labels: list[Any]) -> None:
    from matplotlib.patches import Rectangle

    n = len(matrix)
    axes.add_patch(Rectangle((0, 0), n, n, facecolor=LIGHT["faint"], lw=0))
    for k, row in enumerate(matrix):
        for l, share in enumerate(row):
            colour = LIGHT["heat"] if k == l else LIGHT["warm"]
            if share >= 0.01:
                axes.add_patch(Rectangle((l, k), 1, 1, facecolor=colour, alpha=round(share, 2), lw=0, clip_on=False))
            if n <= CONFUSION.most_numbers:
                axes.text(l + 0.5, k + 0.52, f"{100 * share:.0f}", ha="center", va="center", fontsize=11)
    for line in range(1, n):
        axes.axhline(line, color=LIGHT["card"], lw=1.5)
        axes.axvline(line, color=LIGHT["card"], lw=1.5)
    axes.set(xlim=(0, n), ylim=(n, 0), aspect="equal")
    names = [clipped(label, 7) for label in labels]
    middle = [k + 0.5 for k in range(n)]
    axes.set_xticks(middle, names, fontsize=10, rotation=0 if max(map(len, names)) * n <= 15 else 90)
    axes.set_yticks(middle, names, fontsize=10)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _accuracies_words(workers: Sequence[Mapping[str, Any]], n_flagged: int) -> str:
    """How good the workers are, those with the most votes first."""
    accuracies = [one["accuracy"] for one in workers]
    votes = f"{workers[-1]['votes']:,} to {workers[0]['votes']:,} votes"
    between = f"{percent(min(accuracies), 0)} to {percent(max(accuracies), 0)}"
    return f"{len(workers):,} workers, with {votes}; accuracies from {between}; {n_flagged:,} flagged."


def _strongest_pair_words(correlation: float, workers: Sequence[str], test: str) -> str:
    """Which two workers err together most, or avoid each other's errors most."""
    strongest = f"the strongest is {correlation:+.2f}, between {one_of(workers)}"
    return f"Correlation given the true label; {strongest}. {test}"


def _confusion_words(right: Sequence[tuple[str, float]]) -> str:
    """How often a worker is right on each class."""
    return f"Right when the truth is: {', '.join(f'{label} {percent(share, 0)}' for label, share in right)}."
