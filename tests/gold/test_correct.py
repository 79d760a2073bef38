"""A rule learned from expert labels: the optimum, what it gains where a crowd leans, and that harm is stopped."""

import numpy as np
import pytest

from majorant.errors import ConfigError
from majorant.gold.betting import evidence_above
from majorant.gold.correct import Correction, learn, relabel
from majorant.simulate import simulate


def loss(weight, offset, posterior, truth):
    """The penalised log-likelihood that `learn` minimises, written out item by item."""
    total = sum(offset**2) + 3 * sum((weight - 1 / len(weight)) ** 2)
    for n, k in enumerate(truth):
        score = [
            sum(w * np.log(max(p[n][c], 0.02)) for w, p in zip(weight, posterior, strict=True)) + offset[c]
            for c in range(len(offset))
        ]
        total -= score[k] - np.log(np.exp(score).sum())
    return total


def test_no_step_away_from_what_is_learned_is_better():
    rng = np.random.default_rng(0)
    posterior, truth = rng.dirichlet([0.5, 1, 2], size=(2, 30)), rng.integers(3, size=30)
    learned = learn(posterior, truth)
    best = loss(learned.weight_m, learned.offset_k, posterior, truth)
    for step in (-1e-2, 1e-2):
        for c in range(3):
            assert loss(learned.weight_m, learned.offset_k + step * np.eye(3)[c], posterior, truth) > best
        for m in range(2):
            assert loss(learned.weight_m + step * np.eye(2)[m], learned.offset_k, posterior, truth) > best


def test_without_labels_models_count_alike():
    learned = learn(np.empty((4, 0, 3)), [])
    assert learned.weight_m.tolist() == [0.25] * 4
    assert learned.offset_k.tolist() == [0.0] * 3


def test_certain_models_stay_finite():
    posterior = np.array([[[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]])
    learned = learn(posterior, [0, 0, 1])
    assert np.isfinite(learned.weight_m).all()
    assert relabel(learned, posterior).tolist() in ([0, 0, 0], [0, 1, 0])


def leaning_crowd(seed):
    """Vote shares of a crowd whose five voters say class 0 of most items of class 1, and the truth."""
    confusion = np.array([[0.95, 0.05], [0.6, 0.4]])
    votes, truth = simulate([0.5, 0.5], confusion, n_items=1500, n_votes=5, rng=seed)
    counts = np.zeros((1500, 2))
    np.add.at(counts, (votes.item_n, votes.label_n), 1)
    return counts / 5, np.asarray(truth)


def test_sixty_labels_correct_a_crowd_that_leans():
    gains = []
    for seed in range(5):
        share_ik, truth_i = leaning_crowd(seed)
        labelled = np.random.default_rng(seed).permutation(1500)[:60]
        new_i = relabel(learn(share_ik[None, labelled], truth_i[labelled]), share_ik[None])
        rest = np.setdiff1d(np.arange(1500), labelled)
        gains.append((new_i == truth_i)[rest].mean() - (share_ik.argmax(axis=1) == truth_i)[rest].mean())
    assert min(gains) > 0.05


def adopted_though_no_better(n_runs, n_labels, seed):
    """How often the comparison on a fresh order adopts a rule learned from noise, where it can only be worse."""
    rng, adopted = np.random.default_rng(seed), 0
    for _ in range(n_runs):
        high_i = rng.uniform(0.5, 1, 400)
        posterior = np.stack([high_i, 1 - high_i], axis=1)[None]
        truth_i = (rng.random(400) > 0.5).astype(int)  # models know nothing: every rule is right on half
        order = rng.permutation(400)
        labelled, rest = order[:n_labels], rng.permutation(order[n_labels:])
        new_i = relabel(learn(posterior[:, labelled], truth_i[labelled]), posterior)
        differ = rest[new_i[rest] != 0]
        gain = np.where(truth_i[differ] == 1, 1.0, 0.0)
        if len(differ) and gain.mean() <= 0.5:
            adopted += bool(evidence_above(gain[:40], len(differ), 0.5) >= np.log(20))
    return adopted / n_runs


def test_a_rule_that_is_no_better_is_rarely_adopted():
    assert adopted_though_no_better(200, 30, seed=0) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 200)


@pytest.mark.long
def test_a_rule_that_is_no_better_is_rarely_adopted_in_many_runs():
    assert adopted_though_no_better(20_000, 30, seed=1) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 20_000)


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(ConfigError, match="truth= holds 1 labels"):
        learn(np.full((1, 2, 2), 0.5), [0])
    with pytest.raises(ConfigError, match="class codes"):
        learn(np.full((1, 2, 2), 0.5), [0, -1])


def test_a_correction_is_frozen():
    correction = Correction(weight_m=np.ones(1), offset_k=np.zeros(2), n_labels=0)
    with pytest.raises(ValueError, match="read-only"):
        correction.offset_k[0] = 1
