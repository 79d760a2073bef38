"""What the caller says of labels: the names of codes, their order, or a threshold that makes two classes of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from majorant.errors import ConfigError, DataError
from majorant.io.values import is_empty, sort_labels
from majorant.votes import Note


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """What the caller says of labels: the names of codes, their order, or a threshold that makes two classes."""

    order: tuple[str, ...] | None = None
    threshold: float | None = None
    codes: Mapping[str, str] | None = None  # as statistics packages keep labels: 1 means yes

    @classmethod
    def of(
        cls, order: str | Sequence[Any] | None, threshold: float | None, codes: str | Mapping[Any, Any] | None = None
    ) -> Scale:
        """The caller's words, checked.

        >>> Scale.of(None, None, "1=yes, 2=no").codes
        {'1': 'yes', '2': 'no'}
        """
        names_of_codes = _names_of_codes(codes)
        if threshold is not None and codes is not None:
            raise ConfigError("threshold= is for scores, and codes= names classes. Leave one out.")
        if order is None:
            return cls(threshold=threshold, codes=names_of_codes)
        if threshold is not None:
            raise ConfigError("threshold= makes two classes, so order= has no place. Leave one out.")
        names = [part.strip() for part in order.split(",")] if isinstance(order, str) else [str(one) for one in order]
        if len(set(names)) < len(names) or len(names) < 2:
            raise ConfigError(f"order= lists labels from lowest to highest, each once, not {','.join(names)!r}.")
        return cls(order=tuple(names), codes=names_of_codes)

    def note(self) -> Note | None:
        """What claims are about."""
        if self.threshold is not None:
            about = f"Every claim is about whether a score is at least {self.threshold:g}, not about its size."
            return Note("threshold", about)
        if self.order is not None:
            shown = " < ".join(self.order[:6])
            about = f"Every claim is about the exact label ({shown}), however far labels are apart; majorant scores"
            return Note("order", f"{about} measures distances.")
        return None

    def cut(self, value: Any, source: str) -> Any:
        """A code as the label that it means, a score as the class that it falls into."""
        if self.codes is not None and not is_empty(value):
            return self._named(value, source)
        if self.threshold is None or is_empty(value):
            return value
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise DataError(f"{source}: {value!r} is no number to hold against threshold={self.threshold}.") from None
        return f"at least {self.threshold:g}" if number >= self.threshold else f"below {self.threshold:g}"

    def _named(self, value: Any, source: str) -> str:
        assert self.codes is not None
        code = f"{value:g}" if isinstance(value, float) else str(value).strip()
        if code in self.codes:
            return self.codes[code]
        if code in self.codes.values():  # written out already
            return code
        raise DataError(
            f"{source}: code {value!r} has no name. List it in codes=, or say empty={code!r} if it means no vote."
        )

    def sorted(self, labels: list[Any], source: str) -> list[Any]:
        """Labels from lowest to highest, or as ever."""
        if self.threshold is not None:
            return sorted(labels, key=lambda label: not str(label).startswith("below"))
        if self.order is None:
            return sort_labels(labels)
        unknown = [label for label in labels if str(label) not in self.order]
        if unknown:
            raise DataError(
                f"{source}: label {unknown[0]!r} is not in order={','.join(self.order)!r}. List every label, lowest "
                "first."
            )
        return sorted(labels, key=lambda label: self.order.index(str(label)))  # type: ignore[union-attr]


def _names_of_codes(codes: str | Mapping[Any, Any] | None) -> dict[str, str] | None:
    if codes is None:
        return None
    if not isinstance(codes, str):
        return {str(code).strip(): str(name) for code, name in codes.items()}
    pairs = [part.partition("=") for part in codes.split(",")]
    found = {code.strip(): name.strip() for code, sign, name in pairs if sign and code.strip() and name.strip()}
    if len(found) != len(pairs):
        raise ConfigError(f"codes= names every code once, as in codes='1=yes,2=no', not {codes!r}.")
    return found
