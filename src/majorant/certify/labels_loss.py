"""What labels that the user already has give away against the best rule, by gold or by a fitted model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from majorant.certify.gold.loss import difference_bounds, gold_cells, gold_loss
from majorant.errors import ConfigError
from majorant.estimate.fit import NO_LABEL, Fit
from majorant.items import take_items
from majorant.tally import counts, tied
from majorant.values import LEVEL, Estimate, as_level, clopper_pearson
from majorant.votes import IntArray, Votes

GOLD_NUMBERS = ("accuracy", "over_majority", "loss")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsLoss:
    """Labels from elsewhere beside majority and the best rule; items without a label, or with tied votes, left out."""

    n_items: int  # items judged
    accuracy: Estimate  # share of gold items that are labelled right
    over_majority: Estimate  # by gold, how much oftener the labels are right than majority
    loss: Estimate  # by gold, accuracy given away against the best rule that ignores who voted; negative: it is beaten
    model_loss: Estimate  # the same against the best rule of a fitted model


def labels_loss(votes: Votes, label_i: IntArray, *, level: float = LEVEL, fit: Fit | None = None) -> LabelsLoss:
    """Compare labels (a class code per item, -1 for none) with gold and with a fit, as far as they are given.

    Gold items must be a random sample.  The intervals are exact at any sample size; that of the loss adds those of
    majority's loss and of the lead over majority, each at half the error.  Proof: docs/theory/gold.md.

    >>> votes = Votes.from_codes([0, 1, 2], [0, 0, 0], [1, 1, 0], items="abc", workers="w", labels="ny", gold=[1, 0, 0])
    >>> found = labels_loss(votes, np.array([1, 0, 0]))
    >>> found.accuracy.value, round(found.over_majority.value, 3)
    (1.0, 0.333)
    """
    as_level(level)
    if len(label_i) != len(votes.items):
        raise ConfigError(f"labels must hold one code for each of {len(votes.items)} items, not {len(label_i)}.")
    counts_ik = counts(votes)
    judged_i = np.flatnonzero((label_i != NO_LABEL) & (votes.votes_i > 0) & ~tied(counts_ik))
    chosen, label_i = take_items(votes, judged_i), np.asarray(label_i)[judged_i]
    majority_i = counts_ik[judged_i].argmax(axis=1)
    return LabelsLoss(
        n_items=len(judged_i),
        **_by_gold(chosen, label_i, majority_i, level),
        model_loss=_by_model(None if fit is None else fit.posterior[judged_i], label_i),
    )


def _by_gold(votes: Votes, label_i: IntArray, majority_i: IntArray, level: float) -> dict[str, Estimate]:
    gold_i = votes.gold_i if votes.gold_i is not None else np.full(len(votes.items), -1)
    known = np.flatnonzero(gold_i >= 0)
    if not len(known):
        return dict.fromkeys(GOLD_NUMBERS, Estimate(None, reason="no labelled item has a gold label"))
    right_i, by_majority_i = (code_i[known] == gold_i[known] for code_i in (label_i, majority_i))
    n_right, n_gold = int(right_i.sum()), len(known)
    wins, losses = int((right_i & ~by_majority_i).sum()), int((by_majority_i & ~right_i).sum())
    lead = (wins - losses) / n_gold
    lead_low, lead_high = _bounds(wins, losses, n_gold, (1 - level) / 2)
    lost = gold_loss(gold_cells(votes), (1 + level) / 2).all
    return {
        "accuracy": Estimate(n_right / n_gold, *clopper_pearson(n_right, n_gold, level)),
        "over_majority": Estimate(lead, *_bounds(wins, losses, n_gold, 1 - level)),
        "loss": _less(lost, lead, lead_low, lead_high),
    }


def _less(lost: Estimate, lead: float, lead_low: float, lead_high: float) -> Estimate:
    assert lost.value is not None
    assert lost.low is not None
    assert lost.high is not None
    return Estimate(lost.value - lead, max(-1.0, lost.low - lead_high), min(1.0, lost.high - lead_low))


def _bounds(wins: int, losses: int, trials: int, error: float) -> tuple[float, float]:
    low, high = difference_bounds(np.array([wins]), np.array([losses]), np.array([trials]), error / 2)
    return float(low[0]), float(high[0])


def _by_model(posterior_ik: np.ndarray[tuple[int, int], np.dtype[np.float64]] | None, label_i: IntArray) -> Estimate:
    """mean of max_k q_ik - q_i,label: what the model itself expects to lose; it knows no error of its own."""
    if posterior_ik is None or not len(label_i):
        return Estimate(None, reason="no fit was given" if posterior_ik is None else "no item is labelled")
    chosen_i = posterior_ik[np.arange(len(label_i)), label_i]
    value = float((posterior_ik.max(axis=1) - chosen_i).mean())
    return Estimate(value, reason="no interval: the fitted model is taken for the truth")
