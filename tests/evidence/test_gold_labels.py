"""Labels from elsewhere, judged by gold and by a fitted posterior."""

import numpy as np
import pytest
from scipy.stats import binom

from majorant.errors import ConfigError, DataError
from majorant.evidence.certificate.gold import labels_loss
from majorant.methods import ESTIMATORS
from majorant.read.gold import read_labels
from majorant.simulate import one_coin_crew, simulate
from majorant.theory import panel_accuracy
from majorant.values import Missing

PRIOR, CREW = [0.5, 0.5], one_coin_crew([0.95, 0.6, 0.6])


def test_the_model_loss_is_the_mean_shortfall_of_the_posterior():
    votes, _ = simulate(PRIOR, CREW, 300, 3, rng=0)
    fit = ESTIMATORS["dawid-skene"]().fit(votes)
    label_i = np.random.default_rng(0).integers(-1, 2, size=300)
    found = labels_loss(votes, label_i, fit=fit)
    lost = [fit.posterior[i].max() - fit.posterior[i, label] for i, label in enumerate(label_i) if label >= 0]
    assert found.model_loss.value == pytest.approx(np.mean(lost))
    assert found.n_items == len(lost)
    assert found.loss.value is None
    assert found.loss.reason is Missing.NO_GOLD
    best = labels_loss(votes, fit.codes("first"), fit=fit)
    assert best.model_loss.value == pytest.approx(0)


def test_majority_itself_loses_what_majority_loses():
    votes, truth = simulate(PRIOR, CREW, 2000, 3, rng=1, gold=0.5)
    found = labels_loss(votes, ESTIMATORS["majority"]().fit(votes).codes())
    assert (found.over_majority.value, found.over_majority.low <= 0 <= found.over_majority.high) == (0, True)
    known = votes.gold_i >= 0
    right = np.mean(ESTIMATORS["majority"]().fit(votes).codes()[known] == truth[known])
    assert found.accuracy.value == pytest.approx(right)


def test_no_loss_is_beyond_all_accuracy():
    votes, truth = simulate(PRIOR, one_coin_crew([0.95, 0.95, 0.95]), 20, 3, rng=0, gold=1.0)
    worst, best = (labels_loss(votes, label_i).loss for label_i in (1 - truth, truth))
    assert worst.high == 1
    assert all(-1 <= one.low <= one.value <= one.high <= 1 for one in (worst, best))


def test_intervals_hold_the_truth():
    """The labels of the one good worker beat every rule on counts: a negative loss, known exactly."""
    by_majority, level, misses = panel_accuracy(PRIOR, CREW), 0.8, np.zeros(3)
    for seed in range(200):
        votes, _ = simulate(PRIOR, CREW, 300, 3, rng=seed, gold=1.0)
        found = labels_loss(votes, votes.label_n[votes.worker_n == 0], level=level)
        truths = 0.95, 0.95 - by_majority, by_majority - 0.95  # majority is the best rule on counts here
        for n, (one, wanted) in enumerate(zip((found.accuracy, found.over_majority, found.loss), truths, strict=True)):
            misses[n] += not one.low <= wanted <= one.high
    assert (misses <= binom.ppf(0.999, 200, 1 - level)).all(), misses
    assert misses.sum() > 0  # the intervals are not all of 0..1


def test_invalid_calls_are_errors():
    votes, _ = simulate(PRIOR, CREW, 10, 3, rng=0)
    with pytest.raises(ConfigError, match="one code for each of 10 items"):
        labels_loss(votes, np.zeros(3, dtype=int))
    with pytest.raises(ConfigError, match="level"):
        labels_loss(votes, np.zeros(10, dtype=int), level=2)
    none = labels_loss(votes, np.full(10, -1), fit=ESTIMATORS["majority"]().fit(votes))
    assert (none.n_items, none.model_loss.value, none.model_loss.reason) == (0, None, Missing.NO_LABELS)


def test_labels_are_read_by_item_and_by_text(tmp_path):
    votes, _ = simulate(PRIOR, CREW, 4, 3, rng=0, labels=("no", "yes"))
    path = tmp_path / "labels.csv"
    path.write_text(
        "item,label,confidence,runner_up,margin,votes,tied\n"
        "3,yes,.9,no,.8,3,false\n0,no,.9,yes,.8,3,false\n2,,,,,3,true\n"
    )
    assert read_labels(str(path), votes).tolist() == [0, -1, -1, 1]
    path.write_text("item,label\n3,maybe\n")
    with pytest.raises(DataError, match="'maybe' is not a label of the votes"):
        read_labels(str(path), votes)
    path.write_text("item,label\n3,yes\n3,no\n")
    with pytest.raises(DataError, match="has label 'no', but 'yes'"):
        read_labels(str(path), votes)
    path.write_text("item,answer\n3,yes\n")
    with pytest.raises(ConfigError, match="has no column 'label'"):
        read_labels(str(path), votes)
