"""docs/theory/majority.md: the verdict from the four central cells of the count histogram."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom

from majorant.errors import ConfigError
from majorant.theory import central_cells_criterion
from oracles import margins as oracle
from oracles.golden import two_class
from sizes import many


def count_shares(prior_bk, confusion_bkl, n_votes):
    """P(k votes for class 0), k = 0..H, (B, H + 1)."""
    votes = np.arange(n_votes + 1)
    return sum(prior_bk[:, k, None] * binom.pmf(votes, n_votes, confusion_bkl[:, k, 0][:, None]) for k in range(2))


@pytest.mark.parametrize("n_votes", [3, 5, 7, 9])
def test_sign_of_the_margin_is_the_verdict(n_votes):
    rng = np.random.default_rng(n_votes)
    prior_bk, confusion_bkl = oracle.draw_models(rng, many(16_000), 2)
    keep = confusion_bkl[:, 0, 0] + confusion_bkl[:, 1, 1] > 1.02
    prior_bk, confusion_bkl = prior_bk[keep], confusion_bkl[keep]
    assert keep.mean() > 0.6
    margin_b = oracle.shared_margin(prior_bk, confusion_bkl, n_votes)
    sign_b = np.array([central_cells_criterion(share) for share in count_shares(prior_bk, confusion_bkl, n_votes)])
    clear_b = (np.abs(margin_b) > 1e-6) & (np.abs(sign_b) > 1e-9)
    assert clear_b.mean() > 0.9
    assert ((sign_b > 0) == (margin_b > 0))[clear_b].all()


@given(p=st.floats(0.1, 0.9), a=st.floats(0.4, 0.95), b=st.floats(0.4, 0.95), n_votes=st.sampled_from([3, 5, 7]))
def test_sign_of_the_margin_is_the_verdict_for_random_models(p, a, b, n_votes):
    assume(a + b > 1.05)
    prior, confusion = two_class(p, a, b)
    prior_bk, confusion_bkl = np.array([prior]), np.array([confusion])
    margin = oracle.shared_margin(prior_bk, confusion_bkl, n_votes)[0]
    assume(abs(margin) > 1e-3)
    assert (central_cells_criterion(count_shares(prior_bk, confusion_bkl, n_votes)[0]) > 0) == (margin > 0)


def test_shares_and_counts_agree():
    shares = np.array([0.3, 0.2, 0.1, 0.4])
    assert central_cells_criterion(shares * 12345) == pytest.approx(central_cells_criterion(shares), abs=1e-12)


def test_mirrored_classes_give_the_same_result():
    shares = np.array([0.1, 0.3, 0.2, 0.1, 0.2, 0.1])
    assert central_cells_criterion(shares[::-1]) == pytest.approx(central_cells_criterion(shares), abs=1e-12)


def test_empty_cells_lie_on_the_boundary():
    assert central_cells_criterion([0.5, 0, 0, 0.5]) == 0
    assert central_cells_criterion([0, 0, 0, 0]) == 0


@pytest.mark.parametrize(
    ("share", "message"),
    [
        ([0.5, 0.5], "H odd and at least 3"),
        ([0.2, 0.3, 0.1, 0.2, 0.2], "H odd and at least 3"),
        ([[0.5, 0.5, 0, 0]], "H odd and at least 3"),
        ([0.5, -0.1, 0.3, 0.3], r"share\[1\] is -0.1"),
        ([0.5, 0.1, np.nan, 0.3], r"share\[2\] is nan"),
    ],
)
def test_invalid_input_error_names_the_entry(share, message):
    with pytest.raises(ConfigError, match=message):
        central_cells_criterion(share)
