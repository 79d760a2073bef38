"""Learn a correction from labels of items drawn uniformly, and draw the items on which it is judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from majorant.backend import Backend, fit_of_items
from majorant.errors import ConfigError, DataError
from majorant.estimate.fit import Fit
from majorant.gold.correct import learn
from majorant.gold.corrected import CORRECTED, CorrectedRule, corrected_fit
from majorant.gold.design import Design
from majorant.gold.draw import freeze, item_names, random_order, votes_digest
from majorant.gold.question import UNASKED
from majorant.gold.race import Race
from majorant.gold.written import WrittenLabels
from majorant.io.tasks import ExpertAnswer
from majorant.values import LEVEL, TOLERANCE

AFRESH = 0x6C65_6172  # the order is drawn apart from that of the items learned from


def draw_correction(
    backend: Backend,
    present: tuple[str, Fit],
    members: Mapping[str, Fit],
    learned_from: tuple[Design, Iterable[ExpertAnswer]],
    *,
    seed: int,
    tolerance: float = TOLERANCE,
    level: float = LEVEL,
    experts: str = "majority",
) -> Design:
    """Learn a correction from labels of items drawn uniformly, freeze it, and draw the items that judge it.

    `present` is the rule in use with its fit, `members` the models to reweight, fitted to votes alone.  `learned_from`
    must be a design that draws uniformly from all items: that of the accuracy of a rule.
    """
    uniform, answers = learned_from
    if not isinstance(uniform.question, WrittenLabels) or uniform.question.known.n_items:
        raise ConfigError("A correction is learned from labels of items drawn uniformly: ask with question='correct'.")
    answer_d = uniform.codes(answers)
    place = {str(name): item for item, name in enumerate(item_names(backend, np.arange(backend.votes.shape[0])))}
    item_d = np.array([place[str(name)] for name in uniform.order], dtype=np.int64)
    labelled, asked = item_d[answer_d >= 0], item_d[answer_d != UNASKED]
    if not len(labelled):
        raise DataError("No item of the design is labelled yet, so there is nothing to learn from.")
    if len(asked) == len(place):
        raise DataError("Every item taught the correction, so none is left to judge it: learn from fewer labels.")
    posterior_mnk = np.array([fit_of_items(backend, fit, labelled).posterior for fit in members.values()])
    correction = learn(posterior_mnk, answer_d[answer_d >= 0])
    rule, fit = present
    fits = {rule: fit, CORRECTED: corrected_fit(backend, members, correction)}
    frozen = freeze(backend, fits, seed)
    fresh = ~np.isin(frozen.item_d, asked)
    order = random_order(backend, frozen.item_d[fresh], seed ^ AFRESH)
    race = Race(
        rules=(rule, CORRECTED),
        label_rd=frozen.label_rd[:, fresh][:, order],
        differ_qr=np.array([[0, fresh.sum()], [fresh.sum(), 0]]),
        n_items=frozen.n_items - len(asked),
        tolerance=tolerance,
        level=level,
        lead_qr=frozen.lead_qr,
        decisive_qr=frozen.decisive_qr,
    )
    return Design(
        question=CorrectedRule(race=race, correction=correction, members=tuple(members)),
        order=item_names(backend, frozen.item_d[fresh][order]),
        labels=backend.votes.labels,
        votes=votes_digest(backend),
        seed=seed,
        experts=experts,
    )
