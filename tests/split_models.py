"""Models, tables and draws for split e-values: crowds of any number of classes, and panels, as tables of patterns."""

from itertools import product
from math import factorial

import numpy as np

from majorant.evidence.certificate.constrained_likelihood import (
    VoteTable,
    ballot_comparisons,
    count_comparisons,
    panel_comparisons,
)
from majorant.evidence.certificate.design import WorkerSets
from majorant.evidence.certificate.universal_inference import weigh_comparisons

NOISE = {
    3: np.array([[0.7, 0.2, 0.1], [0.15, 0.75, 0.1], [0.1, 0.2, 0.7]]),
    4: np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.15, 0.05], [0.05, 0.1, 0.75, 0.1], [0.1, 0.1, 0.15, 0.65]]),
}


def crowd(n_classes, n_votes):
    """Every vector of counts, its comparisons, and in how many orders its votes can come."""
    count_pl = np.array([n for n in product(range(n_votes + 1), repeat=n_classes) if sum(n) == n_votes])
    orders_p = [factorial(n_votes) / np.prod([float(factorial(n)) for n in count_l]) for count_l in count_pl]
    return VoteTable(count_pl.astype(float), n_classes), count_comparisons(n_classes, [n_votes]), np.array(orders_p)


def panel(n_classes, n_workers, *, named):
    """Every ballot of a panel, its comparisons for rules that know or ignore who voted."""
    ballot_ph = np.array(list(product(range(n_classes), repeat=n_workers)))
    sets = [WorkerSets(n_votes=n_workers, worker_sh=np.arange(n_workers)[None], items_s=np.ones(1))]
    comparisons = (ballot_comparisons if named else panel_comparisons)(n_classes, n_workers, sets)
    votes_pf = np.eye(n_classes)[ballot_ph].reshape(len(ballot_ph), -1)
    return VoteTable(votes_pf, n_classes), comparisons, np.ones(len(ballot_ph))


def pattern_chances(table, orders_p, prior, confusions):
    """P(pattern), added up class by class from products of probabilities."""
    confusion_hkl = np.reshape(confusions, (-1, len(prior), len(prior)))
    table_kf = np.moveaxis(confusion_hkl, 0, 1).reshape(len(prior), -1)
    given_pk = np.prod(table_kf[None] ** table.votes_pf[:, None, :], axis=2)
    chance_p = orders_p * (given_pk @ np.asarray(prior))
    return chance_p / chance_p.sum()


def weights(kind, prior, confusions, n_items, runs, rng):
    """What is found in each of `runs` data sets drawn from one model; kind: table, comparisons, orders."""
    table, comparisons, orders_p = kind
    chance_p = pattern_chances(table, orders_p, prior, confusions)
    for _ in range(runs):
        items_p = rng.multinomial(n_items, chance_p).astype(float)
        yield weigh_comparisons(table, items_p, comparisons, rng)


def one_coins(*skill):
    return np.array([[[right, 1 - right], [1 - right, right]] for right in skill])
