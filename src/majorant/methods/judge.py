"""Rules made of judges: one judge or the majority of several, or else the majority of all."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from majorant.kernels import Block, shares
from majorant.values import FloatArray


def find_judges(workers: Sequence[Hashable], rule: str) -> tuple[int, ...]:
    """The codes of the workers in a rule such as "ana+bo"; empty if it does not consist of worker names.

    >>> find_judges(["gpt", "gemini", "a+b"], "gpt+gemini"), find_judges(["gpt", "gemini", "a+b"], "a+b")
    ((0, 1), (2,))
    """
    place = {str(worker): j for j, worker in enumerate(workers)}
    names = [rule] if rule in place else rule.split("+")
    return tuple(place[name] for name in names) if all(name in place for name in names) else ()


def judge_shares(weight_j: FloatArray, block: Block) -> FloatArray:
    """Vote shares among the workers with weight 1 or, on items without their votes, among all workers."""
    matrix, n_classes = block.matrix, block.n_classes
    item_n = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    worker_n, label_n = np.divmod(matrix.indices, n_classes)
    cell_n, size = item_n * n_classes + label_n, (matrix.shape[0], n_classes)
    own_ik = np.bincount(cell_n, matrix.data * weight_j[worker_n], size[0] * size[1]).reshape(size).astype(float)
    all_ik = np.bincount(cell_n, matrix.data, size[0] * size[1]).reshape(size).astype(float)
    return shares(np.where(own_ik.any(axis=1, keepdims=True), own_ik, all_ik))
