"""Find workers who copy another worker, from raw agreement and, where there are gold labels, from shared mistakes.

Copies are reported and change no label: all votes count, because judges also agree when they are right.  A pair is
named only if accuracy does not explain its agreement:

- *Gold.*  Of the items that one of the two gets wrong, the other gives the same wrong answer on three quarters or more.
- *Without gold.*  The two gave the same answer on 97% of the items they share, or on all of at least 100, and of the
  items on which one of them departs from most other voters, the other does too on three quarters or more.  Identical
  answers on items that are easy for everyone prove nothing.

A pair must also agree more than its agreement with the other voters R explains.  With votes centred at each worker's
label shares, `AB = AR * BR / RR` for workers who err independently, at any skill, and approximately so if items differ
in difficulty.  The unexplained agreement, as a share of its maximum, estimates how often one copies the other.  This
alone is not enough: where the other voters share mistakes, it takes the best judges of a panel for copies.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.evidence.evidence import Assumption, Status, Tested
from majorant.items import draw_by_name, sample_items, sum_parts, take_items, take_votes
from majorant.setting import Setting
from majorant.tally import PairCounts, counts, pair_counts, votes_by_worker
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes

SHARED_ITEMS = 30  # a pair is tested only if it shares this many items
REPEATED = 0.5  # a pair are copies only if one clearly repeats more than this share of the other's votes
STANDARD_ERRORS = 2.0
COPY_SHARE = 0.75  # least share of the mistakes, or of the departures from the other voters, that copies have in common
FEWEST = 10  # mistakes or departures; with fewer, the items may simply be easy


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyGroup:
    """Workers of whom each repeats each other.

    Parameters
    ----------
    workers : tuple of Hashable
        Names of the workers, starting with the one with the most votes.
    identical : bool
        Whether all pairs gave the same answers on all items that they share.
    shared, agreed : int
        Number of items that the least similar pair shares, and number on which it agrees.
    departed, together : int
        Number of items on which one of this pair departs from most other voters, and on which both do, alike.
    wrong, same_wrong : int
        Number of gold items that one of this pair gets wrong, and number on which both give the same wrong answer.
    with_first : tuple of (int, int)
        For each worker but the first: number of items on which it agrees with the first, and number that they share.
    """

    workers: tuple[Hashable, ...]
    identical: bool
    shared: int
    agreed: int
    departed: int = 0
    together: int = 0
    wrong: int = 0
    same_wrong: int = 0
    with_first: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Copies:
    """Groups of workers who copy each other, and the status of the assumption that there are none."""

    groups: tuple[CopyGroup, ...]
    tested: Tested

    @property
    def workers(self) -> tuple[tuple[Hashable, ...], ...]:
        """The names of the workers in each group."""
        return tuple(group.workers for group in self.groups)


def find_copies(votes: Votes, panel: bool | None = None) -> Copies:
    """Find workers who copy another worker.

    Parameters
    ----------
    votes : Votes
        The votes.  If there are more than a million, those on a random sample of the items are compared.
    panel : bool, optional
        Whether these are judges of a panel; detected by default.

    Returns
    -------
    Copies
        The groups, and the status of `Assumption.NO_COPIES`: failed if there is a group; untestable if two judges of a
        panel may be either copies or simply good; untested if no two workers share enough items; else passed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> judge, third = rng.integers(0, 2, (2, 200))
    >>> votes = Votes.from_codes(np.repeat(np.arange(200), 3), np.tile([0, 1, 2], 200),
    ...                          np.stack([judge, judge, third], axis=1).ravel(),
    ...                          items=range(200), workers="abc", labels="ny")
    >>> copies = find_copies(votes)
    >>> copies.workers, copies.tested.status.value
    ((('a', 'b'),), 'failed')
    """
    near_copy = 0.75  # a pair is cleared if one clearly repeats less than this share
    sample = _take_sample(votes)
    pairs = _similar_pairs(sample)
    index = _VoteIndex(sample)
    partners = _partners(pairs.similar)
    # A single pair matters in a panel, but hardly in a crowd.
    matters = Setting.of(votes).panel if panel is None else panel
    links: list[_Link] = []
    is_open = False
    for pair in pairs.similar:
        in_doubt = matters and pair.upper > near_copy
        identical = pair.shared >= 100 and pair.agreed == pair.shared
        if not (in_doubt or identical or _differ_rarely(pair, pair.chance, pairs.n_tested)):
            continue  # they differ too often for copies, even if they otherwise agreed only by chance
        compared = _compare(index, pair, partners)
        repeats = identical or (
            compared.z(REPEATED) > STANDARD_ERRORS and _differ_rarely(pair, compared.expected, pairs.n_tested)
        )
        facts = _count_facts(index, sample, pair)
        if repeats and not _explained(pair, facts):
            links.append(_Link(pair.a, pair.b, facts))
        elif in_doubt and not compared.explains(near_copy):
            is_open = True
    groups = _as_groups(votes, links)
    status = Status.PASSED if pairs.n_tested else Status.UNTESTED
    if groups or is_open:
        status = Status.FAILED if groups else Status.UNTESTABLE
    return Copies(groups, Tested(Assumption.NO_COPIES, status))


class _Facts(NamedTuple):
    """What the votes of two workers on the items they share show, beside their agreement."""

    departed: int
    together: int
    wrong: int
    same_wrong: int
    one_label: bool  # both gave one and the same label throughout


def _count_facts(index: _VoteIndex, votes: Votes, pair: _Pair) -> _Facts:
    """Count on how many items the two depart from the others or from gold, alone and together."""
    (item_a, label_a), (item_b, label_b) = index.of(pair.a), index.of(pair.b)
    item, at_a, at_b = np.intersect1d(item_a, item_b, assume_unique=True, return_indices=True)
    label_a, label_b = label_a[at_a], label_b[at_b]
    same = label_a == label_b
    count_ik, rows = counts(take_items(votes, item)).astype(np.int64), np.arange(len(item))
    count_ik[rows, label_a] -= 1
    count_ik[rows, label_b] -= 1
    most = count_ik.max(axis=1, initial=0)
    departs = (count_ik[rows, label_a] < most) | (count_ik[rows, label_b] < most)
    gold = votes.truth_i[item]
    wrong = (gold >= 0) & ((label_a != gold) | (label_b != gold))
    return _Facts(
        departed=int(departs.sum()),
        together=int((departs & same).sum()),
        wrong=int(wrong.sum()),
        same_wrong=int((wrong & same).sum()),
        one_label=len(np.unique(np.concatenate([label_a, label_b]))) == 1,
    )


def _explained(pair: _Pair, facts: _Facts) -> bool:
    """Whether accuracy, easy items or the habit of one label may explain the agreement of two workers."""
    if facts.one_label:
        return True
    if facts.wrong >= FEWEST:
        return facts.same_wrong < COPY_SHARE * facts.wrong
    near = pair.agreed >= 0.97 * pair.shared
    return not near or facts.departed < FEWEST or facts.together < COPY_SHARE * facts.departed


def one_vote_each(votes: Votes) -> Votes:
    """The first vote of each worker on each item."""
    key_n = votes.item_n.astype(np.int64) * len(votes.workers) + votes.worker_n
    _, first = np.unique(key_n, return_index=True)
    return votes if len(first) == votes.n_votes else take_votes(votes, np.sort(first))


def _take_sample(votes: Votes, *, most_votes: int = 1_000_000) -> Votes:
    """The votes to compare: about `most_votes`, and 20 million pairs of votes on the same item, at most.

    Items are drawn by hashes of their names, so the order of the rows does not matter.
    """
    once = one_vote_each(sample_items(votes, most_votes).votes)
    pairs = int((once.votes_i * (once.votes_i - 1)).sum()) // 2
    if pairs <= 20_000_000:
        return once
    return take_items(once, np.sort(draw_by_name([(0, once.items)], 20_000_000 / pairs, 1)))


def _count_agreement(pair_l2: IntArray, votes: Votes) -> NDArray[np.int64]:
    """Number of items that each pair of workers shares, and on which it agrees, (pairs, 2)."""
    worker_c, column_l2 = np.unique(pair_l2, return_inverse=True)
    column_j = np.full(len(votes.workers), -1)
    column_j[worker_c] = np.arange(len(worker_c))
    a_l, b_l = column_l2.reshape(pair_l2.shape).T
    votes = one_vote_each(votes)
    votes = take_votes(votes, np.flatnonzero(column_j[votes.worker_n] >= 0))
    counted_l2 = np.zeros(pair_l2.shape, dtype=np.int64)
    for start in range(0, len(votes.items), step := max(1, 5_000_000 // len(pair_l2))):
        rows = slice(*votes.offsets_i[[start, min(start + step, len(votes.items))]])
        label_ic = np.full((step, len(worker_c)), -1, dtype=np.int32)
        label_ic[votes.item_n[rows] - start, column_j[votes.worker_n[rows]]] = votes.label_n[rows]
        both_il = (label_ic[:, a_l] >= 0) & (label_ic[:, b_l] >= 0)
        agreed_il = both_il & (label_ic[:, a_l] == label_ic[:, b_l])
        counted_l2 += np.stack([both_il.sum(axis=0), agreed_il.sum(axis=0)], axis=1)
    return counted_l2


class _Pair(NamedTuple):
    """A pair of workers, by code."""

    a: int
    b: int
    shared: int
    agreed: int
    chance: float  # share of items on which they would agree by chance, given their label shares
    similarity: float  # agreement beyond chance; 1 if they never differ
    upper: float  # upper bound on the share of votes that one may repeat


class _Similar(NamedTuple):
    """Pairs that agree enough to be copies, and the number of pairs examined."""

    similar: list[_Pair]
    n_tested: int


class _Link(NamedTuple):
    """Two workers who copy each other, by code."""

    a: int
    b: int
    facts: _Facts


def _similar_pairs(votes: Votes) -> _Similar:
    """Pairs that agree enough to be copies, the most similar first."""
    frequent_j = np.bincount(votes.worker_n, minlength=len(votes.workers)) >= SHARED_ITEMS
    kept = np.flatnonzero(frequent_j[votes.worker_n])
    similar, n_tested = [], 0
    for block in pair_counts(take_votes(votes, kept), min_items=SHARED_ITEMS):
        agreed_p = block.agreed_p
        agreement_p = agreed_p / block.items_p
        covariance_p, most_p = _covariance(block, agreement_p)
        similarity_p = np.divide(covariance_p, most_p, out=(agreement_p == 1).astype(float), where=most_p > 1e-9)
        error_p = np.sqrt(agreement_p * (1 - agreement_p) / block.items_p) / np.maximum(most_p, 1e-9)
        upper_p = similarity_p + STANDARD_ERRORS * error_p
        n_tested += len(similarity_p)
        for p in np.flatnonzero(similarity_p > REPEATED):
            a, b = int(block.worker_a_p[p]), int(block.worker_b_p[p])
            shared, agreed = int(block.items_p[p]), int(agreed_p[p])
            chance = float(np.clip(agreement_p[p] - covariance_p[p], 0, 1))
            similar.append(_Pair(a, b, shared, agreed, chance, float(similarity_p[p]), float(upper_p[p])))
    similar.sort(key=lambda pair: -pair.similarity)
    return _Similar(similar[:5_000], n_tested)


def _covariance(counts: PairCounts, agreement_p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Agreement beyond chance, and its maximum (0 if one worker always gives the same label)."""
    n_pairs, n_cells = counts.table_pc.shape
    n_classes = round(n_cells**0.5)
    table = counts.table_pc.tocoo()
    share = table.data / counts.items_p[table.row]
    share_a_pl, share_b_pl = np.zeros((2, n_pairs, n_classes))
    np.add.at(share_a_pl, (table.row, table.col // n_classes), share)
    np.add.at(share_b_pl, (table.row, table.col % n_classes), share)
    most_a_p, most_b_p = (np.maximum(1 - (x**2).sum(axis=1), 0.0) for x in (share_a_pl, share_b_pl))
    return agreement_p - (share_a_pl * share_b_pl).sum(axis=1), np.sqrt(most_a_p * most_b_p)


def _partners(similar: Sequence[_Pair]) -> dict[int, list[tuple[int, float]]]:
    """The workers similar to each worker, with their similarity, the most similar first."""
    partners: dict[int, list[tuple[int, float]]] = {}
    for pair in similar:
        partners.setdefault(pair.a, []).append((pair.b, pair.similarity))
        partners.setdefault(pair.b, []).append((pair.a, pair.similarity))
    return partners


class _VoteIndex:
    """The votes of each worker, centred, and their sums over all voters of each item."""

    def __init__(self, votes: Votes) -> None:
        n_items, n_workers, n_classes = votes.shape
        order = np.argsort(votes.worker_n, kind="stable")
        self.start_j = np.concatenate([[0], np.cumsum(np.bincount(votes.worker_n, minlength=n_workers))])
        self.item_n, self.label_n = votes.item_n[order], votes.label_n[order]
        votes_jl = votes_by_worker(votes).astype(float)
        # Label shares of workers with few votes are shrunk towards those of all workers.
        all_l = votes_jl.sum(axis=0) / max(votes_jl.sum(), 1.0)
        self.share_jl = (votes_jl + 20 * all_l) / (votes_jl.sum(axis=1, keepdims=True) + 20)
        self.n_classes = n_classes
        centred_nl = -self.share_jl[votes.worker_n]
        centred_nl[np.arange(votes.n_votes), votes.label_n] += 1
        self.sum_il = np.zeros((n_items, n_classes))
        np.add.at(self.sum_il, votes.item_n, centred_nl)
        square_n = (centred_nl**2).sum(axis=1)
        self.square_i: FloatArray = np.bincount(votes.item_n, square_n, minlength=n_items).astype(float)
        self.votes_i = votes.votes_i

    def of(self, j: int) -> tuple[IntArray, IntArray]:
        """The items and labels of a worker, ordered by item."""
        rows = slice(self.start_j[j], self.start_j[j + 1])
        return self.item_n[rows], self.label_n[rows]

    def centred(self, j: int, label_p: IntArray) -> FloatArray:
        """Labels of a worker as indicator rows, minus the worker's label shares."""
        rows_pl = np.tile(-self.share_jl[j], (len(label_p), 1))
        rows_pl[np.arange(len(label_p)), label_p] += 1
        return rows_pl


@dataclass(frozen=True, slots=True)
class _Compared:
    """Per shared item: agreement beyond chance of A and B, of each with the rest, and within the rest."""

    ab_i: FloatArray
    ar_i: FloatArray
    br_i: FloatArray
    rr_i: FloatArray
    most_i: FloatArray  # the value of `ab_i` if the two never differed
    chance: float
    has_outsiders: bool  # whether the rest excludes everyone who may be a copy of one of the two

    @property
    def expected(self) -> float | None:
        """Share of items on which A and B would agree if they voted independently."""
        if len(self.rr_i) < SHARED_ITEMS or self.rr_i.mean() <= 0:
            return None
        return float(np.clip(self.chance + self.ar_i.mean() * self.br_i.mean() / self.rr_i.mean(), 0, 1))

    def explains(self, repeated: float) -> bool:
        """Whether skill explains the agreement: neither repeats this share of the other's votes."""
        return self.has_outsiders and self.z(repeated) < -STANDARD_ERRORS

    def z(self, repeated: float) -> float:
        """Standard errors by which A and B agree more than if one repeated this share of the other's votes.

        It is 0 if the other voters do not allow a comparison.
        """
        n_items = len(self.rr_i)
        if n_items < SHARED_ITEMS or self.rr_i.mean() <= 0:
            return 0.0
        ab, ar, br, rr, most = (x.mean() for x in (self.ab_i, self.ar_i, self.br_i, self.rr_i, self.most_i))
        excess = (ab - repeated * most) * rr - (1 - repeated) * ar * br
        influence_i = (self.ab_i - repeated * self.most_i) * rr + (ab - repeated * most) * self.rr_i
        influence_i -= (1 - repeated) * (ar * self.br_i + br * self.ar_i)
        error = influence_i.std() / np.sqrt(n_items)
        return float(excess / error) if error > 1e-12 else 0.0


def _compare(index: _VoteIndex, pair: _Pair, partners: dict[int, list[tuple[int, float]]]) -> _Compared:
    """Compare two workers with the other voters on the items they share.

    Others who agree with one of the two nearly as well may be copies too, and are left out if enough voters remain.
    """
    most_items = 20_000  # compared for one pair
    most_close = 10  # maximum number left out; among more voters, a few copies hardly matter
    item_a, label_a = index.of(pair.a)
    item_b, label_b = index.of(pair.b)
    item, at_a, at_b = np.intersect1d(item_a, item_b, assume_unique=True, return_indices=True)
    if len(item) > most_items:
        some = np.linspace(0, len(item) - 1, most_items).astype(int)
        item, at_a, at_b = item[some], at_a[some], at_b[some]
    label_a, label_b = label_a[at_a], label_b[at_b]
    close: set[int] = set()
    for j in (pair.a, pair.b):
        for other, similarity in partners[j]:
            if similarity < 0.85 * pair.similarity or len(close) > most_close:
                break
            if other not in (pair.a, pair.b):
                close.add(other)
    own = [(pair.a, np.arange(len(item)), label_a), (pair.b, np.arange(len(item)), label_b)]
    rest = _remove_votes(index, item, own)
    has_outsiders = False
    if len(close) <= most_close:
        others = _remove_votes(index, item, [*own, *(_votes_on(index, j, item) for j in sorted(close))])
        has_outsiders = bool((others.votes_i >= 2).sum() >= max(SHARED_ITEMS, 0.5 * (rest.votes_i >= 2).sum()))
        rest = others if has_outsiders else rest
    usable = np.flatnonzero(rest.votes_i >= 2)
    votes_i, sum_il = rest.votes_i[usable], rest.sum_il[usable]
    a_il, b_il = np.eye(index.n_classes)[label_a[usable]], np.eye(index.n_classes)[label_b[usable]]
    share_a, share_b = (x.sum(axis=0) / max(len(usable), 1) for x in (a_il, b_il))
    a_il, b_il = a_il - share_a, b_il - share_b
    most_a, most_b = (a_il**2).sum(axis=1), (b_il**2).sum(axis=1)
    mean_a, mean_b = (max(float(x.sum()) / max(len(usable), 1), 1e-12) for x in (most_a, most_b))
    return _Compared(
        ab_i=(a_il * b_il).sum(axis=1),
        ar_i=(a_il * sum_il).sum(axis=1) / votes_i,
        br_i=(b_il * sum_il).sum(axis=1) / votes_i,
        rr_i=((sum_il**2).sum(axis=1) - rest.square_i[usable]) / (votes_i * (votes_i - 1)),
        most_i=np.sqrt(mean_a * mean_b) * (most_a / mean_a + most_b / mean_b) / 2,
        chance=float(share_a @ share_b),
        has_outsiders=has_outsiders,
    )


def _differ_rarely(pair: _Pair, expected: float | None, n_tested: int) -> bool:
    """Whether the pair differs too rarely for one who repeats only REPEATED of the votes, corrected for `n_tested`.

    `expected` is their agreement rate if independent.  This binomial test is needed because standard errors are too
    small with few items or few differences.
    """
    from scipy.special import bdtr

    assert expected is not None
    differ = (1 - REPEATED) * (1 - expected)
    return bool(bdtr(pair.shared - pair.agreed, pair.shared, differ) * n_tested <= 0.05)


class _Rest(NamedTuple):
    """Votes on some items: their number, and the sums of their centred indicators and squares."""

    votes_i: NDArray[np.int64]
    sum_il: FloatArray
    square_i: FloatArray


def _votes_on(index: _VoteIndex, j: int, item: IntArray) -> tuple[int, IntArray, IntArray]:
    """The positions in `item` on which a worker voted, and the labels."""
    own, label = index.of(j)
    _, place, at = np.intersect1d(item, own, assume_unique=True, return_indices=True)
    return j, place, label[at]


def _remove_votes(index: _VoteIndex, item: IntArray, removed: Sequence[tuple[int, IntArray, IntArray]]) -> _Rest:
    """Sums over the votes on some items, without those of some workers."""
    votes_i, sum_il = index.votes_i[item].copy(), index.sum_il[item].copy()
    square_i: FloatArray = index.square_i[item].copy()
    for j, place, label in removed:
        centred = index.centred(j, label)
        votes_i[place] -= 1
        sum_il[place] -= centred
        square_i[place] -= (centred**2).sum(axis=1)
    return _Rest(votes_i, sum_il, square_i)


def _as_groups(votes: Votes, links: Sequence[_Link]) -> tuple[CopyGroup, ...]:
    """Groups of workers of whom each is linked to each; groups and members with the most votes first."""
    if not links:
        return ()
    workers = votes.workers
    votes_j = votes_by_worker(votes).sum(axis=1)
    linked = {(min(link.a, link.b), max(link.a, link.b)): link for link in links}
    order = sorted({j for pair in linked for j in pair}, key=lambda j: (-votes_j[j], j))
    members: list[list[int]] = []
    for j in order:  # a worker joins the first group in which it is linked to everyone
        joined = next((g for g in members if all((min(j, o), max(j, o)) in linked for o in g)), None)
        if joined is None:
            members.append([j])
        else:
            joined.append(j)
    members = [group for group in members if len(group) > 1]
    pairs = [(min(a, b), max(a, b)) for group in members for a, b in combinations(group, 2)]
    if not pairs:
        return ()
    counted_l2 = sum_parts(partial(_count_agreement, np.array(pairs)), votes)
    counted = dict(zip(pairs, counted_l2.tolist(), strict=True))
    groups = []
    for group in members:
        own = [(min(a, b), max(a, b)) for a, b in combinations(group, 2)]
        weakest = min(own, key=lambda pair: counted[pair][1] / counted[pair][0])
        (shared, agreed), facts = counted[weakest], linked[weakest].facts
        first, *rest = group
        groups.append(
            CopyGroup(
                workers=tuple(workers[j] for j in group),
                identical=all(counted[pair][0] == counted[pair][1] for pair in own),
                shared=shared,
                agreed=agreed,
                departed=facts.departed,
                together=facts.together,
                wrong=facts.wrong,
                same_wrong=facts.same_wrong,
                with_first=tuple((same, both) for both, same in (counted[min(first, j), max(first, j)] for j in rest)),
            )
        )
    return tuple(groups)
