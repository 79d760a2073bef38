"""A theoretical model as plain data, text and a map of where majority vote is optimal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from majorant.atomic import whole_file
from majorant.errors import ConfigError
from majorant.render.figures.canvas import default_style
from majorant.render.plain import Facts, facts_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from majorant.theory import Description, OptimalVotes
    from majorant.theory.two_class import Region

NO_DATE: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "png": {}, "pdf": {"CreationDate": None}}
OPTIMAL, DIFFERENT, LINE = "#9ecae1", "#fbe3c0", "#08306b"  # distinguishable in greyscale
MARKER: dict[str, Any] = {
    "marker": "o",
    "markersize": 9,
    "color": "#d55e00",
    "markeredgecolor": "white",
    "linestyle": "none",
}


def theory_summary(
    prior: Sequence[float],
    descriptions: Sequence[Description],
    ties: str,
    *,
    labels: Sequence[str] | None = None,
    voters: Sequence[str] | None = None,
    optimal_votes: OptimalVotes | None = None,
) -> Facts:
    """The facts as plain data; infinite numbers are the strings inf and -inf."""
    return {
        "prior": list(prior),
        "labels": list(labels) if labels is not None else None,
        "voters": list(voters) if voters is not None else None,
        "ties": ties,
        "optimal_votes": {"odd": optimal_votes.odd, "even": optimal_votes.even, "words": optimal_votes.words()}
        if optimal_votes is not None
        else None,
        "by_votes": [_facts(one, labels, voters) for one in descriptions],
    }


def _facts(one: Description, labels: Sequence[str] | None, voters: Sequence[str] | None) -> Facts:
    witness = facts_of(one.witness, "counts ballot majority optimal")
    return {
        **facts_of(one, "votes=n_votes verdict margin majority_accuracy optimal_accuracy gap handicap radius"),
        "witness": {**witness, "words": one.witness.words(labels, voters)},
    }


def theory_text(summary: Facts) -> str:
    """What `majorant theory` prints: a row per number of votes, then the votes that come closest to disagreement."""
    head = ("votes", "verdict", "margin", "majority", "optimal rule", "gap", "handicap", "radius")
    rows = [head, *(_cells(facts) for facts in summary["by_votes"])]
    used = [c for c in range(len(head)) if any(row[c] for row in rows[1:])]
    width_c = {c: max(len(row[c]) for row in rows) for c in used}
    lines = ["  ".join(row[c].ljust(width_c[c]) if c == 1 else row[c].rjust(width_c[c]) for c in used) for row in rows]
    lines += ["", "The votes on which majority vote is closest to losing:"]
    lines += [f"  {facts['witness']['words']}" for facts in summary["by_votes"]]
    if summary["optimal_votes"] is not None:
        lines += [
            "",
            f"Majority vote is optimal, ties left out, for these vote counts: {summary['optimal_votes']['words']}.",
        ]
    if any(facts["gap"] is None for facts in summary["by_votes"]):
        lines += ["", "?: too many vote patterns to enumerate; majorant.theory.estimate_accuracy simulates."]
    if any(facts["votes"] % 2 == 0 for facts in summary["by_votes"]):
        ties = {"exclude": "left out", "first": "to the first class", "prior": "to the larger prior", "random": "drawn"}
        lines += ["", f"Tied votes: {ties[summary['ties']]}."]
    return "\n".join(lines)


def _cells(facts: Facts) -> tuple[str, ...]:
    return (
        str(facts["votes"]),
        facts["verdict"],
        _number(facts["margin"], "+.3f", " nats"),
        _number(facts["majority_accuracy"], ".4f") or "?",
        _number(facts["optimal_accuracy"], ".4f") or "?",
        _number(facts["gap"], ".3g") or "?",
        _number(facts["handicap"], "+.2f", " votes"),
        _number(facts["radius"], ".4f"),
    )


def _number(value: float | str | None, form: str, unit: str = "") -> str:
    return "" if value is None else f"{float(value):{form}}{unit}"


def draw_map(regions: Sequence[Region], path: str | Path) -> Path:
    """Draw one panel per region, side by side, into an SVG, PNG or PDF file, by its ending."""
    target = Path(path)
    ending = target.suffix.lstrip(".").lower()
    if ending not in NO_DATE:
        raise ConfigError(f"{target.name}: a map is written as .svg, .png or .pdf.")
    if not regions:
        raise ConfigError("a map needs at least one region.")
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # A fixed salt and no date: same model, same bytes.
    with mpl.rc_context({**default_style(), "svg.hashsalt": "majorant", "svg.fonttype": "none", "font.size": 10}):
        legend_columns = 1 if len(regions) == 1 else 3
        figure = Figure(figsize=(4.4 * len(regions) + 0.2, 5.5 if legend_columns == 1 else 5.0), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle("Where majority vote is the optimal rule", fontsize=13, fontweight="bold")
        for axes, region in zip(figure.subplots(1, len(regions), squeeze=False)[0], regions, strict=True):
            _draw_region(axes, region)
        figure.legend(handles=_legend(regions), loc="outside lower center", ncols=legend_columns, frameon=False)
        with whole_file(target) as part:
            figure.savefig(part, format=ending, dpi=150, metadata=NO_DATE[ending])
    return target


def _draw_region(axes: Axes, region: Region) -> None:
    margin_yx = region.margin_yx.clip(-1, 1)  # it may be infinite, and only its sign is drawn
    axes.set_facecolor(DIFFERENT)
    axes.contourf(region.x_j, region.y_i, margin_yx, levels=[0, 2], colors=[OPTIMAL])
    axes.contour(region.x_j, region.y_i, margin_yx, levels=[0], colors=[LINE], linewidths=1.5)
    if region.point is not None:
        axes.plot(*region.point, **MARKER, clip_on=False, zorder=5)
        side = "right" if region.point[0] > 0.6 else "left"
        axes.annotate(
            f"{region.point_margin:+.2f} nats",
            region.point,
            xytext=(-9 if side == "right" else 9, -16),
            textcoords="offset points",
            ha=side,
            fontweight="bold",
            bbox={"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
        )
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel=region.x_name, ylabel=region.y_name, title=region.title, aspect="equal")


def _legend(regions: Sequence[Region]) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Patch(facecolor=OPTIMAL, edgecolor=LINE, label="majority is optimal"),
        Patch(facecolor=DIFFERENT, label="the optimal rule differs on some votes"),
    ]
    if any(region.point is not None for region in regions):
        handles.append(Line2D([], [], **MARKER, label="the given model, with its margin"))
    return handles
