"""Numbers as a person says them."""

from __future__ import annotations

from majorant.values import Estimate


def count(number: int, thing: str) -> str:
    """A number of things.

    >>> count(1, "item"), count(1200, "label")
    ('1 item', '1,200 labels')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def one_decimal(share: float) -> str:
    """A difference of accuracies in points, with one decimal.

    >>> one_decimal(.0294), one_decimal(-.00001)
    ('2.9', '0.0')
    """
    return f"{100 * share:.1f}".replace("-0.0", "0.0")


def in_points(share: float) -> str:
    """The same with its unit.

    >>> in_points(.0294)
    '2.9 points'
    """
    return f"{one_decimal(share)} points"


def signed_points(share: float) -> str:
    """The same with its sign.

    >>> signed_points(.03), signed_points(-.002), signed_points(0.0)
    ('+3.0', '-0.2', '0.0')
    """
    text = f"{100 * share:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def points_range(gain: Estimate) -> str:
    """A gain with its range.

    >>> points_range(Estimate(.03, .024, .036)), points_range(Estimate(.03, .03, .03))
    ('+3.0 points (+2.4 to +3.6)', '+3.0 points')
    """
    text = "" if gain.value is None else f"{signed_points(gain.value)} points"
    if gain.low is None or gain.high is None or gain.low == gain.high:
        return text
    ends = f"{signed_points(gain.low)} to {signed_points(gain.high)}"
    return f"{text} ({ends})" if text else f"{ends} points"


def about_points(share: float) -> str:
    """A best guess in points, rounded the way one would say it.

    >>> about_points(.0212), about_points(.006), about_points(.011)
    ('about 2 points', 'about half a point', 'about 1 point')
    """
    points = 100 * share
    if points < 0.3:
        return "slightly"
    if points < 0.75:
        return "about half a point"
    whole = round(points)
    return f"about {whole} point{'' if whole == 1 else 's'}"


def percent_of(part: int, whole: int) -> str:
    """A share in percent; small shares keep a decimal.

    >>> percent_of(1, 240), percent_of(50, 100)
    ('0.4%', '50%')
    """
    share = 100 * part / whole if whole else 0.0
    return f"{share:.1f}%" if 0 < share < 10 else f"{share:.0f}%"
