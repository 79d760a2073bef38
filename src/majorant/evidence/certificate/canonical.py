"""A canonical order of items, workers and labels, so that random draws do not depend on the order of the rows.

Every item, worker and label gets a signature that depends only on who agreed with whom on what (color refinement on the
graph of votes). Sorting by signature gives the same arrays for the same votes, regardless of row order
and of names. Items, workers or labels with the same signature are interchangeable, except for symmetries that do not
occur in real votes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.items import Keys, mix_bits
from majorant.methods.fit import Fit
from majorant.tally import counts
from majorant.votes import IntArray, Votes


class Canonical(NamedTuple):
    """Votes in canonical order, and the new codes of the original workers and labels."""

    votes: Votes
    worker_j: NDArray[np.int64]
    label_k: NDArray[np.int64]

    def restore(self, fit: Fit) -> Fit:
        """Put workers and labels of a fit to the canonical votes back in their original order, but not its items."""
        confusion = fit.confusion
        if confusion is not None:
            by_worker = confusion[self.worker_j] if confusion.ndim == 3 else confusion
            confusion = by_worker[..., self.label_k[:, None], self.label_k]
        names = tuple(fit.label_values[k] for k in self.label_k)
        posterior_ik, prior_k = fit.posterior[:, self.label_k], fit.prior[self.label_k]
        return replace(fit, posterior=posterior_ik, prior=prior_k, confusion=confusion, label_values=names)


def canonical_order(votes: Votes) -> Canonical:
    """Put votes in an order that does not depend on the order of rows or on names.

    >>> one = Votes.from_codes([0, 0, 1], [0, 1, 0], [1, 1, 0], items="ab", workers="wx", labels="ny")
    >>> two = Votes.from_codes([1, 0, 1], [0, 1, 1], [0, 1, 0], items="ba", workers="xw", labels="yn")
    >>> [canonical_order(some).votes.worker_n.tolist() for some in (one, two)]
    [[0, 1, 0], [0, 1, 0]]
    """
    signature_i, signature_j, signature_k = _signatures(votes)
    order_i, order_j, order_k = (np.argsort(key, kind="stable") for key in (signature_i, signature_j, signature_k))
    place_i, place_j, place_k = (_inverse(order) for order in (order_i, order_j, order_k))
    item_n, worker_n, label_n = place_i[votes.item_n], place_j[votes.worker_n], place_k[votes.label_n]
    vote_n = np.lexsort((label_n, worker_n, item_n))
    ordered = Votes(
        item_n=item_n[vote_n],
        worker_n=worker_n[vote_n],
        label_n=label_n[vote_n],
        offsets_i=np.concatenate([[0], np.cumsum(votes.votes_i[order_i])]),
        items=tuple(map(votes.items.__getitem__, order_i.tolist())),
        workers=tuple(map(votes.workers.__getitem__, order_j.tolist())),
        labels=tuple(map(votes.labels.__getitem__, order_k.tolist())),
        account=votes.account,
        gold_i=None if votes.gold_i is None else np.append(place_k, -1)[votes.gold_i[order_i]],
    )
    return Canonical(ordered, place_j, place_k)


def _signatures(votes: Votes) -> tuple[Keys, Keys, Keys]:
    """Signatures of the items, the workers and the labels."""
    codes = (votes.item_n, votes.worker_n, votes.label_n)
    by_item, by_worker, by_label = (_Groups.of(code_n, size) for code_n, size in zip(codes, votes.shape, strict=True))
    agreeing_n = counts(votes)[votes.item_n, votes.label_n].astype(np.uint64)
    first_n = mix_bits(agreeing_n * np.uint64(1 << 32) + by_item.sizes.astype(np.uint64)[votes.item_n])
    signature_i, signature_j, signature_k = (mix_bits(group.sums(first_n)) for group in (by_item, by_worker, by_label))
    n_known = 0
    for _ in range(8):  # two or three rounds suffice
        label_n = mix_bits(signature_k)[votes.label_n]
        of_item_n = mix_bits(mix_bits(signature_j)[votes.worker_n] * np.uint64(3) + label_n)
        of_worker_n = mix_bits(mix_bits(signature_i)[votes.item_n] * np.uint64(5) + label_n)
        signature_k = mix_bits(signature_k + by_label.sums(mix_bits(of_item_n + of_worker_n)))
        signature_i = mix_bits(signature_i + by_item.sums(of_item_n))
        signature_j = mix_bits(signature_j + by_worker.sums(of_worker_n))
        if votes.gold_i is not None:
            signature_i = mix_bits(signature_i + np.append(mix_bits(signature_k), np.uint64(0))[votes.gold_i])
        n_before, n_known = n_known, sum(len(np.unique(one)) for one in (signature_i, signature_j, signature_k))
        if n_known <= n_before:
            break
    return signature_i, signature_j, signature_k


class _Groups(NamedTuple):
    """The votes grouped by item, worker or label."""

    order_n: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, code_n: IntArray, n_codes: int) -> _Groups:
        """Group votes by one of their codes."""
        return cls(np.argsort(code_n, kind="stable"), np.bincount(code_n, minlength=n_codes))

    def sums(self, key_n: Keys) -> Keys:
        """Sums modulo 2**64, which do not depend on the order of the votes."""
        running_n = np.concatenate([np.zeros(1, np.uint64), np.cumsum(key_n[self.order_n], dtype=np.uint64)])
        return np.asarray(np.diff(running_n[np.concatenate([[0], np.cumsum(self.sizes)])]))


def _inverse(order: NDArray[np.int64]) -> NDArray[np.int64]:
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place
