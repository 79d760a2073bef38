"""What training makes of its items: the likeliest model, and simpler ones on the way to voters or labels all alike.

A numerator of an e-value may be any density that training can name, so also the mean of several: it costs at most the
logarithm of their number, and where voters are much alike, or errors spread evenly, it saves what many parameters
learnt from few items lose.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from majorant.certify.universal_inference.search import likeliest
from majorant.certify.universal_inference.table import Models, Table
from majorant.theory.checks import FloatArray

PSEUDO = 0.5  # votes of each label and items of each class that training adds: no test item is ruled out
SIMPLER = (0.0, 0.5, 1.0)  # shares of the way to the simpler model


def learnt(table: Table, items_bp: FloatArray) -> list[Models]:
    """For each share of SIMPLER one model of each data set, no probability 0."""
    full = best_named(_smoothed(likeliest(table, items_bp)[0], table, items_bp), table)
    full_bkf, simple_bkf = np.exp(full.log_table_bkf), _simple(full, table)
    return [Models(full.log_prior_bk, np.log((1 - share) * full_bkf + share * simple_bkf)) for share in SIMPLER]


def best_named(models: Models, table: Table) -> Models:
    """The models with their classes named so that voters are right most often."""
    n_classes, label = table.n_classes, np.arange(table.n_classes)
    own_bkl = np.exp(models.log_table_bkf).reshape(-1, n_classes, table.n_voters, n_classes).sum(axis=2)
    order_sk = np.array(list(permutations(range(n_classes))))
    order_bk = order_sk[own_bkl[:, order_sk, label].sum(axis=2).argmax(axis=1)]
    return Models(
        np.take_along_axis(models.log_prior_bk, order_bk, axis=1),
        np.take_along_axis(models.log_table_bkf, order_bk[:, :, None], axis=1),
    )


def _simple(models: Models, table: Table) -> FloatArray:
    """Of a panel the mean voter; of a crowd one chance of being right, and errors spread evenly."""
    n_classes = table.n_classes
    table_bkhl = np.exp(models.log_table_bkf).reshape(-1, n_classes, table.n_voters, n_classes)
    if table.n_voters > 1:
        return np.tile(table_bkhl.mean(axis=2), table.n_voters)
    right_bk = np.diagonal(table_bkhl[:, :, 0], axis1=1, axis2=2)
    right_b = (np.exp(models.log_prior_bk) * right_bk).sum(axis=1)[:, None, None]
    same = np.eye(n_classes)
    return np.asarray(right_b * same + (1 - right_b) / (n_classes - 1) * (1 - same))


def _smoothed(models: Models, table: Table, items_bp: FloatArray) -> Models:
    """The models with PSEUDO more votes in every cell of every voter's matrix, and as many items in each class."""
    n_classes = table.n_classes
    votes_ph = table.said_pf.reshape(len(table.said_pf), -1, n_classes).sum(axis=2)
    prior_bk = np.exp(models.log_prior_bk)
    weight_bkh = prior_bk[:, :, None] * (items_bp @ votes_ph)[:, None, :]
    table_bkhl = np.exp(models.log_table_bkf).reshape(*weight_bkh.shape, n_classes)
    table_bkhl = (table_bkhl * weight_bkh[..., None] + PSEUDO) / (weight_bkh[..., None] + PSEUDO * n_classes)
    items_bk = prior_bk * items_bp.sum(axis=1, keepdims=True) + PSEUDO
    log_prior_bk = np.log(items_bk / items_bk.sum(axis=1, keepdims=True))
    return Models(log_prior_bk, np.log(table_bkhl).reshape(models.log_table_bkf.shape))
