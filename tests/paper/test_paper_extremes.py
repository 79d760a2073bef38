"""The paper's statements at parameters that hypothesis picks, error rates and priors down to one in a million."""

import math

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from majorant.theory import paper
from oracles import paper as oracle
from sizes import many

prob = st.floats(1e-6, 1 - 1e-6)
odd = st.sampled_from([1, 3, 5, 7, 9])
calm = settings(deadline=None, derandomize=True, max_examples=many(100, quick=30))  # the same cases on every machine


@calm
@given(prob, prob, prob, odd)
def test_theorem_3_4_decides_as_brute_force(prior_0, a, b, n_votes):
    margin = oracle.margin(prior_0, a, b, n_votes)
    assume(abs(margin) > 1e-7)
    assert paper.theorem_3_4(*oracle.model(prior_0, a, b), n_votes).holds == (margin > 0)


@calm
@given(prob, prob, prob, odd)
def test_both_rules_agree_in_accuracy_where_theorem_3_4_holds(prior_0, a, b, n_votes):
    assume(a + b > 1 + 1e-6)
    prior, confusion = oracle.model(prior_0, a, b)
    majority, best = paper.lemma_3_1(confusion, n_votes), paper.lemma_3_2(prior, confusion, n_votes)
    gap = prior @ best - prior @ majority
    assert gap >= -1e-12
    if paper.theorem_3_4(prior, confusion, n_votes).holds:
        assert math.isclose(gap, 0, abs_tol=1e-12)


@calm
@given(prob, prob, prob, st.integers(1, 8), st.floats(1e-6, 0.2), st.floats(0, 2 * math.pi), st.floats(-1, 1))
def test_theorem_3_5_is_sound_wherever_the_truth_lies(prior_0, a, b, n_votes, eps, angle, share_error):
    guess_a, guess_b = a + eps / math.sqrt(2) * math.cos(angle), b + eps / math.sqrt(2) * math.sin(angle)
    assume(0 < guess_a < 1 and 0 < guess_b < 1 and abs(guess_a + guess_b - 1) > 1e-6)
    share_0 = prior_0 * a + (1 - prior_0) * (1 - b) + share_error * eps
    assume(0 <= share_0 <= 1)
    check = paper.theorem_3_5([share_0, 1 - share_0], oracle.model(0.5, guess_a, guess_b)[1], n_votes, eps=eps)
    slack = 1e-6 * eps + 1e-9  # the truth may sit on the edge of the box
    if check.certified and check.margin > slack:
        assert oracle.margin(prior_0, a, b, n_votes) > 0


@calm
@given(st.floats(0.5, 1 - 1e-6), st.floats(0.51, 1 - 1e-6), odd, st.floats(-0.49, 0.49), st.floats(1e-3, 1))
def test_perturbed_sigma_is_sound(a, b, n_votes, handicap, share):
    """The prior is chosen so that majority vote is optimal, by a handicap of less than half a vote."""
    step, skew = math.log(a * b / ((1 - a) * (1 - b))), math.log(a * (1 - a) / (b * (1 - b)))
    log_odds = -handicap * step - n_votes / 2 * skew
    assume(abs(log_odds) < 14)
    prior_0 = 1 / (1 + math.exp(-log_odds))
    sigma = share * paper.perturbed_sigma(*oracle.model(prior_0, a, b), n_votes)
    assert sigma > 0
    prior_bk, right_b2 = np.array([[prior_0, 1 - prior_0]]), np.array([[a, b]])
    assert oracle.worst_pool_margins(prior_bk, right_b2, n_votes, np.array([sigma]))[0] > -1e-9
