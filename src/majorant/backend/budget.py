"""How much memory a run may take: read from text, shared out, and refused where it cannot be enough."""

from __future__ import annotations

import re

from majorant.errors import ConfigError

UNITS = {"": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9, "t": 10**12,
         "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}  # fmt: skip
BASE = 400_000_000  # Python, NumPy, Arrow and DuckDB, and the batches on their way between them


def parse_memory(text: str) -> int:
    """Bytes from a text such as 2GB, 500MB or 1.5GiB.

    >>> parse_memory("2GB"), parse_memory("1.5 GiB")
    (2000000000, 1610612736)
    """
    memory = parse_size(text, "memory")
    require(BASE, memory, "to read votes at all")
    return memory


def parse_size(text: str, argument: str) -> int:
    """Bytes from a text; `argument` is what a message calls it.

    >>> parse_size("20kB", "limit")
    20000
    """
    matched = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-zA-Z]*)\s*", text)
    if matched is None or matched[2].lower() not in UNITS:
        raise ConfigError(f"{argument}={text!r}: give a size such as 2GB or 500MB.")
    return int(float(matched[1]) * UNITS[matched[2].lower()])


def require(needed: float, memory: int, what: str) -> None:
    """Refuse a limit that is too small, and say the smallest one that is not."""
    if needed > memory:
        raise ConfigError(
            f"memory='{spell(memory)}' is too little {what}: it takes at least {spell(needed, up=True)}. Give more, or "
            "work on a part of the items."
        )


def spell(n_bytes: float, *, up: bool = False) -> str:
    """A size in words that `parse_memory` reads, rounded up where asked.

    >>> spell(2_000_000_000), spell(1_234_000_000, up=True)
    ('2GB', '1.3GB')
    """
    unit, name = (10**9, "GB") if n_bytes >= 10**9 else (10**6, "MB")
    size = n_bytes / unit
    if up:
        size = -(-size * 10 // 1) / 10 if unit == 10**9 else -(-size // 1)
    return f"{round(size, 2):g}{name}"
