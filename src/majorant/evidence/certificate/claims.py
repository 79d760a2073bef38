"""Certify majority vote: collect the inputs of the claims, test their assumptions, and make the claims.

`examine` does the cheap part: it distinguishes crowds from panels, fits models and tests their assumptions.
`make_certificate` turns the results into claims with verdicts and intervals. Both put votes in canonical order, so the
certificate does not depend on the order of rows or the names of workers and labels.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from majorant.defaults import LEVEL
from majorant.evidence.certificate.anonymous import CountTests, as_histograms, claim_from_counts, examine_counts
from majorant.evidence.certificate.assumption_tests import check_counts, check_exchangeable
from majorant.evidence.certificate.bootstrap import Case, Replicates, bootstrap
from majorant.evidence.certificate.bootstrap_claims import (
    VOTES_PER_CLASS,
    align,
    can_count,
    is_thin,
    multiclass_claim,
    named_claim,
    panel_claim,
    typical,
    unidentified,
)
from majorant.evidence.certificate.canonical import Canonical, canonical_order
from majorant.evidence.certificate.certificate import (
    RARE_SHARE,
    Certificate,
    Claim,
    Dependence,
    Family,
    Model,
    Reason,
    assume,
    open_reason,
)
from majorant.evidence.certificate.dependence import dependence
from majorant.evidence.certificate.design import VotingDesign, design
from majorant.evidence.certificate.gold import GoldCells, cells_of, claim_from_cells, gold_rows
from majorant.evidence.certificate.plug_in import Plugged, answer_question, plug_counts, plug_panel, plug_shared
from majorant.evidence.copies import find_copies
from majorant.evidence.evidence import Status, Tested
from majorant.items import MOST_STUDIED, draw, merge_equal_items, take_items
from majorant.limits import limit_native_threads
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.fit import Fit
from majorant.methods.shared import SharedConfusion
from majorant.read import Reading, as_votes
from majorant.setting import Setting
from majorant.tally import Patterns, counts, find_patterns, two_class_histograms, votes_by_worker
from majorant.theory.margin import majority_margins
from majorant.values import as_generator, as_level, as_seed
from majorant.votes import IntArray, Votes


@dataclass(frozen=True, slots=True, eq=False)
class Certification:
    """A certificate, with the voting design and the fit behind it."""

    certificate: Certificate
    design: VotingDesign
    fit: Fit | None  # one confusion matrix per worker; one for all in crowds with few votes per worker and many classes


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClaimInputs:
    """Inputs of the claims; small regardless of the number of votes.

    Parameters
    ----------
    histograms : mapping or None
        Vote counts of all items, for two classes.
    sample : Votes
        All items, or a random sample of them, for the claims about workers.
    n_items : int
        Number of items that the sample was drawn from.
    gold : GoldCells or None
        Gold labels of all items with votes, if there are any.
    """

    histograms: Mapping[int, IntArray] | None
    sample: Votes
    n_items: int
    gold: GoldCells | None


@limit_native_threads
def certify(
    votes: Any, *, level: float = LEVEL, rng: int | np.random.Generator = 0, **reading: Unpack[Reading]
) -> Certificate:
    """Compare majority vote with the best rules that ignore, and that use, who voted.

    Parameters
    ----------
    votes : path, frame, dict, list or Votes
        Anything `mj.read` accepts, with the same keyword arguments, such as `item=`.
    level : float
        Confidence level.
    rng : int or numpy.random.Generator
        Random seed.

    Returns
    -------
    Certificate
        Claims, each with a verdict: optimal, not optimal or open.

    Examples
    --------
    >>> from majorant.simulate import simulate
    >>> votes, _ = simulate([.5, .5], [[.85, .15], [.15, .85]], n_items=3000, n_votes=5, rng=1)
    >>> claim = certify(votes).anonymous
    >>> str(claim.verdict), str(claim.certainty)
    ('optimal', 'proved')
    """
    return certification(as_votes(votes, **reading), level=level, rng=rng).certificate


def certification(votes: Votes, *, level: float = LEVEL, rng: int | np.random.Generator) -> Certification:
    """Certify votes; also return the voting design and the fit."""
    known = (find_copies(votes).tested,) if Setting.of(votes).panel else ()
    seed = as_seed(rng)
    return certification_of(examine(claim_inputs(votes, rng=seed), level=level, rng=seed, known=known))


def certification_of(examination: Examination) -> Certification:
    """Make the certificate of examined votes."""
    case = examination.fit_workers()
    fitted = case or examination.by_label
    fit = None if fitted is None else examination.ordered.restore(fitted.fit)
    return Certification(make_certificate(examination, case), examination.design, fit)


class Counts(NamedTuple):
    """Counts of all votes."""

    patterns: Patterns
    votes_jl: NDArray[np.int64]


def claim_inputs(votes: Votes, *, rng: int | np.random.Generator, counts: Counts | None = None) -> ClaimInputs:
    """Collect the inputs of the claims: counts of all items, and their votes or, if there are very many, a sample."""
    n_items, _, n_classes = votes.shape
    patterns = None
    if n_classes == 2:
        patterns = find_patterns(votes) if counts is None else counts.patterns
    return ClaimInputs(
        histograms=None if patterns is None else two_class_histograms(patterns),
        sample=_sample(votes, votes_by_worker(votes) if counts is None else counts.votes_jl, rng=rng),
        n_items=n_items,
        gold=_gold(votes),
    )


def _sample(votes: Votes, votes_jl: NDArray[np.int64], *, rng: int | np.random.Generator) -> Votes:
    """The votes on the items that claims about workers use, drawn by hashes of their names and in that order."""
    share = sampled_share(votes.n_votes, votes.shape[2], typical(votes_jl.sum(axis=1).astype(float)))
    share = min(share, MOST_STUDIED / max(votes.n_votes, 1))
    return votes if share >= 1 else take_items(votes, draw(votes, share, int(as_generator(rng).integers(2**32))))


def _gold(votes: Votes) -> GoldCells | None:
    """Gold labels by vote count; None if no item with votes has a gold label."""
    if votes.gold_i is None:
        return None
    rows = find_patterns(votes, gold_rows)
    known_p = (rows.counts_pk[:, -1] > 0) & (rows.counts_pk[:, :-1].sum(axis=1) > 0)
    return cells_of(rows) if known_p.any() else None


def sampled_share(n_votes: int, n_classes: int, typical: float, wanted: float | None = None) -> float:
    """Share of the items whose votes number about `wanted`, by default as many as the claims about workers use.

    The share is large enough that a worker with `typical` votes keeps 1.5 times the votes needed to distinguish
    workers.

    >>> sampled_share(5_000_000, 2, typical=1000)
    0.06
    """
    wanted = 800_000 / max(n_classes, 1) ** 2 if wanted is None else wanted
    if n_votes <= wanted:
        return 1.0
    return max(wanted / n_votes, min(1.0, 1.5 * VOTES_PER_CLASS * n_classes / max(typical, 1.0)))


# --- the tests of assumptions


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Examination:
    """The voting design, and the status of the assumptions of the claims.

    Parameters
    ----------
    inputs : ClaimInputs
        The inputs that were examined.
    ordered : Canonical
        The sample in canonical order.
    design : VotingDesign
        Panel or crowd.
    anonymous, named : tuple of Tested
        Tested assumptions of the claims about rules that ignore, and that use, who voted.
    level : float
        Confidence level.
    seed : int
        Random seed of all random draws.
    dependence : Dependence or None
        For a panel, whether its workers make the same mistakes.
    panel : Case or None
        For a panel, its votes and a fit with one confusion matrix per worker.
    by_label : Case or None
        For a crowd and more than two classes, its votes and a fit with one confusion matrix for all workers.
    counts : CountTests or None
        For a crowd and two classes, its vote counts and the model fitted to them.
    """

    inputs: ClaimInputs
    ordered: Canonical
    design: VotingDesign
    anonymous: tuple[Tested, ...]
    named: tuple[Tested, ...]
    level: float
    seed: int
    dependence: Dependence | None = None
    panel: Case | None = None
    by_label: Case | None = None
    counts: CountTests | None = None

    @property
    def assumptions(self) -> tuple[Tested, ...]:
        """All assumptions that were tested or found untestable."""
        return tuple(dict.fromkeys((*self.anonymous, *self.named)))

    @property
    def is_open(self) -> bool:
        """Whether all model-based claims will be open, so there is no need to make them."""
        return open_reason(self.anonymous) is not None and open_reason(self.named) is not None

    def fit_workers(self) -> Case | None:
        """Fit one confusion matrix per worker; None if there are too few votes per worker or too many workers."""
        votes = self.ordered.votes
        if self.panel is not None or is_thin(votes):
            return self.panel
        # As many items as the bootstrap can process in about a second.
        given = typical(np.bincount(votes.worker_n).astype(float))
        share = sampled_share(votes.n_votes, len(votes.labels), given, wanted=125_000 / len(votes.labels))
        if share < 1:
            n_items = max(1, int(share * len(votes.items)))
            item_p = _stream(self.seed, "items").permutation(len(votes.items))[:n_items]
            votes = take_items(votes, np.sort(item_p))
        return fit_workers(votes)


def examine(
    inputs: ClaimInputs, *, level: float, rng: int | np.random.Generator, known: tuple[Tested, ...] = ()
) -> Examination:
    """Distinguish panels from crowds, and test the assumptions of the claims.

    Parameters
    ----------
    inputs : ClaimInputs
        The inputs from `claim_inputs`.
    level : float
        Confidence level.
    rng : int or numpy.random.Generator
        Random seed.
    known : tuple of Tested
        Assumptions of all claims that were tested elsewhere, such as that no worker copies another.

    Returns
    -------
    Examination
        Its `is_open` says whether the model-based claims can be anything but open.
    """
    seed, ordered, voting = as_seed(rng), canonical_order(inputs.sample), design(inputs.sample)
    examination = Examination(
        inputs=inputs, ordered=ordered, design=voting, anonymous=known, named=known, level=as_level(level), seed=seed
    )
    panel = fit_workers(ordered.votes) if voting.kind == "panel" else None
    if panel is not None:
        stream = _stream(seed, "dependence")
        shared_errors = dependence(panel.votes, panel.fit, rng=stream, level=level, copies=panel.copies)
        tested = (shared_errors.tested, *known)
        examination = replace(examination, panel=panel, dependence=shared_errors, anonymous=tested, named=tested)
        if can_count(ordered.votes):
            return examination
    return _examine_crowd(examination)


def _examine_crowd(known: Examination) -> Examination:
    """Test the assumptions of claims from vote counts and, for a crowd, also of claims about all rules."""
    votes, seed, histograms = known.ordered.votes, known.seed, known.inputs.histograms
    tested: tuple[Tested, ...] = ()
    independent: tuple[Tested, ...] = ()
    exchangeable = check_exchangeable(votes, rng=_stream(seed, "workers"))
    if histograms is not None:
        counted = examine_counts(as_histograms(histograms), _stream(seed, "counts"))
        known, independent = replace(known, counts=counted), (counted.independence,)
        tested = tuple(one for one in counted.assumptions if one.status != Status.UNTESTED)
    elif len(votes.labels) > 2 and votes.n_votes:
        fit = align(SharedConfusion().fit(votes))
        known = replace(known, by_label=Case(votes=votes, fit=fit))
        tested = independent = (check_counts(votes, fit),)
    named = known.named if known.panel is not None else (*independent, *known.named)
    return replace(known, anonymous=(*tested, exchangeable, *known.anonymous), named=named)


def _stream(seed: int, step: str) -> np.random.Generator:
    """A random generator for one step, independent of other steps."""
    return np.random.default_rng([seed, *step.encode()])


def fit_workers(votes: Votes) -> Case | None:
    """Fit one confusion matrix per worker, merging equal items if that pays; None if there are too many parameters."""
    _, n_workers, n_classes = votes.shape
    if (
        n_classes < 2 or n_workers < 2 or n_workers * n_classes**2 > 250_000
    ):  # matrix cells; the bootstrap keeps 200 replicates of each
        return None
    merged = merge_equal_items(votes)
    rows, copies = (votes, None) if merged is None else (merged.votes, merged.weight_p)
    fit = DawidSkene(smoothing=0.01, min_rise=None).fit(rows, weights=copies)  # as in weighted_em
    return Case(votes=rows, fit=fit, copies=copies)


# --- the claims


def could_support(votes: Votes, patterns: Patterns, *, panel: bool) -> bool:
    """Whether a certificate could say that majority vote is optimal, with tests that passed.

    This is quick, so that `check` computes a certificate only if it can change the answer. It cannot if no item has
    enough votes to test independence, if workers of a crowd clearly differ, or if majority vote is not optimal at the
    most likely model. A panel needs the model of its workers, so it is not judged by its counts.

    Parameters
    ----------
    votes : Votes
        The votes.
    patterns : Patterns
        The vote counts of all items.
    panel : bool
        Whether the same workers label (nearly) all items.
    """
    votes_p, n_classes = patterns.votes_p, patterns.counts_pk.shape[1]
    items_h = np.bincount(votes_p, weights=patterns.items_p)
    common = np.flatnonzero(items_h >= RARE_SHARE * max(1.0, items_h[1:].sum()))
    sizes = [int(h) for h in common if h > 0]
    if n_classes < 2 or max(sizes, default=0) < (4 if n_classes == 2 else 3):
        return False
    if panel:
        return True
    if clearly_differ(votes):
        return False
    prior_k, confusion_kl = SharedConfusion().fit_counts(patterns)
    return all(float(majority_margins(prior_k, confusion_kl, h)) > 0 for h in sizes)


def clearly_differ(votes: Votes) -> bool:
    """Whether workers agree with the other votes on their items so unequally that the exact test will fail, too.

    A chi-square test, at 1e-6, of each worker's mean agreement with the other voters.
    """
    others_n = votes.votes_i[votes.item_n] - 1
    shared_n = others_n > 0
    agreeing_n = (counts(votes)[votes.item_n, votes.label_n] - 1)[shared_n] / others_n[shared_n]
    worker_n = votes.worker_n[shared_n]
    given_j, agreed_j = np.bincount(worker_n), np.bincount(worker_n, weights=agreeing_n)
    seen_j = given_j > 0
    if seen_j.sum() < 2 or not agreeing_n.var() > 0:
        return False
    off_j = (agreed_j - given_j * agreeing_n.mean())[seen_j]
    statistic = float((off_j**2 / given_j[seen_j]).sum() / agreeing_n.var())
    return bool(chdtrc(int(seen_j.sum()) - 1, statistic) < 1e-6)


def make_certificate(examination: Examination, case: Case | None) -> Certificate:
    """Make the claims about examined votes; `case` is the result of `examination.fit_workers()`.

    A claim with an assumption that failed is a point estimate without an interval.
    """
    level, gold = examination.level, examination.inputs.gold
    # `standing` is one of two claims, which share the error so that it holds at the level.
    each = level if gold is None else (1 + level) / 2
    replicates = _resample(examination, case, examination.named, "named")
    anonymous = _anonymous(examination, replicates, each)
    plugged = _plug_in(examination)
    setting, labels = Setting.of(examination.inputs.sample), _labels(examination)
    is_panel = setting.panel or examination.design.kind == "panel"
    return Certificate(
        level=level,
        anonymous=replace(anonymous, level=level),
        named=_named(examination, case, replicates, level),
        gold=None if gold is None else replace(claim_from_cells(gold, level=each), level=level),
        dependence=examination.dependence,
        design=examination.design,
        optimality=None
        if plugged is None
        else answer_question(plugged, anonymous, labels, panel=is_panel, one_class=setting.one_class),
    )


def _plug_in(examination: Examination) -> Plugged | None:
    """The most likely model of the votes, the same as that of the anonymous claim; None if there is none."""
    if examination.counts is not None:
        return plug_counts(examination.counts, _labels(examination), examination.level)
    if examination.by_label is not None:
        return plug_shared(examination.by_label)
    return None if examination.panel is None else plug_panel(examination.panel)


def _labels(examination: Examination) -> tuple[Hashable, ...]:
    """The labels in the order of the classes of the model."""
    votes = examination.inputs.sample if examination.counts is not None else examination.ordered.votes
    return tuple(votes.labels)


def _resample(
    examination: Examination, case: Case | None, tested: tuple[Tested, ...], stream: str
) -> Replicates | None:
    """Bootstrap a fit; None if no claim can use it because an assumption failed or no item has three votes."""
    if case is None or open_reason(tested) == Reason.ASSUMPTION_FAILED or case.votes.votes_i.max(initial=0) < 3:
        return None
    return bootstrap(case, rng=_stream(examination.seed, stream))


def _anonymous(examination: Examination, named: Replicates | None, level: float) -> Claim:
    """The claim about rules that ignore who voted: from counts for a crowd, from the worker model for a panel."""
    tested = examination.anonymous
    if examination.counts is not None:
        known = _merge(examination.counts.assumptions, tested)
        return claim_from_counts(examination.counts, level, _stream(examination.seed, "loss"), known)
    if examination.by_label is not None:
        replicates = _resample(examination, examination.by_label, tested, "shared")
        claim = multiclass_claim(examination.by_label, replicates, level=level)
        return assume(replace(claim, assumptions=()), *_merge(claim.assumptions, tested))
    if examination.panel is not None:
        return assume(panel_claim(examination.panel, named, level=level), *tested)
    return assume(unidentified(Family.ANONYMOUS, Model.INDEPENDENT_VOTES, level), *tested)


def _named(examination: Examination, case: Case | None, replicates: Replicates | None, level: float) -> Claim | None:
    """The claim about all rules; None if there is only one worker or one label, or too many workers for a model."""
    votes = examination.ordered.votes
    if case is not None:
        return assume(named_claim(case, replicates, level=level), *examination.named)
    if votes.n_votes and len(votes.workers) > 1 and len(votes.labels) > 1 and is_thin(votes):
        return assume(unidentified(Family.NAMED, Model.NAMED_WORKERS, level), *examination.named)
    return None


def _merge(general: tuple[Tested, ...], tested: tuple[Tested, ...]) -> tuple[Tested, ...]:
    """The assumptions of a model, with test results in place of those that were tested."""
    known = {one.assumption for one in tested}
    return (*tested, *(one for one in general if one.assumption not in known))
