"""Votes: how many there are on an item, what majority vote makes of them, and how well they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from majorant.render.figures.canvas import LIGHT, Panel
from majorant.wording import COEFFICIENTS, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def votes_panels(summary: dict[str, Any]) -> list[Panel]:
    """The histogram, and one bar of what becomes of the items."""
    votes_size = (400, 250)
    sizes = summary["votes"]["votes_per_item"]
    if not sizes:
        return []
    fate = _fate(summary["majority"])
    numbers = {name: number for name, number, _ in fate}
    return [
        Panel("votes0", "Votes per item", _votes_words(sizes), votes_size, lambda axes: _votes_per_item(axes, sizes)),
        Panel(
            "votes1",
            "What majority vote decides",
            ", ".join(f"{name} {number:,}" for name, number in numbers.items()) + ".",
            (400, 150),
            lambda axes: _draw_fate(axes, fate),
        ),
    ]


def _fate(majority: dict[str, Any]) -> list[tuple[str, int, str]]:
    return [
        ("labelled", majority["labelled"], LIGHT["heat"]),
        ("tied", majority["tied"], LIGHT["warm"]),
        ("without votes", majority["without_votes"], LIGHT["line"]),
    ]


def _votes_per_item(axes: Axes, sizes: list[dict[str, Any]]) -> None:
    bars = _bars(sizes)
    places = range(len(bars))
    axes.bar(places, [items for _, items in bars], width=0.78, color=LIGHT["majority"])
    axes.set_xticks(places, [name for name, _ in bars], fontsize=11 if len(bars) <= 8 else 9)
    for place, (_, items) in zip(places, bars, strict=True):
        text = f"{items:,}" if items < 10_000 else f"{items / 1000:,.0f}k"
        axes.annotate(text, (place, items), (0, 3), textcoords="offset points", ha="center", fontsize=10)
    axes.set_xlim(-1.2, max(len(bars), 2) - 0.2)
    axes.margins(y=0.12)
    axes.set(xlabel="votes on an item", ylabel="items", yticks=[])
    axes.tick_params(axis="x", length=0)
    axes.spines["left"].set_visible(False)


def _bars(sizes: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """A bar for each number of votes; where they are many, for ranges of equal width, the last one open."""
    most_bars = 12
    if len(sizes) <= most_bars:
        return [(f"{row['votes']}", row["items"]) for row in sizes]
    left, last = sum(row["items"] for row in sizes), sizes[-1]["votes"]
    total, first = left, sizes[0]["votes"]
    for row in sizes:
        left -= row["items"]
        if left <= 0.02 * total:
            last = row["votes"]
            break
    width = max(1, -(-(last - first + 1) // (most_bars - 1)))
    open_from = first + -(-(last - first + 1) // width) * width
    bars: dict[str, int] = {}
    for start in range(first, open_from, width):
        bars[f"{start}" if width == 1 else f"{start}–{start + width - 1}"] = sum(
            row["items"] for row in sizes if start <= row["votes"] < start + width
        )
    rest = sum(row["items"] for row in sizes if row["votes"] >= open_from)
    return [*bars.items(), *([(f"≥ {open_from}", rest)] if rest else [])]


def _draw_fate(axes: Axes, fate: list[tuple[str, int, str]]) -> None:
    total = max(1, sum(number for _, number, _ in fate))
    start = 0.0
    for at, (name, number, colour) in enumerate(fate):
        axes.barh([0], [number / total], left=[start], color=colour, height=0.5, edgecolor=LIGHT["card"], lw=1)
        start += number / total
        axes.barh([-0.62 - 0.42 * at], [0.022], color=colour, height=0.24)
        axes.text(0.04, -0.62 - 0.42 * at, f"{name}: {number:,} ({percent(number / total)})", va="center")
    axes.set(xlim=(0, 1), ylim=(-1.8, 0.35))
    axes.axis("off")


def agreement_panels(summary: dict[str, Any]) -> list[Panel]:
    """One panel of dots with intervals."""
    rows = [
        (title.strip(), summary["agreement"][name]) for name, title in COEFFICIENTS.items() if _has_value(summary, name)
    ]
    if not rows:
        return []
    words = ", ".join(f"{title} {one['value']:.2f}" for title, one in rows) + "."
    size = (440.0, 34.0 * len(rows) + 40)
    return [Panel("agreement0", "Agreement between votes", words, size, lambda axes: _draw_agreement(axes, rows))]


def _has_value(summary: dict[str, Any], name: str) -> bool:
    ordinal_too = name != "krippendorff_ordinal" or summary["agreement"]["classes"] > 2
    return ordinal_too and summary["agreement"][name]["value"] is not None


def _draw_agreement(axes: Axes, rows: list[tuple[str, dict[str, Any]]]) -> None:
    for at, (_, one) in enumerate(reversed(rows)):
        if one["low"] is not None:
            axes.plot([one["low"], one["high"]], [at, at], color=LIGHT["heat"], lw=7, solid_capstyle="round")
        axes.plot([one["value"]], [at], "o", ms=8, color=LIGHT["majority"], mec=LIGHT["card"], mew=1.2)
        axes.text(1.04, at, f"{one['value']:.2f}", va="center", transform=axes.get_yaxis_transform(), weight="bold")
    lowest = min([0.0, *(one["value"] if one["low"] is None else one["low"] for _, one in rows)])
    axes.set(xlim=(lowest - 0.02, 1.02), ylim=(-0.6, len(rows) - 0.4))
    axes.set_yticks(range(len(rows)), [title for title, _ in reversed(rows)], color=LIGHT["ink"])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_axisbelow(True)


def _votes_words(sizes: Sequence[Mapping[str, int]]) -> str:
    """How many items hold how many votes."""
    few = "; ".join(f"{row['items']:,} with {row['votes']}" for row in sizes[:8])
    more = f"; and {len(sizes) - 8} more numbers" if len(sizes) > 8 else ""
    return f"Items: {few}{more}."
