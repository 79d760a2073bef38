"""Map of where majority vote is optimal, with the estimate for these votes and its confidence region."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.special import expit, gammaincinv, logit

from majorant.evidence.certificate.anonymous import as_histograms
from majorant.evidence.certificate.count_models import held_cells, suprema
from majorant.evidence.certificate.likelihood_region import Model, accuracies_model, noise_model, outline
from majorant.evidence.certificate.plug_in import shared_model
from majorant.items import merge_equal_items
from majorant.methods.fit import Fit
from majorant.methods.refit import refit_dawid_skene
from majorant.tally import histograms
from majorant.theory import majority_margin
from majorant.values import FloatArray, as_generator
from majorant.votes import Votes

POINTS = 160  # along each edge of the optimal region
MAP_REPLICATES = 100  # refits of a panel
MAP_EDGE = 1e-6
WEAKEST = 1e-4  # log-likelihood ratio of a vote, from which the region is drawn

Line = tuple[tuple[float, ...], tuple[float, ...]]


class Plane(StrEnum):
    """The two quantities that a plane shows."""

    BALANCE = "balance"  # share of the first, or the commonest, class against noise
    ACCURACIES = "accuracies"  # accuracy on either of two classes


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPanel:
    """A plane of two quantities: majority is optimal inside the closed line `optimal`.

    `point` is where these votes lie, `region` the edge of what they allow at the level, None where it is not known.
    The point stands for a model of voters alike: `prior` (K), `confusion` (K, K) and the usual number of votes.
    """

    plane: Plane
    labels: tuple[Hashable, ...]  # names of the K classes
    mean_of_workers: bool  # the point is the mean of the workers' confusion matrices
    optimal: Line
    point: tuple[float, float]
    point_margin: float
    region: Line | None
    prior: tuple[float, ...]
    confusion: tuple[tuple[float, ...], ...]
    n_votes: int


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Where the votes lie: share of class 0, both accuracies, the number of votes, and replicates (B, 3) if any."""

    share_3: FloatArray
    n_votes: int
    replicate_b3: FloatArray | None
    mean_of_workers: bool


def data_map(
    votes: Votes, fit: Fit | None, kind: str, *, level: float, rng: int | np.random.Generator
) -> tuple[MapPanel, ...]:
    """For two classes two planes: share of class 0 against noise, and both accuracies; for more classes one plane.

    A crowd lies where the likelihood of its vote counts is largest; a panel (`kind`), and a crowd of several classes,
    at the mean of the workers' confusion matrices in `fit`, its region by a bootstrap over items.  Nothing is drawn
    where there are no items with three votes, or nothing was fitted.

    >>> from majorant.simulate import simulate
    >>> votes, _ = simulate([.7, .3], [[.8, .2], [.2, .8]], n_items=2000, n_votes=5, rng=0)
    >>> panels = data_map(votes, None, "crowd", level=.95, rng=0)
    >>> [[round(x, 1) for x in panel.point] for panel in panels]
    [[0.7, 0.2], [0.8, 0.8]]
    """
    if len(votes.labels) < 2 or votes.votes_i.max(initial=0) < 3:
        return ()
    if len(votes.labels) == 2:
        if kind == "panel" and fit is not None:
            return _two_panels(votes, _panel_place(votes, fit, as_generator(rng)), level, None)
        cells, items_c = held_cells(as_histograms(histograms(votes)))
        _, theta = suprema(cells, items_c[None])
        share = expit(theta[0, 0])
        place = _Place(np.array([share[2], share[0], 1 - share[1]]), _usual(votes), None, mean_of_workers=False)

        def edge(model: Model) -> Line:
            return _line(*outline(cells, items_c, model, _on_plane(model, place.share_3), level))

        return _two_panels(votes, place, level, edge)
    return () if fit is None else (_many_classes(votes, fit),)


def _usual(votes: Votes) -> int:
    """The number of votes that most items hold, among those with three and more."""
    sizes = np.bincount(votes.votes_i)
    sizes[:3] = 0
    return int(sizes.argmax())


def _panel_place(votes: Votes, fit: Fit, rng: np.random.Generator) -> _Place:
    prior_k, confusion_kl = shared_model(votes, fit)
    share_3 = np.array([prior_k[0], confusion_kl[0, 0], confusion_kl[1, 1]])
    return _Place(share_3, _usual(votes), _replicates(votes, fit, rng), mean_of_workers=True)


def _replicates(votes: Votes, fit: Fit, rng: np.random.Generator) -> FloatArray | None:
    """The same three numbers for resampled items, (B, 3); None where that would take long."""
    merged = merge_equal_items(votes)
    small, copies_i = (votes, np.ones(len(votes.items))) if merged is None else (merged.votes, merged.weight_p)
    if small.n_votes * len(votes.labels) * MAP_REPLICATES > 20_000_000 or fit.confusion is None:
        return None
    n_items = int(copies_i.sum())
    weight_bi = rng.multinomial(n_items, copies_i / n_items, size=MAP_REPLICATES)
    votes_j = np.bincount(votes.worker_n, minlength=len(votes.workers))
    mean_j = votes_j / votes_j.sum()
    again = refit_dawid_skene(small, weight_bi, fit)
    shared = again.confusion.ndim == 3
    mean_bkl = again.confusion if shared else np.einsum("j,bjkl->bkl", mean_j, again.confusion)
    return np.stack([again.prior_bk[:, 0], mean_bkl[:, 0, 0], mean_bkl[:, 1, 1]], axis=1)


def _two_panels(
    votes: Votes, place: _Place, level: float, edge: Callable[[Model], Line] | None
) -> tuple[MapPanel, ...]:
    # A few items cannot show shares of 0 and 1: the point keeps half an item away from the border.
    least = max(MAP_EDGE, 0.5 / (np.count_nonzero(votes.votes_i) + 1))
    nu, t00, t11 = place.share_3.clip(least, 1 - least)
    margin = majority_margin([nu, 1 - nu], [[t00, 1 - t00], [1 - t11, t11]], place.n_votes)
    panels = []
    for plane, model in ((Plane.BALANCE, noise_model), (Plane.ACCURACIES, accuracies_model)):
        best = _on_plane(model, np.array([nu, t00, t11]))
        region = _ellipse(place, model, level) if edge is None else edge(model)
        optimal = _optimal_accuracies(best[2], place.n_votes)
        if plane is Plane.BALANCE:
            optimal = _optimal_noise(float(expit(best[2])), place.n_votes)
        panels.append(
            MapPanel(
                plane=plane,
                labels=votes.labels,
                mean_of_workers=place.mean_of_workers,
                optimal=optimal,
                point=(float(best[0]), float(best[1])),
                point_margin=float(margin),
                region=region,
                prior=(float(nu), float(1 - nu)),
                confusion=((float(t00), float(1 - t00)), (float(1 - t11), float(t11))),
                n_votes=place.n_votes,
            )
        )
    return tuple(panels)


def _on_plane(model: Model, share_3: FloatArray) -> tuple[float, float, float]:
    """A model as a point of a plane, and the logit of the number that the plane does not show."""
    nu, t00, t11 = (float(share) for share in share_3.clip(MAP_EDGE, 1 - MAP_EDGE))
    if model is accuracies_model:
        return t00, t11, float(logit(nu))
    noise = 1 - (t00 + t11) / 2
    return nu, noise, float(logit((1 - t00) / (2 * noise)))


def _optimal_noise(split: float, n_votes: int) -> Line:
    """For each noise the class shares between which the narrowest majorities decide as Bayes' rule does.

    The log-odds of each count of votes rise with the share of class 0, so at every noise that is one interval.
    """
    noise = np.linspace(0, 0.5, POINTS).clip(MAP_EDGE, 0.5 - MAP_EDGE)
    wrong0, wrong1 = 2 * noise * split, 2 * noise * (1 - split)
    more = n_votes // 2 + 1
    for_0, for_1 = np.log((1 - wrong0) / wrong1), np.log((1 - wrong1) / wrong0)
    least = expit((n_votes - more) * for_1 - more * for_0)
    most = expit(more * for_1 - (n_votes - more) * for_0)
    return _line(np.concatenate([least, most[::-1]]), np.concatenate([noise, noise[::-1]]))


def _optimal_accuracies(odds: float, n_votes: int) -> Line:
    """For each weight of a vote for class 0 the weights of one for class 1 between which majority is optimal.

    With `for_0 = log(T00 / T10)` and `for_1 = log(T11 / T01)`, both positive, the two narrowest majorities ask for
    `for_1` between two straight lines; accuracies and weights determine each other.  Three votes or more.
    """
    for_0 = np.concatenate([np.linspace(WEAKEST, 4, POINTS), np.linspace(4, 16, POINTS // 4)[1:]])
    more = n_votes // 2 + 1
    fewer = n_votes - more
    low = ((fewer * for_0 + odds) / more).clip(WEAKEST**2)
    high = ((more * for_0 + odds) / fewer).clip(WEAKEST**2)
    open_ = high > low
    x_low, y_low = _accuracies(for_0[open_], low[open_])
    x_high, y_high = _accuracies(for_0[open_], high[open_])
    return _line(np.concatenate([x_low, x_high[::-1]]), np.concatenate([y_low, y_high[::-1]]))


def _accuracies(for_0: FloatArray, for_1: FloatArray) -> tuple[FloatArray, FloatArray]:
    """T00 and T11 from the weights of the two votes, both above 0."""
    both = for_0 + for_1
    return np.expm1(-for_1) / np.expm1(-both), np.expm1(-for_0) / np.expm1(-both)


def _ellipse(place: _Place, model: Model, level: float) -> Line | None:
    """The region of a panel: normal in logits, with the spread of the replicates."""
    if place.replicate_b3 is None:
        return None
    nu_b, t00_b, t11_b = place.replicate_b3.T
    nu, t00, t11 = place.share_3
    if model is accuracies_model:
        point, cloud = np.array([t00, t11]), np.stack([t00_b, t11_b])
    else:
        point, cloud = np.array([nu, 1 - (t00 + t11) / 2]), np.stack([nu_b, 1 - (t00_b + t11_b) / 2])
    spread = np.cov(logit(cloud.clip(MAP_EDGE, 1 - MAP_EDGE)))
    value, vector = np.linalg.eigh(spread)
    angle = np.linspace(0, 2 * np.pi, 96, endpoint=False)
    circle = np.sqrt(2 * gammaincinv(1.0, level) * value.clip(0))[:, None] * np.stack([np.cos(angle), np.sin(angle)])
    return _line(*expit(logit(point.clip(MAP_EDGE, 1 - MAP_EDGE))[:, None] + vector @ circle))


def _line(x: FloatArray, y: FloatArray) -> Line:
    return tuple(float(value) for value in x.round(5)), tuple(float(value) for value in y.round(5))


def _many_classes(votes: Votes, fit: Fit) -> MapPanel:
    """Noise spread evenly over the wrong labels, against the share of the commonest class; a simplification."""
    prior_k, confusion_kl = shared_model(votes, fit)
    first = int(prior_k.argmax())
    others = np.delete(prior_k, first).clip(MAP_EDGE)
    others = others / others.sum()
    x = np.linspace(0, 1, POINTS)
    limit = np.array([_noise_limit(share, others) for share in x])
    share, noise = float(prior_k[first]), float(1 - prior_k @ np.diag(confusion_kl))
    noise = float(np.clip(noise, MAP_EDGE, 1 - MAP_EDGE))
    shown_kl = confusion_kl.clip(MAP_EDGE)
    return MapPanel(
        plane=Plane.BALANCE,
        labels=votes.labels,
        mean_of_workers=False,
        optimal=_line(np.concatenate([x, [1, 0]]), np.concatenate([limit, [0, 0]])),
        point=(share, noise),
        point_margin=_even_margin(prior_k.clip(MAP_EDGE), noise),
        region=None,
        prior=tuple((prior_k.clip(MAP_EDGE) / prior_k.clip(MAP_EDGE).sum()).tolist()),
        confusion=tuple(map(tuple, (shown_kl / shown_kl.sum(axis=1, keepdims=True)).tolist())),
        n_votes=_usual(votes),
    )


def _noise_limit(share: float, others: FloatArray) -> float:
    """The largest noise at which a lead of one vote outweighs any difference of class shares."""
    prior = np.concatenate([[share], (1 - share) * others])
    if prior.min() <= 0:
        return 0.0
    return float(len(others) / (prior.max() / prior.min() + len(others)))


def _even_margin(prior_k: FloatArray, noise: float) -> float:
    """The margin under even noise: what a lead of one vote adds, less what the class shares can take away."""
    lead = np.log((1 - noise) * (len(prior_k) - 1) / noise)
    return float(lead - np.log(prior_k.max() / prior_k.min()))
