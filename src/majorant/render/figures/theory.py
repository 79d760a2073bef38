"""The condition of majority vote as a picture: where it is optimal, for each number of votes, and where a model is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from majorant.errors import ConfigError
from majorant.render.figures.canvas import LIGHT
from majorant.theory import accuracy_region, one_coin_region
from majorant.values import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from majorant.theory import Region

FORMATS = ("svg", "png", "pdf")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """A two-class model to draw: its prior, its numbers of votes, and its confusion matrix or those of its voters."""

    prior: tuple[float, ...]
    confusion: FloatArray  # (2, 2); of a panel, the mean
    n_votes: Sequence[int]
    labels: tuple[str, str] = ("class 0", "class 1")
    voters: FloatArray | None = None  # (H, 2, 2), drawn as points
    margin: float | None = None  # of a panel, which its mean matrix does not give


def check_format(path: str) -> str:
    """The format of a picture by the ending of its name."""
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise ConfigError(f"{path}: a picture ends in .svg, .png or .pdf.")
    return ending


def draw_theory(model: Drawn, ending: str) -> bytes:
    """A row of pictures for each number of votes: accuracies on either class, and class share against noise."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    most = 6
    sizes = list(model.n_votes)[:most]
    noise = 1 - float(model.confusion.diagonal().mean())
    with mpl.rc_context({"text.parse_math": False, "svg.hashsalt": "majorant", "font.size": 9}):
        figure = Figure(figsize=(9, 4.2 * len(sizes)), layout="constrained")
        panels = figure.subplots(len(sizes), 2, squeeze=False)
        for (left, right), votes in zip(panels, sizes, strict=True):
            region = accuracy_region(model.prior, votes, model.confusion, grid=301)
            _draw(left, region, model, f"accuracy on {model.labels[0]}", f"accuracy on {model.labels[1]}")
            if model.voters is not None:
                diagonal = model.voters.diagonal(axis1=1, axis2=2)
                left.scatter(*diagonal.T, s=22, color=LIGHT["ink"], marker="x", zorder=4)
            coin = one_coin_region(votes, model.prior, min(noise, 1.0), grid=301)
            _draw(right, coin, model, f"share of {model.labels[0]}", "noise: mean of both error rates")
            right.set_title("if votes were equally noisy on both classes", fontsize=9)
            right.set_ylim(0, 0.5)
        return _saved(figure, ending)


def _draw(axes: Axes, region: Region, model: Drawn, x_name: str, y_name: str) -> None:
    """The optimal region, its edge, and the model's point."""
    axes.contourf(region.x_j, region.y_i, region.margin_yx, levels=[0, 1e9], colors=[LIGHT["zone"]])
    axes.contour(region.x_j, region.y_i, region.margin_yx, levels=[0], colors=[LIGHT["majority"]], linewidths=1.2)
    if region.point is not None:
        axes.plot(*region.point, "o", color=LIGHT["best"], zorder=5)
    told = "" if region.point_margin is None else f", margin {region.point_margin:+.2f} nats"
    if model.margin is not None:
        told = f"; for equal voters (these voters: margin {model.margin:+.2f} nats)"
    axes.set(xlabel=x_name, ylabel=y_name, xlim=(0, 1), ylim=(0, 1))
    count = "1 vote" if region.n_votes == 1 else f"{region.n_votes} votes"
    axes.set_title(f"{count}, prior {model.prior[0]:.2f} : {model.prior[1]:.2f}{told}", fontsize=9)


def _saved(figure: Figure, ending: str) -> bytes:
    saved = BytesIO()
    metadata = {"Date": None} if ending == "svg" else None
    figure.savefig(saved, format=ending, dpi=150, metadata=metadata)
    return saved.getvalue()
