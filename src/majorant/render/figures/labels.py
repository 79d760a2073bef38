"""Labels: how they change from majority vote to the other rule, and how sure they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from majorant.render.answer import rule_name
from majorant.render.figures.canvas import LIGHT, Panel, clipped
from majorant.wording import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = 0.04  # between labels, as a share of the height
LEFT, RIGHT, BAR_WIDTH = 0.26, 0.74, 0.022
THINNEST = 0.004


def flow_panels(summary: dict[str, Any]) -> list[Panel]:
    """One diagram; none where there is nothing to label, or majority vote is the rule to use."""
    flow_size = (440, 220)
    flow = summary["flow"]
    if not flow or not any(map(sum, flow["items"])) or summary["answer"]["other"] == "majority":
        return []
    changes = [
        (n, clipped(old), clipped(new))
        for old, row in zip(flow["from"], flow["items"], strict=True)
        for new, n in zip(flow["to"], row, strict=True)
        if n and old != new
    ]
    other = clipped(rule_name(summary["answer"]["other"]), 32)
    title = f"From majority vote to {other}"
    height = max(flow_size[1], 46 * len(flow["from"]))
    return [
        Panel("flow0", title, _flow_words(changes), (flow_size[0], height), lambda axes: _draw_flow(axes, flow, other))
    ]


def _flow_words(changes: Sequence[tuple[int, str, str]]) -> str:
    """How many items go from which label to which.

    >>> _flow_words([(3, "tie", "yes")]), _flow_words([])
    ('Items that change: 3 from tie to yes.', 'Items that change: none.')
    """
    every = "; ".join(f"{number:,} from {old} to {new}" for number, old, new in changes[:20])
    return f"Items that change: {every or 'none'}."


def _draw_flow(axes: Axes, flow: dict[str, Any], other: str) -> None:
    items = flow["items"]
    out_r, in_c = [sum(row) for row in items], [sum(column) for column in zip(*items, strict=True)]
    total, most = sum(out_r), max(sum(map(bool, out_r)), sum(map(bool, in_c)))
    scale = (1 - GAP * (most - 1)) / total
    old_y, new_y = (
        _stack(axes, flow["from"], out_r, scale, LEFT, "right"),
        _stack(axes, flow["to"], in_c, scale, RIGHT, "left"),
    )
    for r, row in enumerate(items):
        for c, n in enumerate(row):
            if n:
                changes = flow["from"][r] != flow["to"][c]
                _ribbon(axes, old_y[r], new_y[c], n * scale, LIGHT["best"] if changes else LIGHT["heat"], changes)
                old_y[r] -= n * scale
                new_y[c] -= n * scale
    axes.set(xlim=(0, 1), ylim=(-0.02, 1.1))
    axes.text(LEFT, 1.06, "majority vote", ha="right", color=LIGHT["soft"])
    axes.text(RIGHT, 1.06, clipped(other, 20), ha="left", color=LIGHT["soft"])
    axes.axis("off")


def _stack(axes: Axes, names: list[Any], sizes: list[int], scale: float, x: float, side: str) -> list[float]:
    """Bars for the labels, from the top; where each begins."""
    y, tops = 1.0, []
    for name, size in zip(names, sizes, strict=True):
        tops.append(y)
        if size:
            height = max(size * scale, THINNEST)
            axes.bar([x], [height], bottom=y - height, width=BAR_WIDTH, color=LIGHT["ink"])
            shift = -0.03 if side == "right" else 0.03
            text = f"{clipped(name, 12)}: {size:,}"
            axes.text(x + shift, y - height / 2, text, ha=side, va="center", fontsize=12)
            y -= size * scale + GAP
    return tops


def _ribbon(axes: Axes, left: float, right: float, height: float, colour: str, changes: bool) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    a, b, middle = LEFT + BAR_WIDTH / 2, RIGHT - BAR_WIDTH / 2, (LEFT + RIGHT) / 2
    height = max(height, THINNEST if changes else 0)
    points = [
        (a, left), (middle, left), (middle, right), (b, right),
        (b, right - height), (middle, right - height), (middle, left - height), (a, left - height), (a, left),
    ]  # fmt: skip
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    axes.add_patch(PathPatch(Path(points, codes), facecolor=colour, alpha=0.85 if changes else 0.45, lw=0))


def confidence_panels(summary: dict[str, Any]) -> list[Panel]:
    """The histogram of confidences, and the reliability diagram where there is gold."""
    bins = [row for row in summary["confidence"]["bins"] if row["items"]]
    if not bins:
        return []
    words, size = _confidence_words(bins), (400, 300)
    panels = [Panel("confidence0", "How sure the labels are", words, size, lambda axes: _confidences(axes, bins))]
    tested = [row for row in bins if row["gold_items"]]
    if tested:
        title, words = "Sure, and right? (by gold)", _reliability_words(tested)
        panels.append(Panel("confidence1", title, words, size, lambda axes: _reliability(axes, tested)))
    return panels


def _confidence_words(bins: Sequence[Mapping[str, Any]]) -> str:
    """How many labels are as sure as any."""
    sure = bins[-1]
    between = f"from {percent(sure['low'], 0)} to {percent(sure['high'], 0)}"
    return f"{sure['items']:,} items have a confidence {between}."


def _reliability_words(bins: Sequence[Mapping[str, Any]]) -> str:
    """How often labels are right that are so sure, by gold."""
    each = (
        f"{percent(row['mean_confidence'], 0)} sure: right on {row['gold_right']} of {row['gold_items']}"
        for row in bins
    )
    return "; ".join(each) + "."


def _confidences(axes: Axes, bins: list[dict[str, Any]]) -> None:
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
    axes.xaxis.set_major_formatter(lambda value, _: percent(value, 0))
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
        axis.set_major_formatter(lambda value, _: percent(value, 0))
