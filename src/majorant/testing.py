"""Assertions for a project's own tests: the answer, and the agreement, that votes must give.

They work in pytest, unittest or a plain script: what does not hold is an AssertionError that says what was found.
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
    """Assert that `check` answers with one of the `allowed` actions (keep, switch), and return its result.

    `votes` is whatever `mj.read` takes, with the same arguments, among them a `gold_file` of labels that `mj.ask` drew.
    Same votes, same answer: the seed is fixed.

    >>> rows = [(item, worker, item % 2) for item in range(20) for worker in "abc"]
    >>> str(assert_answer(rows, "keep").answer.certainty)
    'unknown'
    >>> assert_answer(rows, "switch")
    Traceback (most recent call last):
    AssertionError: keep, not switch:
    Answer   Keep majority vote...
    """
    actions = [str(action) for action in Action]
    if not allowed or any(action not in actions for action in allowed):
        raise ConfigError(f"Name the answers that are allowed, of {', '.join(actions)}: assert_answer(votes, 'keep').")
    result = check(votes, level=level, tolerance=tolerance, **reading)
    if result.answer.action not in allowed:
        text = answer_text(result)
        raise AssertionError(f"{result.answer.action}, not {' or '.join(allowed)}:\n{text}")
    return result


def assert_agreement(
    votes: Any, at_least: float, *, coefficient: str = "krippendorff", level: float = LEVEL, **reading: Unpack[Reading]
) -> None:
    """Assert that a coefficient of agreement is at least so high: the lower end of its interval, not the estimate.

    `coefficient` is percent, krippendorff, fleiss, cohen or gwet: docs/agreement.md says which says what.

    >>> rows = [(item, worker, item % 2) for item in range(20) for worker in "abc"]
    >>> assert_agreement(rows, .8, coefficient="gwet")
    """
    if coefficient not in COEFFICIENTS:
        raise ConfigError(f"coefficient: one of {', '.join(COEFFICIENTS)}, not {coefficient!r}.")
    estimate = getattr(agreement(votes, level=level, **reading), coefficient)
    if estimate.low is None or estimate.low < at_least:
        shown = (
            missing_text(estimate.reason)
            if estimate.low is None
            else f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
        )
        raise AssertionError(f"{coefficient}: {shown}; at least {at_least:g} is wanted.")
