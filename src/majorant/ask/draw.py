"""Draw a design on any backend: the rules' labels where they differ, and a random order of items.

Items are put in order by numbers that depend on their names and the seed alone, so the same design is drawn in memory,
from files and on a cluster, whatever the order of the rows.  Items whose votes are tied are no part of a comparison:
they are decided the same way under every rule.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.ask.accuracy import AIM, NOTHING, Known, WrittenLabels
from majorant.ask.design import Design
from majorant.ask.learn import LEARNED, LEAST_LABELS, gold_labels, learn_rule
from majorant.ask.question import SKIPPED, UNASKED, Codes, Question
from majorant.ask.race import Race
from majorant.ask.session import Session, untied_labels
from majorant.backend import Backend, Part, fit_of_items, rows_alone
from majorant.defaults import LEVEL, MAJORITY, TOLERANCE, WEIGHTED_VOTE
from majorant.errors import ConfigError, DataError
from majorant.items import mix_bits, name_hashes, take_items
from majorant.methods import ESTIMATORS
from majorant.methods.fit import Fit, chances
from majorant.read.tasks import ExpertAnswer
from majorant.tally import counts, tied
from majorant.values import FloatArray
from majorant.votes import Votes

MOST = 20_000  # maximum length of a design's order
WHOLE_ORDER = 1_000_000  # up to so many items all are put in order; of more, those that come first
MODELS = {LEARNED, WEIGHTED_VOTE, *ESTIMATORS} - {MAJORITY}  # rules that know probabilities
DECIMALS = 9  # of figures for planning: sums over parts differ in their last digit, designs must not


def draw_rules(
    backend: Backend,
    fits: Mapping[str, Fit],
    *,
    seed: int,
    favourite: str | None = None,
    tolerance: float = TOLERANCE,
    level: float = LEVEL,
    experts: str = "majority",
    tie_worth: float | None = None,
) -> Design:
    """A design that tells which of these rules is best; the first is the one in use, the favourite the one advised.

    Nothing is asked yet: `more(n)` asks.  The rules must be fixed before any expert label is seen.
    """
    if len(fits) < 2:
        raise ConfigError("A comparison needs at least two rules.")
    frozen = freeze(backend, fits)
    order = random_order(backend, frozen.item_d, seed)
    question = _race(fits, frozen, order, favourite=favourite, tolerance=tolerance, level=level)
    question = replace(question, tie_worth=tie_worth)
    return make_design(backend, question, frozen.item_d[order], seed, experts)


class Planned(NamedTuple):
    """About how many labels settle a question, and how many there are to ask for."""

    labels: int
    most: int


def planned_labels(backend: Backend, fits: Mapping[str, Fit], *, tolerance: float, level: float) -> Planned:
    """About how many labels settle which of two rules is better: what the design of `draw_rules` would say."""
    frozen = freeze(backend, fits)
    order = np.arange(len(frozen.item_d))
    race = _race(fits, frozen, order, favourite=None, tolerance=tolerance, level=level)
    return Planned(race.expected(), race.size)


def draw_accuracy(
    backend: Backend,
    rule: str,
    fit: Fit,
    *,
    seed: int,
    aim: float = AIM,
    level: float = LEVEL,
    experts: str = "majority",
    after: tuple[Design, Iterable[ExpertAnswer]] | None = None,
) -> Design:
    """A design that bounds the accuracy of a rule's labels: items drawn uniformly from those with votes.

    `after` is a race and its answers: the items labelled there count exactly, and the order of the others is drawn
    afresh, so the rule may be the one that the race chose.
    """
    known, seen = NOTHING, np.empty(0, dtype=np.int64)
    voted = np.concatenate(list(backend.map(_voted, doing="comparing")))
    if after is not None:
        known, labelled = _known(rule, *after)
        seen = np.sort(_codes(backend, labelled))
    rest = voted[~np.isin(voted, seen)]
    fresh_seed = seed ^ 0x6672_6573  # apart from that of a race
    item_d = rest[random_order(backend, rest, fresh_seed)]
    posterior_dk = fit_of_items(backend, fit, item_d).posterior
    question = WrittenLabels(
        rule=rule,
        label_d=_coin_labels(posterior_dk, item_names(backend, item_d)),
        n_items=len(voted),
        known=known,
        aim=aim,
        level=level,
        confidence=round(float(posterior_dk.max(axis=1).mean()), DECIMALS) if len(item_d) else 1.0,
    )
    return make_design(backend, question, item_d, seed, experts)


def draw_session(
    backend: Backend,
    weighted: Fit,
    *,
    seed: int,
    baseline: str,
    tolerance: float = TOLERANCE,
    level: float = LEVEL,
    experts: str = "majority",
    tie_worth: float | None = None,
) -> Design:
    """A design whose first labels teach a rule and whose later ones prove it.

    `weighted` is the weighted vote on these votes, `baseline` the rule that would be used without labels.  Where gold
    labels came with the votes and teach a better rule, the design goes on to prove it on the items without.
    """
    voted = np.concatenate(list(backend.map(_voted, doing="comparing")))
    if not len(voted):
        raise DataError("No item has a vote.")
    gold_p, truth_p = gold_labels(backend)
    by_gold = len(gold_p) >= LEAST_LABELS
    if by_gold:
        voted = voted[~np.isin(voted, gold_p)]
        if not len(voted):
            raise DataError("Every item has a gold label: there is nothing left to label.")
    order = voted[random_order(backend, voted, seed)]
    rising = np.argsort(order)
    place = np.argsort(rising)
    some = take_items(backend.take(order[rising]), place)
    used = sorted(np.unique(some.worker_n).tolist(), key=lambda j: str(some.workers[j]))
    code_j = np.zeros(len(some.workers), dtype=np.int64)
    code_j[used] = np.arange(len(used))
    by_name = np.lexsort((some.label_n, code_j[some.worker_n], some.item_n))  # whatever the order of the rows
    session = Session(
        workers=tuple(some.workers[j] for j in used),
        offset_d=some.offsets_i.astype(np.int64),
        worker_n=code_j[some.worker_n][by_name],
        label_n=some.label_n[by_name].astype(np.int64),
        weighted_dk=fit_of_items(backend, weighted, order).posterior.round(4),
        baseline=baseline,
        n_items=len(voted),
        tie_worth=tie_worth,
        tolerance=tolerance,
        level=level,
    )
    if by_gold:
        before = weighted if baseline == WEIGHTED_VOTE else backend.fit(MAJORITY)
        learned = learn_rule(backend, gold_p, truth_p, weighted, baseline=before, seed=seed)
        proving = replace(session, taught=session.freeze(learned, 0))
        session = session if proving.is_idle else proving  # then only more labels can teach a rule
    return make_design(backend, session, order, seed, experts)


def _coin_labels(posterior_dk: FloatArray, names: Sequence[Hashable]) -> Codes:
    """The best class of each item; of tied ones a coin decides that is fixed by the item's name."""
    best_dk = chances(posterior_dk) > 0
    coin_seed = 0x74_6965  # apart from that of the order
    nth_d = name_hashes(names, coin_seed) % best_dk.sum(axis=1).astype(np.uint64)
    return np.asarray((np.cumsum(best_dk, axis=1) == nth_d[:, None] + 1).argmax(axis=1))


def _voted(part: Part) -> Codes:
    return np.asarray(np.flatnonzero(part.votes.votes_i > 0) + part.start)


def _known(rule: str, race: Design, answers: Iterable[ExpertAnswer]) -> tuple[Known, list[object]]:
    """How many items a race labelled, on how many of them the rule is right, and which they are."""
    question = race.question
    if not isinstance(question, Race) or rule not in question.rules:
        raise ConfigError(
            f"The design did not compare {rule}, so it does not say on which of its items {rule} is right."
        )
    answer_d = race.codes(answers)
    label_d = question.label_rd[question.rules.index(rule)]
    answered = np.flatnonzero(answer_d != UNASKED)
    n_right, n_skipped = int((answer_d == label_d).sum()), int((answer_d == SKIPPED).sum())
    known = Known(n_items=len(answered), n_right=n_right, n_skipped=n_skipped)
    return known, [race.order[position] for position in answered]


class Frozen(NamedTuple):
    """The labels of rules on the items where they differ, in the order of the items' codes, and some counts.

    The last two are what a model of the votes expects, for planning: the mean of x and of |x| where q and r differ.
    """

    n_items: int  # with votes
    n_tied: int  # whose votes are tied: they are decided the same way under every rule
    item_d: Codes
    label_rd: Codes
    differ_qr: Codes
    lead_qr: FloatArray
    decisive_qr: FloatArray


def freeze(backend: Backend, fits: Mapping[str, Fit]) -> Frozen:
    """One label per rule and item, where any two rules differ and the votes are not tied."""
    rules = tuple(rows_alone(fit) for fit in fits.values())
    parts = list(backend.map(partial(_of_part, rules, belief_weights(fits)), doing="comparing"))
    if not (n_items := sum(part.n_items for part in parts)):
        raise DataError("No item has a vote.")
    label_rd, belief_rd = (np.concatenate([part[n] for part in parts], axis=1) for n in (3, 4))
    lead_qr, decisive_qr = expected_leads(label_rd, belief_rd)
    return Frozen(
        n_items=n_items,
        n_tied=sum(part.n_tied for part in parts),
        item_d=np.concatenate([part.item_d for part in parts]),
        label_rd=label_rd,
        differ_qr=(label_rd[:, None] != label_rd[None]).sum(axis=2),
        lead_qr=lead_qr,
        decisive_qr=decisive_qr,
    )


class _FrozenPart(NamedTuple):
    n_items: int
    n_tied: int
    item_d: Codes
    label_rd: Codes
    belief_rd: FloatArray  # what the models believe of each rule's label


def _of_part(fits: tuple[Fit, ...], weight_r: FloatArray, part: Part) -> _FrozenPart:
    posterior_rik = np.stack([part.of(fit).posterior for fit in fits])
    belief_ik = np.clip(np.tensordot(weight_r, posterior_rik, axes=1), 0, 1)
    count_ik = counts(part.votes)
    plurality_i, tied_i = count_ik.argmax(axis=1), tied(count_ik)
    label_ri = np.array([untied_labels(posterior_ik, plurality_i) for posterior_ik in posterior_rik])
    d = np.flatnonzero((part.votes.votes_i > 0) & ~tied_i & (label_ri != label_ri[0]).any(axis=0))
    return _FrozenPart(
        n_items=int((part.votes.votes_i > 0).sum()),
        n_tied=int(tied_i.sum()),
        item_d=d + part.start,
        label_rd=label_ri[:, d],
        belief_rd=belief_ik[d, label_ri[:, d]],
    )


def _race(
    fits: Mapping[str, Fit], frozen: Frozen, order: Codes, *, favourite: str | None, tolerance: float, level: float
) -> Race:
    rules = tuple(fits)
    return Race(
        rules=rules,
        label_rd=frozen.label_rd[:, order],
        differ_qr=frozen.differ_qr,
        n_items=frozen.n_items,
        tied=frozen.n_tied,
        favourite=rules.index(favourite) if favourite is not None else len(rules) - 1,
        tolerance=tolerance,
        level=level,
        lead_qr=frozen.lead_qr,
        decisive_qr=frozen.decisive_qr,
    )


def belief_weights(fits: Mapping[str, Fit]) -> FloatArray:
    """How much each rule's posterior counts in what is believed of the truth: the mean of the models.

    Votes are no probabilities: judges do not count, and majority vote only to take its part out of a combination.
    NaN where no rule is a model.

    >>> from majorant.votes import Votes
    >>> votes = Votes.from_codes([0], [0], [1], items="a", workers="w", labels="ny")
    >>> from majorant.methods.majority import Majority
    >>> from dataclasses import replace
    >>> majority = Majority().fit(votes)
    >>> combination = replace(majority, learned={"shares": np.array(.25)})
    >>> belief_weights({"majority": majority, "weighted-vote": combination}).round(2).tolist()
    [-0.33, 1.33]
    """
    shares_r = np.array([float(fit.learned.get("shares", 0.0)) for fit in fits.values()])
    model_r = np.array([rule in MODELS for rule in fits], dtype=float)
    if not model_r.any():
        return np.full(len(fits), np.nan)
    if MAJORITY not in fits:
        return np.asarray(model_r / model_r.sum())
    weight_r = model_r / (1 - shares_r)
    weight_r[[*fits].index(MAJORITY)] = -(model_r * shares_r / (1 - shares_r)).sum()
    return np.asarray(weight_r / model_r.sum())


def expected_leads(label_rd: Codes, belief_rd: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The mean of x and of |x| on the items where q and r differ, if each label is right as often as is believed."""
    apart_qrd = label_rd[:, None] != label_rd[None]
    with np.errstate(invalid="ignore"):
        lead_qr = ((belief_rd[:, None] - belief_rd[None]) * apart_qrd).sum(axis=2) / apart_qrd.sum(axis=2)
        decisive_qr = ((belief_rd[:, None] + belief_rd[None]) * apart_qrd).sum(axis=2) / apart_qrd.sum(axis=2)
    return lead_qr.round(DECIMALS), decisive_qr.round(DECIMALS)


def random_order(backend: Backend, item_d: Codes, seed: int) -> Codes:
    """A random order of these items, given in ascending order: all of their positions, or the first MOST."""
    if not len(item_d):
        return np.empty(0, dtype=np.int64)
    n_items = backend.votes.shape[0]
    share = 1.0 if n_items <= WHOLE_ORDER else min(1.0, 2 * MOST / len(item_d))
    drawn_p = backend.draw(share, seed)
    at_p = np.minimum(np.searchsorted(item_d, drawn_p), len(item_d) - 1)
    return np.asarray(at_p[item_d[at_p] == drawn_p][:MOST])


def item_names(backend: Backend, item_p: Codes) -> tuple[Hashable, ...]:
    """The names of items by their codes."""
    if backend.whole is not None:
        return tuple(backend.whole.items[item] for item in item_p)
    rising = np.argsort(item_p)
    named = backend.take(item_p[rising]).items if len(item_p) else ()
    back = np.argsort(rising)
    return tuple(named[place] for place in back)


def _codes(backend: Backend, names: Iterable[object]) -> Codes:
    """The codes of items by their names."""
    place = {str(name): item for item, name in enumerate(item_names(backend, np.arange(backend.votes.shape[0])))}
    return np.array([place[str(name)] for name in names], dtype=np.int64)


def make_design(backend: Backend, question: Question, item_d: Codes, seed: int, experts: str) -> Design:
    """The design that asks a question about items, in the order of their codes."""
    return Design(
        question=question,
        order=item_names(backend, item_d),
        labels=backend.votes.labels,
        votes=votes_digest(backend),
        seed=seed,
        experts=experts,
    )


def refuse_other_labels(backend: Backend, design: Design, fits: Mapping[str, Fit]) -> None:
    """Refuse rules that give the items of a design other labels than those that the design froze."""
    question = design.question
    if not isinstance(question, Race):
        return
    item_d = _codes(backend, design.order)
    for rule in set(question.rules) & set(fits):
        if not question.is_given_by(rule, np.asarray(fit_of_items(backend, fits[rule], item_d).posterior)):
            raise DataError(
                f"{rule} gives other labels now than those that the design froze, so what the expert's labels show "
                "does not hold for them. Use the same version of majorant and the same seed as for the design."
            )


def votes_digest(backend: Backend) -> str:
    """The same for the same votes in any order of the rows and wherever they lie; another for any other votes.

    All votes enter with their workers and labels, grouped by item; items enter by name where their name is among some
    that the name itself selects, so that names need not be gathered from wherever they are.
    """
    digest_seed = 0x766F_7465
    worker_j = name_hashes(backend.votes.workers, digest_seed)
    label_k = name_hashes(backend.votes.labels, digest_seed + 1)
    total = backend.sum(partial(_hash_of_part, worker_j, label_k), doing="comparing")
    sampled = backend.draw(min(1.0, 256 / max(backend.votes.shape[0], 1)), digest_seed)  # items by name
    named = np.zeros(1, np.uint64)
    if len(sampled):
        few = backend.take(np.sort(sampled))
        item_p = _item_hashes(few, worker_j, label_k) + name_hashes(few.items, digest_seed + 2)
        named = mix_bits(item_p).sum(keepdims=True)
    sizes = (backend.votes.n_votes, backend.votes.shape[0])
    return "".join(f"{int(number):016x}" for number in (*total, *named, *sizes))


def _hash_of_part(worker_j: NDArray[np.uint64], label_k: NDArray[np.uint64], part: Part) -> NDArray[np.uint64]:
    return np.asarray(mix_bits(_item_hashes(part.votes, worker_j, label_k)).sum(keepdims=True, dtype=np.uint64))


def _item_hashes(votes: Votes, worker_j: NDArray[np.uint64], label_k: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A number for the votes of each item, whatever their order."""
    vote_n = mix_bits(worker_j[votes.worker_n] + mix_bits(label_k[votes.label_n]))
    running_n = np.concatenate([np.zeros(1, np.uint64), np.cumsum(vote_n, dtype=np.uint64)])
    return np.asarray(running_n[votes.offsets_i[1:]] - running_n[votes.offsets_i[:-1]])
