"""LA equals a dictionary and a loop, and continues from a saved state as if all votes had come at once."""

import numpy as np
import pytest

import oracles.streaming as oracle
from crowds import informed_votes, random_votes
from majorant.errors import ConfigError
from majorant.items import take_items
from majorant.methods import ESTIMATORS, load_state, save_state, update
from majorant.methods.la import LaOnePass, LaTwoPass
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes

LA = pytest.mark.parametrize("model", [LaOnePass(), LaTwoPass()], ids=lambda model: model.name)


def ballots(votes):
    found = {i: [] for i in range(len(votes.items))}
    for i, j, l in zip(votes.item_n.tolist(), votes.worker_n.tolist(), votes.label_n.tolist(), strict=True):
        found[i].append((j, l))
    return found


def best(answer):
    top = answer.posterior.max(axis=1, keepdims=True) - 1e-9
    return [set(np.flatnonzero(row).tolist()) for row in answer.posterior >= top]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shuffled", [False, True])
def test_both_passes_equal_a_dictionary_loop(seed, shuffled):
    rng = np.random.default_rng(seed)
    votes = random_votes(rng)
    order = rng.permutation(60) if shuffled else np.arange(60)
    first, accuracy = oracle.one_pass(ballots(votes), order.tolist())
    second = oracle.two_pass(ballots(votes), order.tolist(), 3)
    answers = [model.fit(votes, order=order) for model in (LaOnePass(), LaTwoPass())]
    voted = np.flatnonzero(votes.votes_i > 0).tolist()
    assert [best(answers[0])[i] for i in voted] == [first[i] for i in voted]
    assert [best(answers[1])[i] for i in voted] == [second[i] for i in voted]
    assert shuffled or any(len(tied) > 1 for tied in first.values())  # ties are among the cases
    for answer in answers:
        np.testing.assert_allclose(answer.skill, [accuracy[j] for j in range(9)], atol=1e-12)


def test_the_order_is_an_argument_and_matters():
    votes = random_votes(np.random.default_rng(0))
    forth, back = LaOnePass().fit(votes), LaOnePass().fit(votes, order=np.arange(60)[::-1])
    assert not np.allclose(forth.posterior, back.posterior)
    with pytest.raises(ConfigError, match=r"each item code 0\.\.59 once"):
        LaOnePass().fit(votes, order=[0, 0, 1])


@LA
def test_batches_give_what_all_votes_at_once_give(model):
    votes = informed_votes(np.random.default_rng(3), n_items=90, n_votes=400)
    whole = model.fit(votes)
    batch = [take_items(votes, np.arange(start, start + 30)) for start in (0, 30, 60)]
    parts = [model.fit(batch[0])]
    for new in batch[1:]:
        parts.append(update(parts[-1].state(), new))
    np.testing.assert_array_equal(parts[-1].skill, whole.skill)
    if model.name == "la-one-pass":  # the second pass looks back at all items, which a stream cannot
        np.testing.assert_allclose(np.concatenate([part.posterior for part in parts]), whole.posterior, atol=1e-12)
    else:
        np.testing.assert_allclose(parts[-1].posterior, whole.posterior[60:], atol=1e-12)


@LA
def test_workers_and_labels_are_matched_by_their_names(model):
    first = Votes.from_codes([0, 0, 0], [0, 1, 2], [0, 0, 1], items="a", workers="xyz", labels=("no", "yes"))
    later = Votes.from_codes([0, 0], [0, 1], [1, 0], items="b", workers=("z", "new"), labels=("maybe", "no"))
    before = model.fit(first).state()
    after = update(before, later).state()
    assert after.workers == ("x", "y", "z", "new")
    assert after.labels == ("no", "yes", "maybe")
    assert before.workers == ("x", "y", "z")  # a state never changes
    assert after.arrays["given"].tolist() == [1, 1, 2, 1]
    assert after.arrays["right"].tolist() == [1, 1, 0, 1]  # z was wrong before: 1/3 against 1/2


@LA
def test_a_state_survives_a_file(model, tmp_path):
    names = {"items": "ab", "workers": [("w", 1), 7, "x"], "labels": [0, 1.5]}
    votes = Votes.from_codes([0, 0, 0, 1], [0, 1, 2, 0], [1, 1, 0, 0], **names)
    state = model.fit(votes).state()
    save_state(state, tmp_path / "state.npz")
    back = load_state(tmp_path / "state.npz")
    assert (back.method, back.workers, back.labels) == (model.name, state.workers, state.labels)
    for name, array in state.arrays.items():
        np.testing.assert_array_equal(back.arrays[name], array)
    np.testing.assert_array_equal(update(back, votes).posterior, update(state, votes).posterior)


def test_a_state_belongs_to_its_method():
    votes = random_votes(np.random.default_rng(0))
    state = LaOnePass().fit(votes).state()
    with pytest.raises(ConfigError, match="belongs to la-one-pass, not to la-two-pass"):
        LaTwoPass().fit(votes, state=state)
    with pytest.raises(ConfigError, match="majority is not an online method"):
        ESTIMATORS["majority"]().fit(votes).state()


def test_la_learns_worker_skill():
    crew = one_coin_workers([0.95, 0.9, 0.6, 0.5])
    votes, truth = simulate([0.5, 0.5], crew, n_items=4_000, n_votes=4, rng=0)
    majority, once, twice = (
        np.mean(np.array(ESTIMATORS[name]().fit(votes).labels(ties="random", rng=0)) == truth)
        for name in ("majority", "la-one-pass", "la-two-pass")
    )
    assert once > majority + 0.02  # weights between 0 and 1 break ties, and little else
    assert twice >= once


def test_weights_count_in_parts_too():
    votes = random_votes(np.random.default_rng(0), n_items=10, n_votes=40)
    answer = LaOnePass().fit(votes, weights=np.full(10, 0.5))
    given = answer.state().arrays["given"]
    np.testing.assert_allclose(given, np.bincount(votes.worker_n, minlength=9) / 2)
    nothing = LaOnePass().fit(votes, weights=np.zeros(10))
    np.testing.assert_allclose(nothing.skill, 0.5)
    with pytest.raises(ConfigError, match=r"weights must have shape \(10,\)"):
        LaOnePass().fit(votes, weights=[1.0])
