"""Several logs read together: which hold other items, and which other judges of the same items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Apart = tuple[str, str]  # what goes before the items of a log, and after its workers


def told_apart(names: Sequence[str], headers: Sequence[Mapping[str, Any] | None]) -> list[Apart]:
    """Items get the task or model where these differ between logs, judges the file where they would clash.

    >>> one = {"task": "t", "model": "m", "scorers": frozenset(["s"])}
    >>> told_apart(["a.json", "b.json"], [one, one])
    [('', ' in a'), ('', ' in b')]
    >>> told_apart(["a.json", "b.json"], [one, {**one, "model": "n"}])
    [('m: ', ''), ('n: ', '')]
    """
    known = [header for header in headers if header is not None]
    if len(known) < 2:
        return [("", "")] * len(names)
    differing = [key for key in ("task", "model") if len({str(header[key]) for header in known}) > 1]
    seen: dict[tuple[str, ...], list[frozenset[str]]] = {}
    for header in known:
        seen.setdefault(_prefix(header, differing), []).append(header["scorers"])
    clash = {prefix for prefix, sets in seen.items() if sum(map(len, sets)) > len(frozenset().union(*sets))}
    found: list[Apart] = []
    for name, said in zip(names, headers, strict=True):
        if said is None:
            found.append(("", ""))
            continue
        prefix = _prefix(said, differing)
        before = f"{', '.join(prefix)}: " if prefix else ""
        found.append((before, f" in {Path(name).name.split('.')[0]}" if prefix in clash else ""))
    return found


def _prefix(header: Mapping[str, Any], differing: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(header[key]) for key in differing)
