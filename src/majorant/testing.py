"""Assertions for a project's own tests: that votes give the expected answer, or enough agreement.

They work in pytest, unittest or a plain script: if one fails, the AssertionError says what was found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from majorant.decide import Action
from majorant.defaults import LEVEL, TOLERANCE
from majorant.errors import ConfigError
from majorant.pipeline import check
from majorant.read import Reading
from majorant.render.agreement import COEFFICIENTS
from majorant.render.missing import missing_text
from majorant.render.text import answer_text
from majorant.results.agreement import agreement

if TYPE_CHECKING:
    from majorant.results.result import Result


def assert_answer(
    votes: Any, *allowed: str, level: float = LEVEL, tolerance: float = TOLERANCE, **reading: Unpack[Reading]
) -> Result:
    """Assert that `check` gives one of the `allowed` answers (keep, switch), and return its result.

    `votes` is anything that `mj.read` accepts, with the same arguments, such as a `gold_file` of items drawn by
    `mj.ask`. The seed is fixed, so the same votes always give the same answer.

    >>> rows = [(item, worker, item % 2) for item in range(20) for worker in "abc"]
    >>> str(assert_answer(rows, "keep").answer.certainty)
    'same'
    >>> assert_answer(rows, "switch")
    Traceback (most recent call last):
    AssertionError: keep, not switch:
    Answer   Keep majority vote...
    """
    actions = [str(action) for action in Action]
    if not allowed or any(action not in actions for action in allowed):
        raise ConfigError(f"Name the allowed answers (of {', '.join(actions)}), as in assert_answer(votes, 'keep').")
    result = check(votes, level=level, tolerance=tolerance, **reading)
    if result.answer.action not in allowed:
        text = answer_text(result)
        raise AssertionError(f"{result.answer.action}, not {' or '.join(allowed)}:\n{text}")
    return result


def assert_agreement(
    votes: Any, at_least: float, *, coefficient: str = "krippendorff", level: float = LEVEL, **reading: Unpack[Reading]
) -> None:
    """Assert that an agreement coefficient is at least `at_least` at the lower end of its interval.

    `coefficient` is percent, krippendorff, fleiss, cohen or gwet; docs/agreement.md explains them.

    >>> rows = [(item, worker, item % 2) for item in range(20) for worker in "abc"]
    >>> assert_agreement(rows, .8, coefficient="gwet")
    """
    if coefficient not in COEFFICIENTS:
        raise ConfigError(f"coefficient must be one of {', '.join(COEFFICIENTS)}, not {coefficient!r}.")
    estimate = getattr(agreement(votes, level=level, **reading), coefficient)
    if estimate.low is None or estimate.low < at_least:
        shown = (
            missing_text(estimate.reason)
            if estimate.low is None
            else f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
        )
        raise AssertionError(f"{coefficient}: {shown}; at least {at_least:g} was expected.")
