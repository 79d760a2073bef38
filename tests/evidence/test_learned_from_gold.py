"""Gold labels that came with the votes: half of them teach a rule, the others prove it."""

import numpy as np
import pytest

import majorant as mj
from majorant.decide import Certainty
from majorant.simulate import one_coin_crew, simulate
from sizes import many


def checked(skills, *, n_items=300, gold=1.0, seed=0):
    votes, truth = simulate(
        [0.5, 0.5], one_coin_crew(skills), n_items=n_items, n_votes=len(skills), gold=gold, rng=seed
    )
    return mj.check(votes), truth


def test_a_panel_with_one_good_judge_gets_a_proved_rule():
    result, truth = checked([0.95, 0.4, 0.4, 0.4, 0.4])
    assert (result.answer.action, result.answer.certainty) == ("switch", Certainty.PROVED)
    assert result.answer.gain.value > 0.3
    assert result.labels.to_dict()["label"] == truth.tolist()  # every item has gold


def test_the_labels_that_prove_a_learned_rule_did_not_teach_it():
    result, _ = checked([0.9, 0.9, 0.3, 0.3, 0.3], gold=0.5)
    basis = next(one for one in result.answer.evidence if one.other == "learned")
    assert (result.learned.n_labels, basis.n_labels) == (75, 75)
    assert basis.gain.low is not None


def test_few_labels_are_all_used_for_learning():
    result, _ = checked([0.9, 0.9, 0.3, 0.3, 0.3], gold=0.2)
    basis = next(one for one in result.answer.evidence if one.other == "learned")
    assert (result.learned.n_labels, basis.n_labels, basis.gain.low) == (60, 60, None)


def test_equal_judges_are_rarely_beaten_by_proof():
    """No rule beats majority vote here, whatever labels say by luck; five in a hundred may say so."""
    wrong = 0
    for seed in range(many(100)):
        result, _ = checked([0.7] * 5, n_items=200, gold=0.5, seed=seed)
        learned = [one for one in result.answer.evidence if one.other == "learned"]
        wrong += any(one.gain.low is not None and one.gain.low > 0 for one in learned)
    assert wrong <= 0.05 * many(100) + 2


@pytest.mark.parametrize("seed", range(3))
def test_which_half_teaches_does_not_depend_on_the_order_of_rows(seed):
    votes, truth = simulate([0.5, 0.5], one_coin_crew([0.9, 0.9, 0.3, 0.3]), n_items=200, n_votes=4, rng=seed)
    table, gold = votes.to_dict(), {str(item): label for item, label in zip(votes.items, truth, strict=True)}
    order = np.random.default_rng(seed).permutation(votes.n_votes)
    shuffled = {name: [column[n] for n in order] for name, column in table.items()}
    weights = [mj.check(rows, gold=gold).learned.weights for rows in (table, shuffled)]
    assert weights[0] == pytest.approx(weights[1])
