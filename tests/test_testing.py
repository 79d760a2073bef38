"""The assertions that users can call in their own tests."""

import pytest

from majorant.errors import ConfigError
from majorant.testing import assert_agreement, assert_answer

ALIKE = [(item, worker, item % 2) for item in range(20) for worker in "abc"]
CHANCE = [
    (item, worker, (item * 7 + step * 3 + item * step) % 2) for item in range(20) for step, worker in enumerate("abc")
]


def test_allowed_answer_is_returned():
    assert assert_answer(ALIKE, "switch", "keep").answer.action == "keep"


def test_unexpected_answer_fails_with_an_explanation():
    with pytest.raises(AssertionError, match=r"(?s)keep, not switch:.*Why"):
        assert_answer(ALIKE, "switch")


@pytest.mark.parametrize("allowed", [(), ("kepe",)])
def test_answers_that_do_not_exist_are_refused(allowed):
    with pytest.raises(ConfigError, match="keep, switch"):
        assert_answer(ALIKE, *allowed)


def test_agreement_is_judged_by_the_lower_end():
    assert_agreement(ALIKE, 0.99, coefficient="percent")
    with pytest.raises(AssertionError, match=r"krippendorff: .* at least 0.6 was expected"):
        assert_agreement(CHANCE, 0.6)
    with pytest.raises(ConfigError, match="coefficient must be one of percent"):
        assert_agreement(ALIKE, 0.5, coefficient="kappa")
