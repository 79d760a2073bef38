"""Numbers in place of names, for results that are shared."""

from __future__ import annotations

from dataclasses import replace

from majorant.votes import Account, Note, Votes

NAMING = ("gold-unknown-items", "unlabelled-items", "silent-workers")  # notes that list items or workers


def mask(votes: Votes) -> Votes:
    """The same votes, items and workers numbered from 1 in the order in which they first appear; labels stay.

    >>> votes = Votes.from_codes([0, 1], [0, 0], [0, 1], items=["x.jpg", "y.jpg"], workers=["ann"], labels="ny")
    >>> mask(votes).items, mask(votes).workers
    ((1, 2), (1,))
    """
    n_items, n_workers, _ = votes.shape
    items, workers = tuple(range(1, n_items + 1)), tuple(range(1, n_workers + 1))
    return replace(votes, items=items, workers=workers, account=mask_account(votes.account), text=None)


def mask_account(account: Account) -> Account:
    """The same account, without the names of items and workers."""
    notes = tuple(
        Note(note.kind, note.text.split(": ")[0] + ".") if note.kind in NAMING else note for note in account.notes
    )
    return replace(account, notes=notes)
