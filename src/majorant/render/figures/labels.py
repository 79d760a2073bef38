"""Charts of the labels: how they change from majority vote to the other rule, and how sure they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from majorant.render.answer import rule_name
from majorant.render.figures.charts import Bars, Chart, Flow, Layer, Plot, clipped, percent_axis
from majorant.render.words import percent


def flow_charts(summary: dict[str, Any]) -> list[Flow]:
    """How labels change; nothing if there are no labels, or if majority vote is the only rule."""
    flow = summary["flow"]
    if not flow or not any(map(sum, flow["items"])) or summary["answer"]["other"] == "majority":
        return []
    items, gap = flow["items"], 0.04
    out_r, in_c = [sum(row) for row in items], [sum(column) for column in zip(*items, strict=True)]
    most = max(sum(map(bool, out_r)), sum(map(bool, in_c)))
    scale = (1 - gap * (most - 1)) / sum(out_r)
    left, right = _stack(flow["from"], out_r, scale, gap), _stack(flow["to"], in_c, scale, gap)
    from_y, to_y = [top for _, top, _ in left], [top for _, top, _ in right]
    ribbons, changes = [], []
    for r, row in enumerate(items):
        for c, n in enumerate(row):
            if n:
                old, new = flow["from"][r], flow["to"][c]
                ribbons.append((from_y[r], to_y[c], n * scale, old != new))
                changes += [f"{n:,} from {clipped(old)} to {clipped(new)}"] * (old != new)
            from_y[r] += n * scale
            to_y[c] += n * scale
    words = f"Items that change: {'; '.join(changes[:20]) or 'none'}."
    other = clipped(rule_name(summary["answer"]["other"]), 32)
    heads = ("majority vote", clipped(other, 20))
    left, right = ([bar for bar in bars if bar[2]] for bars in (left, right))  # labels that some item has
    return [Flow(f"From majority vote to {other}", words, heads, left, right, ribbons)]


def _stack(names: Sequence[Any], sizes: Sequence[int], scale: float, gap: float) -> list[tuple[str, float, float]]:
    """A bar for each label from the top down: its name with its size, its top and its height."""
    top, bars = 0.0, []
    for name, size in zip(names, sizes, strict=True):
        bars.append((f"{clipped(name, 12)}: {size:,}", top, size * scale))
        top += size * scale + gap * bool(size)
    return bars


def confidence_charts(summary: dict[str, Any]) -> list[Chart]:
    """The distribution of confidence and, with gold labels, how often labels of each confidence are right."""
    bins = [row for row in summary["confidence"]["bins"] if row["items"]]
    if not bins:
        return []
    names = [f"{percent(row['low'], 0)} to {percent(row['high'], 0)}" for row in bins]
    charts: list[Chart] = [Bars("Items by confidence", names, [row["items"] for row in bins])]
    tested = [row for row in bins if row["gold_items"]]
    if tested:
        x, y = [r["mean_confidence"] for r in tested], [r["gold_right"] / r["gold_items"] for r in tested]
        low, most = min(0.5, *x, *y), max(row["gold_items"] for row in tested)
        words = "; ".join(
            f"{percent(row['mean_confidence'], 0)} sure: right on {row['gold_right']:g} of {row['gold_items']}"
            for row in tested
        )
        layers = [
            Layer("line", "soft", [low, 1], [low, 1], dashed=True),
            Layer("line", "best", x, y, opacity=0.6),
            Layer("points", "best", x, y, radii=[3 + 6 * (row["gold_items"] / most) ** 0.5 for row in tested]),
        ]
        axes = percent_axis("confidence", low, 1), percent_axis("right, by gold", low, 1)
        charts.append(Plot("How often they are right, by gold", f"{words}.", *axes, layers))
    return charts
