"""The largest likelihood among models in which majority vote is not optimal, by many climbs: a search, not a proof.

Votes tell a model only up to the names of its classes, so "not optimal" means: under no naming of the classes.  The
boundary of that set is made of comparisons that are even; peaks of the likelihood may lie inside it as well.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from majorant.certify.universal_inference.climb import climb
from majorant.certify.universal_inference.comparison import Comparisons, margins
from majorant.certify.universal_inference.table import LOG_ZERO, Models, Table, joined, logarithm
from majorant.theory.checks import FloatArray

N_RANDOM = 6  # starts that know nothing of the data
KEPT = 12  # climbs of each data set that go on to the end
SHORT = 6  # cycles after which the others are dropped
NAUGHT = 1e-7  # nats: a margin this close to 0 is on the boundary
SEED = 0x5EED  # the random starts are the same for all data


def likeliest(table: Table, items_bp: FloatArray) -> tuple[Models, FloatArray]:
    """The likeliest model found for each data set, and its log-likelihood."""
    found, value_bs = _peaks(table, items_bp)
    return _best(found, value_bs)


def not_optimal(table: Table, items_bp: FloatArray, comparisons: Comparisons) -> tuple[FloatArray, Models]:
    """The largest log-likelihood found for each data set among models in which majority is not optimal, and where."""
    free, free_bs = _peaks(table, items_bp)
    top, top_b = _best(free, free_bs)
    open_b = np.flatnonzero(~_is_null(top, comparisons))  # elsewhere the likeliest model is the answer
    if not len(open_b):
        return top_b, top
    items, start = items_bp[open_b], top.take(open_b)
    inside_bs = np.where(_is_null(free, comparisons).reshape(free_bs.shape), free_bs, -np.inf)
    inside, inside_b = _best(free, inside_bs)
    parts = [
        (inside.take(open_b), inside_b[open_b]),
        _best(*_without_a_class(table, items, start)),
        _best(*_even(table, items, start, comparisons)),
    ]
    top_b[open_b] = -np.inf
    for found, value_b in parts:
        better = value_b > top_b[open_b]
        top_b[open_b[better]] = value_b[better]
        for whole, part in zip(top, found, strict=True):
            whole[open_b[better]] = part[better]
    return top_b, top


def _best(models: Models, value_bs: FloatArray) -> tuple[Models, FloatArray]:
    """Of the models (B * S) of each data set the one with the largest value."""
    n_sets, n_each = value_bs.shape
    pick_b = value_bs.argmax(axis=1)
    return models.take(pick_b + n_each * np.arange(n_sets)), value_bs[np.arange(n_sets), pick_b]


def _peaks(table: Table, items_bp: FloatArray) -> tuple[Models, FloatArray]:
    """Local maxima of each likelihood among all models, (B * S), and their values, (B, S)."""
    others = _random_models(table)
    starts = [joined([one, others]) for one in _each(_by_shares(table, items_bp))]
    n_each = 1 + N_RANDOM
    found, value_c = climb(table, np.repeat(items_bp, n_each, axis=0), joined(starts))
    return found, value_c.reshape(-1, n_each)


def _without_a_class(table: Table, items_bp: FloatArray, top: Models) -> tuple[Models, FloatArray]:
    """Peaks among models that lack one of the classes: limits of models in which majority is not optimal."""
    n_sets, n_classes = top.log_prior_bk.shape
    start = top.take(np.repeat(np.arange(n_sets), n_classes))
    lacking = np.tile(np.eye(n_classes, dtype=bool), (n_sets, 1))
    start = Models(np.where(lacking, LOG_ZERO, start.log_prior_bk), start.log_table_bkf)
    found, value_c = climb(table, np.repeat(items_bp, n_classes, axis=0), start)
    return found, value_c.reshape(n_sets, n_classes)


def _even(table: Table, items_bp: FloatArray, top: Models, comparisons: Comparisons) -> tuple[Models, FloatArray]:
    """Climbs where a comparison is even: all for a while, the best KEPT of each data set to the end."""
    n_sets, n_comparisons, others = len(items_bp), len(comparisons), _random_models(table)
    starts = joined([joined([one, others]) for one in _each(top)])  # for each data set 1 + N_RANDOM
    set_c, comparison_c, start_c = (axis.ravel() for axis in np.indices((n_sets, n_comparisons, 1 + N_RANDOM)))
    begin = starts.take(set_c * (1 + N_RANDOM) + start_c)
    found, value_c = climb(table, items_bp[set_c], begin, comparisons.take(comparison_c), max_cycles=SHORT)
    ranked_bc = np.where(_is_null(found, comparisons), value_c, value_c - 1e9).reshape(n_sets, -1)
    kept = min(KEPT, ranked_bc.shape[1])
    pick_bc = np.argpartition(-ranked_bc, kept - 1, axis=1)[:, :kept]
    at = (pick_bc + ranked_bc.shape[1] * np.arange(n_sets)[:, None]).ravel()
    found, value_c = climb(table, items_bp[set_c[at]], found.take(at), comparisons.take(comparison_c[at]))
    return found, np.where(_is_null(found, comparisons), value_c, -np.inf).reshape(n_sets, kept)


def _is_null(models: Models, comparisons: Comparisons) -> NDArray[np.bool_]:
    return margins(comparisons, models) <= NAUGHT


def _each(models: Models) -> list[Models]:
    return [models.take(np.array([b])) for b in range(len(models.log_prior_bk))]


def _by_shares(table: Table, items_bp: FloatArray) -> Models:
    """The model of each data set that takes an item's shares of votes for its posterior."""
    share_pk = table.said_pf.reshape(len(table.said_pf), -1, table.n_classes).sum(axis=1)
    share_pk /= share_pk.sum(axis=1, keepdims=True)
    prior_bk = items_bp @ share_pk + 1e-3  # there may be no items
    votes_bkf = np.einsum("bp,pk,pf->bkf", items_bp, share_pk, table.said_pf) + 1e-3
    votes_bkhl = votes_bkf.reshape(*prior_bk.shape, -1, table.n_classes)
    table_bkf = (votes_bkhl / votes_bkhl.sum(axis=3, keepdims=True)).reshape(votes_bkf.shape)
    return Models(logarithm(prior_bk / prior_bk.sum(axis=1, keepdims=True)), np.log(table_bkf))


def _random_models(table: Table) -> Models:
    """Models drawn once and for all: classes of any share, voters from random to nearly always right."""
    rng, n_classes = np.random.default_rng(SEED), table.n_classes
    prior_sk = rng.dirichlet(np.full(n_classes, 1.5), size=N_RANDOM)
    noise = rng.dirichlet(np.ones(n_classes), size=(N_RANDOM, n_classes, table.n_voters))
    skill_s = np.linspace(0.0, 0.9, N_RANDOM)[:, None, None, None]
    table_skhl = skill_s * np.eye(n_classes)[:, None, :] + (1 - skill_s) * noise
    return Models(np.log(prior_sk), np.log(table_skhl).reshape(N_RANDOM, n_classes, -1))
