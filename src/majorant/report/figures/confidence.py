"""Confidence: how sure the labels are, and, with gold, whether they are right as often as they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from majorant.report.figures.canvas import LIGHT, Panel, whole_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (400, 300)


def panels(summary: dict[str, Any]) -> list[Panel]:
    """The histogram of confidences, and the reliability diagram where there is gold."""
    bins = [row for row in summary["confidence"]["bins"] if row["items"]]
    if not bins:
        return []
    sure = bins[-1]
    words = (
        f"{sure['items']:,} items have a confidence from {whole_percent(sure['low'])} to {whole_percent(sure['high'])}."
    )
    found = [Panel("confidence0", "How sure the labels are", words, SIZE, lambda axes: _histogram(axes, bins))]
    tested = [row for row in bins if row["gold_items"]]
    if tested:
        said = "; ".join(
            f"{whole_percent(row['mean_confidence'])} sure: right on {row['gold_right']} of {row['gold_items']}"
            for row in tested
        )
        found.append(
            Panel(
                "confidence1", "Sure, and right? (by gold)", f"{said}.", SIZE, lambda axes: _reliability(axes, tested)
            )
        )
    return found


def _histogram(axes: Axes, bins: list[dict[str, Any]]) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    for row in bins:
        axes.bar(
            [row["low"]],
            [row["items"]],
            width=[0.94 * (row["high"] - row["low"])],
            align="edge",
            color=LIGHT["majority"],
        )
    axes.set(xlabel="confidence of the label", ylabel="items", xlim=(min(0.5, bins[0]["low"]), 1.01))
    axes.xaxis.set_major_formatter(lambda value, _: whole_percent(value))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def _reliability(axes: Axes, bins: list[dict[str, Any]]) -> None:
    low = min(0.5, *(min(row["mean_confidence"], row["gold_right"] / row["gold_items"]) for row in bins))
    axes.plot([low, 1], [low, 1], color=LIGHT["soft"], lw=1, ls=(0, (4, 3)))
    most = max(row["gold_items"] for row in bins)
    x = [row["mean_confidence"] for row in bins]
    y = [row["gold_right"] / row["gold_items"] for row in bins]
    axes.plot(x, y, color=LIGHT["best"], lw=1.2, alpha=0.6)
    axes.scatter(x, y, s=[30 + 220 * row["gold_items"] / most for row in bins], color=LIGHT["best"], alpha=0.85, lw=0)
    axes.set(xlabel="confidence", ylabel="right, by gold", xlim=(low - 0.02, 1.03), ylim=(low - 0.02, 1.03))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: whole_percent(value))
