"""The panel behind a rate: numbers from the votes on each item, and bets on the labelled items.

The votes are read once, part by part; a few numbers per item and judge are kept.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from majorant.ask.rate import Bets, Features, offer_bets
from majorant.defaults import MAJORITY, WEIGHTED_VOTE
from majorant.evidence.rules import fit_rule
from majorant.items import map_parts
from majorant.methods.fit import Fit, chances
from majorant.results.rate_inputs import Codes, Labelled, Measure, Target, came_by_question, find_questions
from majorant.tally import counts, votes_by_worker
from majorant.values import FloatArray, lock
from majorant.votes import Votes, cut


@dataclass(frozen=True, slots=True)
class Reported:
    """The rate according to a rule or a judge, without any labels."""

    name: Hashable
    rate: float
    n_items: int
    judge: bool  # False for a rule over all judges


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Panel:
    """Votes on the items that have any, summarised as numbers in [0, 1]."""

    item_i: Codes  # codes of the items
    slice_i: Codes
    slices: tuple[Hashable, ...]
    rule_i: Mapping[str, FloatArray]  # the number of each item, by rule
    judges: tuple[Hashable, ...]
    sum_js: FloatArray  # sum over each judge's votes in each slice; the last column is for items without a slice
    votes_js: Codes
    features: Features

    def __post_init__(self) -> None:
        lock(self)

    @classmethod
    def of(cls, votes: Votes, target: Target) -> Panel:
        """Summarise the votes in one pass, after fitting the weighted vote."""
        most_judges = 60  # more are neither listed nor given coefficients
        fit = None
        _, n_workers, n_classes = votes.shape
        n_items = np.count_nonzero(votes.votes_i)
        votes_j = votes_by_worker(votes).sum(axis=1)
        if target.measure is Measure.SHARE and 1 < n_classes <= 20 and n_workers > 1:
            fit = fit_rule(WEIGHTED_VOTE, votes)
        # Judges who labelled at least 30% of the items get a coefficient.
        steady = np.flatnonzero(votes_j >= 0.3 * n_items)
        steady = steady if len(steady) <= most_judges else steady[:0]
        listed = n_workers if n_workers <= most_judges else 0
        parts = list(map_parts(partial(_summarise, target, steady, listed), votes, fit))
        item_i, slice_i, prediction_ip, rule_ir, judge_ij = (
            np.concatenate([part[field] for part in parts]) for field in range(5)
        )
        starts = np.array([start for start, _ in cut(votes.offsets_i)])
        item_i = item_i + np.repeat(starts, [len(part.item_i) for part in parts])
        names = ["mean of the judges"] if target.measure is Measure.SCORE else [MAJORITY]
        names += [] if fit is None else [WEIGHTED_VOTE]
        return cls(
            item_i=item_i,
            slice_i=slice_i,
            slices=votes.slices,
            rule_i={name: rule_ir[:, r] for r, name in enumerate(names)},
            judges=votes.workers[:listed],
            sum_js=np.sum([part.sum_js for part in parts], axis=0),
            votes_js=np.sum([part.votes_js for part in parts], axis=0),
            features=Features.of(prediction_ip, judge_ij, slice_i if votes.slices else None),
        )

    def reported(self, s: int | None, target: Target) -> tuple[Reported, ...]:
        """The rates of each rule and each judge on a slice, or on all items."""
        low, high = target.limits
        mine_i = np.ones(len(self.item_i), dtype=bool) if s is None else self.slice_i == s
        rates = [Reported(name, low + (high - low) * float(value_i[mine_i].mean()), int(mine_i.sum()), False)
                for name, value_i in self.rule_i.items()]  # fmt: skip
        sum_j, votes_j = (table.sum(axis=1) if s is None else table[:, s] for table in (self.sum_js, self.votes_js))
        for judge, total, n_votes in zip(self.judges, sum_j, votes_j, strict=True):
            if n_votes:
                rates.append(Reported(judge, low + (high - low) * float(total / n_votes), int(n_votes), True))
        return tuple(rates)


class _PartSummary(NamedTuple):
    """Summary of the votes in one part."""

    item_i: Codes
    slice_i: Codes
    prediction_ip: FloatArray
    rule_ir: FloatArray
    judge_ij: FloatArray  # of the steady judges; NaN where they did not vote
    sum_js: FloatArray
    votes_js: Codes


def _summarise(target: Target, steady: Codes, listed: int, votes: Votes, fit: Fit | None) -> _PartSummary:
    votes_i = np.asarray(votes.votes_i)
    item_i = np.flatnonzero(votes_i > 0)
    n_items = len(item_i)
    place_n, value_n = np.repeat(np.arange(n_items), votes_i[item_i]), target.of_votes(votes)
    mean_i = np.bincount(place_n, value_n, n_items) / votes_i[item_i]
    predictions = [mean_i]
    rules = [mean_i]
    if target.measure is not Measure.SCORE:
        rules = [target.of_classes(votes, chances(counts(votes).astype(float)))[item_i]]
    if fit is not None:
        posterior_ik = np.asarray(fit.posterior)
        predictions.append(target.of_classes(votes, posterior_ik)[item_i])
        rules.append(target.of_classes(votes, chances(posterior_ik))[item_i])
    judge_ij = np.full((n_items, len(steady)), np.nan)
    column_j = np.full(len(votes.workers), -1)
    column_j[steady] = np.arange(len(steady))
    own = np.flatnonzero(column_j[votes.worker_n] >= 0)
    judge_ij[place_n[own], column_j[votes.worker_n[own]]] = value_n[own]
    slice_i = np.zeros(n_items, np.int64) if votes.slice_i is None else votes.slice_i[item_i].astype(np.int64)
    shape = (len(votes.workers) if listed else 0, len(votes.slices) + 1)
    cell_n = votes.worker_n.astype(np.int64) * shape[1] + slice_i[place_n] % shape[1] if listed else place_n[:0]
    weight_n = value_n if listed else value_n[:0]
    return _PartSummary(
        item_i=item_i,
        slice_i=slice_i,
        prediction_ip=np.stack(predictions, axis=1),
        rule_ir=np.stack(rules, axis=1),
        judge_ij=judge_ij,
        sum_js=np.bincount(cell_n, weight_n, shape[0] * shape[1]).astype(float).reshape(shape),
        votes_js=np.bincount(cell_n, minlength=shape[0] * shape[1]).reshape(shape),
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sample:
    """Labels in order, and the predictor learned before each of them.

    `question_i` is set if labels came question by question, which means that questions were drawn, not items.
    """

    item_t: Codes
    y_t: FloatArray
    learned_td: FloatArray
    features: Features
    question_i: Codes | None

    def __post_init__(self) -> None:
        lock(self)

    @classmethod
    def of(cls, panel: Panel, votes: Votes, target: Target, labelled: Labelled) -> Sample:
        place_i = np.full(votes.shape[0], -1, dtype=np.int64)
        place_i[panel.item_i] = np.arange(len(panel.item_i))
        given = [(int(place_i[item]), value) for item, value in zip(labelled.item_t, labelled.values, strict=True)]
        given = [(place, value) for place, value in given if place >= 0]
        item_t = np.array([place for place, _ in given], dtype=np.int64)
        y_t = np.array([
            np.nan if value is None else target.of_gold(votes, int(panel.item_i[place]), value)
            for place, value in given
        ], dtype=float)  # fmt: skip
        common = (code_i[panel.item_i] for code_i in find_questions(votes))
        return cls(
            item_t=item_t,
            y_t=y_t,
            learned_td=panel.features.learn(item_t, y_t),
            features=panel.features,
            question_i=next((code_i for code_i in common if came_by_question(code_i, item_t)), None),
        )

    def bets(self, coefficient_i: FloatArray) -> tuple[Bets, int]:
        """Bets on the mean of coefficient times y over units with coefficients, and the number of labels used.

        A unit is an item or, if labels came question by question, all items of a question.
        """
        pool = np.flatnonzero(coefficient_i)
        unit_of = np.arange(len(pool)) if self.question_i is None else self.question_i[pool]
        _, unit_p = np.unique(unit_of, return_inverse=True)
        n_units, weight_p = int(unit_p.max(initial=-1)) + 1, coefficient_i[pool]
        place_i = np.full(len(coefficient_i), -1, dtype=np.int64)
        place_i[pool] = np.arange(len(pool))
        mine = np.flatnonzero(place_i[self.item_t] >= 0)
        at_t = place_i[self.item_t[mine]]
        y_p = np.full(len(pool), np.nan)
        y_p[at_t] = self.y_t[mine]
        y_u = np.bincount(unit_p, weight_p * y_p, n_units)  # NaN until every item of the unit is labelled
        first, at = np.unique(unit_p[at_t], return_index=True)
        by_time = np.argsort(at)
        unit_t, label_t = first[by_time], mine[at[by_time]]
        features_pd = self.features.value_id[pool]

        def predictions() -> Iterator[FloatArray]:
            before_d: FloatArray | None = None
            predicted_u: FloatArray = np.empty(0)
            for coefficient_d in self.learned_td[[*label_t, len(self.learned_td) - 1]]:
                if before_d is None or (coefficient_d != before_d).any():
                    predicted_p = np.clip(features_pd @ coefficient_d, 0.0, 1.0)
                    predicted_u = np.bincount(unit_p, weight_p * predicted_p, n_units).astype(float)
                    before_d = coefficient_d
                yield predicted_u

        low_u = np.bincount(unit_p, np.minimum(weight_p, 0.0), n_units)
        high_u = np.bincount(unit_p, np.maximum(weight_p, 0.0), n_units)
        bets = offer_bets(predictions(), unit_t, y_u[unit_t], n=n_units, low_i=low_u, high_i=high_u)
        return bets, int(np.isfinite(self.y_t[mine]).sum())
