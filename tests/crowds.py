"""Small random crowds for tests."""

from majorant.votes import Votes


def random_votes(rng, *, n_items=60, n_workers=9, n_classes=3, n_votes=300, gold=False):
    """Votes in random order and number per item; some items may hold none, some workers may vote twice on one."""
    return Votes.from_codes(
        rng.integers(n_items, size=n_votes),
        rng.integers(n_workers, size=n_votes),
        rng.integers(n_classes, size=n_votes),
        items=[f"item {i}" for i in range(n_items)],
        workers=[f"worker {j}" for j in range(n_workers)],
        labels=[f"label {k}" for k in range(n_classes)],
        gold=rng.integers(-1, n_classes, size=n_items) if gold else None,
    )
