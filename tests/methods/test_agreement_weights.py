"""IWMV, Wawa and zero-based skill equal plain loops over ballots."""

import numpy as np
import pytest

from crowds import informed_votes, random_votes
from majorant.errors import ConfigError
from majorant.methods import ESTIMATORS
from majorant.methods.agreement_weights import IWMV, Wawa, ZeroBasedSkill
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes


def scores(votes, weight):
    score = np.zeros((len(votes.items), len(votes.labels)))
    for i, j, l in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True):
        score[i, l] += weight[j]
    return score


def skills(votes, weight):
    """The share of each worker's votes that win the weighted vote, a tie won in part."""
    score = scores(votes, weight)
    best = score >= score.max(axis=1, keepdims=True) - 1e-9
    right, given = np.zeros(len(votes.workers)), np.zeros(len(votes.workers))
    for i, j, l in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True):
        right[j] += best[i, l] / best[i].sum()
        given[j] += 1
    return right / given


@pytest.mark.parametrize("seed", range(3))
def test_iwmv_is_a_fixed_point_of_its_loop(seed):
    votes = informed_votes(np.random.default_rng(seed))
    answer = IWMV().fit(votes)
    weight = np.ones(9)
    for _ in range(answer.n_iter):
        skill = skills(votes, weight)
        weight = 3 * skill - 1
    np.testing.assert_allclose(answer.skill, skill, atol=1e-12)
    assert answer.converged
    np.testing.assert_allclose(skills(votes, weight), skill, atol=1e-12)
    score = scores(votes, weight)
    ratio = np.log(answer.posterior) - np.log(answer.posterior[:, :1])
    np.testing.assert_allclose(ratio, 3 / 2 * (score - score[:, :1]), atol=1e-9)
    mean = np.average(skill, weights=np.bincount(votes.worker_n, minlength=9))
    np.testing.assert_allclose(np.diag(answer.confusion), mean)
    np.testing.assert_allclose(answer.confusion[0, 1], (1 - mean) / 2)


def test_iwmv_reverses_an_adversarys_votes():
    crew = one_coin_workers([0.9, 0.9, 0.9, 0.1])
    votes, truth = simulate([0.5, 0.5], crew, n_items=2_000, n_votes=4, rng=0)
    answer = IWMV().fit(votes)
    np.testing.assert_allclose(np.sort(answer.skill), [0.1, 0.9, 0.9, 0.9], atol=0.06)
    # Four votes of accuracy .9, one of them inverted: majority of four, half of the ties right.
    expected = 0.9**4 + 4 * 0.9**3 * 0.1 + 3 * 0.9**2 * 0.1**2
    right = np.mean(np.array(answer.labels(ties="random", rng=0)) == truth)
    assert right == pytest.approx(expected, abs=0.01)


def test_wawa_weighs_by_agreement_with_the_majority():
    votes = random_votes(np.random.default_rng(0))
    answer = Wawa().fit(votes)
    skill = skills(votes, np.ones(9))
    np.testing.assert_allclose(answer.skill, skill, atol=1e-12)
    score = scores(votes, skill)
    total = score.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(answer.posterior, np.where(total > 0, score / np.where(total > 0, total, 1), 1 / 3))


@pytest.mark.parametrize("step", [1.0, 0.3])
def test_zero_based_skill_steps_towards_agreement(step):
    votes = informed_votes(np.random.default_rng(1))
    answer = ZeroBasedSkill(step=step, step_every=4).fit(votes)
    skill, length = np.full(9, 1 / 3), step
    for t in range(1, answer.n_iter + 1):
        length = length * 0.5 if t % 4 == 0 else length
        skill = skill + length * (skills(votes, skill) - skill)
    np.testing.assert_allclose(answer.skill, skill, atol=1e-12)
    assert answer.n_iter <= 100


@pytest.mark.parametrize("method", ["iwmv", "wawa", "zero-based-skill"])
def test_a_tie_is_not_won_by_the_first_label(method):
    # Workers x and y tie on every item but the last; neither may gain by the name of his label.
    names = {"items": range(5), "workers": "xyz", "labels": "01"}
    item, worker, label = [0, 0, 1, 1, 2, 2, 3, 3], [0, 1] * 4, [0, 1] * 4
    answer = ESTIMATORS[method]().fit(Votes.from_codes([*item, 4, 4], [*worker, 0, 1], [*label, 1, 1], **names))
    assert answer.skill[0] == pytest.approx(answer.skill[1])
    assert answer.labels() == [None, None, None, None, "1"]
    assert answer.skill[2] == pytest.approx(0.5)  # no votes: chance


def test_agreement_identifies_the_good_workers():
    crew = one_coin_workers([0.95, 0.9, 0.6, 0.55, 0.5], n_classes=4)
    votes, truth = simulate([0.25] * 4, crew, n_items=3_000, n_votes=5, rng=2)
    majority = ESTIMATORS["majority"]().fit(votes)
    base = np.mean(np.array(majority.labels(ties="random", rng=0)) == truth)
    for method in ("iwmv", "wawa", "zero-based-skill"):
        answer = ESTIMATORS[method]().fit(votes)
        assert np.mean(np.array(answer.labels(ties="random", rng=0)) == truth) > base + 0.01


def test_start_of_the_wrong_shape_is_rejected():
    votes = random_votes(np.random.default_rng(0))
    for method in ("iwmv", "zero-based-skill"):
        with pytest.raises(ConfigError, match="majority fit has no skills for these 9 workers"):
            ESTIMATORS[method]().fit(votes, start=ESTIMATORS["majority"]().fit(votes))
