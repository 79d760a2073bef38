"""The spectral start is exact on exact moments, and EM from it finds the confusions of its own model."""

import numpy as np
import pytest

from crowds import random_votes
from majorant.errors import ConfigError, NotIdentified
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.em import prepare
from majorant.methods.spectral_em import SpectralEm, ViewMoments, _turned, spectral_start, view_means
from majorant.simulate import simulate
from majorant.votes import Votes


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_exact_moments_give_exact_means(n_classes):
    rng = np.random.default_rng(n_classes)
    prior = rng.dirichlet(np.full(n_classes, 5.0))
    view = [0.5 * np.eye(n_classes) + 0.5 * rng.dirichlet(np.ones(n_classes), size=n_classes) for _ in range(3)]
    pair = {(a, b): np.einsum("k,ka,kb->ab", prior, view[a], view[b]) for a in range(3) for b in range(3)}
    triple = np.einsum("k,ka,kb,kc->abc", prior, *view)
    moments = ViewMoments(*(10 * m for m in (pair[0, 1], pair[0, 2], pair[1, 2], triple)), 10.0)
    for turn in range(3):  # each view has its turn at being the third
        mean, share = view_means(_turned(moments, turn), np.random.default_rng(0))
        order = mean.argmax(axis=1).argsort()
        np.testing.assert_allclose(mean[order], view[(2 + turn) % 3], atol=1e-6)
        np.testing.assert_allclose(share[order], prior, atol=1e-6)


def unlike_crew(rng, n_workers, n_classes):
    return 0.45 * np.eye(n_classes) + 0.55 * rng.dirichlet(np.ones(n_classes), size=(n_workers, n_classes))


def test_start_and_fit_recover_the_confusions():
    rng = np.random.default_rng(0)
    crew, prior = unlike_crew(rng, 9, 3), np.array([0.5, 0.3, 0.2])
    votes, truth = simulate(prior, crew, n_items=8_000, n_votes=9, rng=1)
    code = {label: k for k, label in enumerate(votes.labels)}
    truth_i = np.array([code[label] for label in truth.tolist()])
    counted = np.zeros((9, 3, 3))
    np.add.at(counted, (votes.worker_n, truth_i[votes.item_n], votes.label_n), 1)
    counted /= counted.sum(axis=2, keepdims=True)
    begin = spectral_start(prepare(votes, None, None, clamp_gold=False), np.random.default_rng(0))
    np.testing.assert_allclose(begin.confusion_jkl, counted, atol=0.12)
    np.testing.assert_allclose(begin.prior_k, prior, atol=0.05)
    answer = SpectralEm().fit(votes, rng=0)
    np.testing.assert_allclose(answer.confusion, counted, atol=0.04)
    assert answer.converged
    np.testing.assert_allclose(answer.posterior, DawidSkene().fit(votes).posterior, atol=1e-3)  # one optimum, two ways
    step = SpectralEm(max_iter=1).fit(votes, rng=0)
    assert step.n_iter == 1
    assert np.mean(step.codes("first") == truth_i) > np.mean(answer.codes("first") == truth_i) - 0.01


def test_it_finds_the_classes_where_vote_shares_mislead():
    # Most workers call both classes by the first label more often than not: the shares start on the wrong side.
    weak, strong = [[0.95, 0.05], [0.7, 0.3]], [[0.9, 0.1], [0.1, 0.9]]
    crew = np.array([weak] * 7 + [strong] * 2)
    votes, truth = simulate([0.5, 0.5], crew, n_items=6_000, n_votes=9, rng=0)
    majority = np.mean(np.array(votes.labels)[0] == truth)
    answer = SpectralEm().fit(votes, rng=0)
    assert np.mean(np.array(answer.labels()) == truth) > 0.9 > majority


def test_what_cannot_be_told_is_said():
    names = {"items": "ab", "workers": "xyz", "labels": "01"}
    with pytest.raises(NotIdentified, match="three groups of workers, and there are none: use dawid-skene"):
        SpectralEm().fit(Votes.from_codes([0, 0, 1], [0, 1, 2], [0, 0, 1], **names), rng=0)
    with pytest.raises(NotIdentified, match="show fewer than 2 classes apart: use dawid-skene"):
        SpectralEm().fit(Votes.from_codes([0] * 3 + [1] * 3, [0, 1, 2] * 2, [0] * 6, **names), rng=0)
    with pytest.raises(ConfigError, match="groupings must be at least 1"):
        SpectralEm(groupings=0).fit(random_votes(np.random.default_rng(0)), rng=0)
