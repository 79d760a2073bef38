"""Simulation sizes: full in `make long`, which runs every test, and reduced in `make test`."""

LONG = False  # conftest.py says


def many(n: int, *, quick: int | None = None) -> int:
    """`n` models, runs or examples in a long run; in a quick one so many, or a tenth."""
    return n if LONG else -(-n // 10) if quick is None else quick
