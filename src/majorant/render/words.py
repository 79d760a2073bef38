"""Formatting of numbers and names for sentences and tables."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from majorant.values import Estimate


def percent(value: float, digits: int = 1) -> str:
    """0.816 as 81.6%."""
    return f"{100 * value:.{digits}f}%"


def level_percent(level: float) -> str:
    """A confidence level with all its digits.

    >>> level_percent(.95), level_percent(.999)
    ('95%', '99.9%')
    """
    return f"{100 * level:g}%"


def printable(text: str) -> str:
    """Escape characters that could move the cursor, change colours or reverse the direction of text."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def shown(value: Hashable) -> str:
    """A user's value for the terminal: control characters escaped, clipped."""
    longest_shown = 40  # of a user's value on the terminal
    text = printable(str(value))
    return text if len(text) <= longest_shown else text[: longest_shown - 1] + "…"


def quoted_number(label: Hashable) -> str:
    """A label in a sentence: quoted if it is a number, which could be mistaken for a count.

    >>> quoted_number(2), quoted_number("pass")
    ('"2"', 'pass')
    """
    text = shown(label)
    return f'"{text}"' if text.replace(".", "").isdigit() else text


def listed(names: Iterable[str]) -> str:
    """The first few names, and how many more there are."""
    most_listed = 8
    every = list(names)
    more = len(every) - most_listed
    return ", ".join(every[:most_listed]) + (f" and {more:,} more" if more > 0 else "")


def one_of(names: Sequence[str]) -> str:
    """Join names with commas and "and".

    >>> one_of(["a"]), one_of(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def count(number: int, thing: str) -> str:
    """A number with its noun, in the plural if needed.

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
    """A difference of accuracies in points, with its unit.

    >>> in_points(.0294)
    '2.9 points'
    """
    return f"{one_decimal(share)} points"


def signed_points(share: float) -> str:
    """A difference of accuracies in points, with its sign.

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


def points_and_ends(estimate: Estimate) -> str:
    """A size in points with its interval.

    >>> points_and_ends(Estimate(.021, .008, .033)), points_and_ends(Estimate(.0004))
    ('2.1 points (0.8 to 3.3)', '0.0 points')
    """
    text = in_points(estimate.value or 0.0)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} ({one_decimal(estimate.low)} to {one_decimal(estimate.high)})"


def about_points(share: float) -> str:
    """A best guess in points, rounded the way a person would say it.

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


def interval(estimate: Estimate, form: Callable[[float], str]) -> str:
    """The interval in brackets, or nothing if there is none."""
    return "" if estimate.low is None or estimate.high is None else f"[{form(estimate.low)}, {form(estimate.high)}]"


def with_interval(estimate: Estimate, form: Callable[[float], str]) -> str:
    """A number and its interval.

    >>> with_interval(Estimate(.97, .936, .989), percent)
    '97.0% [93.6%, 98.9%]'
    """
    return "" if estimate.value is None else f"{form(estimate.value)} {interval(estimate, form)}".rstrip()


def columns(rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,), indent: str = " " * 9) -> list[str]:
    """Rows of text as aligned columns; those in `left` are left-aligned, the others right-aligned."""
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    return [
        indent
        + "  ".join(
            cell.ljust(width) if c in left else cell.rjust(width)
            for c, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def gain_with_range(value: float, low: float, high: float) -> str:
    """An expected gain with its range.

    >>> gain_with_range(.09, .031, .148)
    'about 9 points better (+3 to +15)'
    """
    return f"{about_points(value)} better ({_whole(low)} to {_whole(high)})"


def whole_range(low: float, high: float) -> str:
    """The range of a gain that is open.

    >>> whole_range(-.012, .021)
    '-1 to +2 points'
    """
    return f"{_whole(low)} to {_whole(high)} points"


def _whole(share: float) -> str:
    """Points with a sign and without decimals."""
    points = round(100 * share)
    return f"{points:+d}" if points else "0"
