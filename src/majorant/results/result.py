"""The result of `check`: the answer, and labels, workers, review and other parts, computed on first use."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from majorant.arguments import validated
from majorant.ask.design import Recognised
from majorant.ask.question import Outcome
from majorant.decide import Answer
from majorant.defaults import LEVEL, MAJORITY, TARGET, TOLERANCE, WEIGHTED_VOTE, WORKER_METHOD
from majorant.display import show
from majorant.errors import ConfigError, NotIdentified
from majorant.evidence.certificate.certificate import Certificate
from majorant.evidence.certificate.claims import Certification, Counts
from majorant.evidence.copies import Copies, CopyGroup
from majorant.evidence.gold_sample import GoldSample
from majorant.evidence.identical import Difference, count_differences
from majorant.evidence.labels import GoldAccuracy, gold_accuracy
from majorant.evidence.learn import LEARNED, LearnedRule
from majorant.evidence.rules import Rules, fit_cross_validated, learns_from_gold
from majorant.evidence.track_record import Forecast, forecast
from majorant.items import Sample, sample_items
from majorant.known import Stake, find_stake, vote_shares
from majorant.limits import limit_native_threads
from majorant.methods import Fit, fit_method
from majorant.methods.fit import NO_LABEL
from majorant.methods.weighted_vote import written_rule
from majorant.read.options import ReadOptions
from majorant.results.agreement import Agreement
from majorant.results.agreement.measure import Resampling, agreement_from
from majorant.results.calibrate import Confidence, calibrate
from majorant.results.comparison import Alternative, believe, compare, rate_method
from majorant.results.labels import (
    Known,
    LabelChanges,
    LabelCounts,
    Labels,
    count_all_labels,
    decided_labels,
    expert_labels,
    label_changes,
)
from majorant.results.map import MapPanel, data_map
from majorant.results.plan import Plan
from majorant.results.plan import plan as make_plan
from majorant.results.rate_inputs import obvious_class
from majorant.results.rates import Rates, measure_rate
from majorant.results.review import Review, review
from majorant.results.slices import SliceAnswer, answer_slices
from majorant.results.workers import Removal, Workers, assess_workers, removal
from majorant.setting import Case, Setting
from majorant.tabular import Records
from majorant.tally import Tally, tied
from majorant.tally import tally as count
from majorant.values import Estimate, as_generator
from majorant.votes import Votes

StageCallback = Callable[[str], None]


def ignore_stage(stage: str) -> None:
    """No-op progress callback."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The arguments of `check`."""

    seed: int
    level: float = LEVEL
    method: str | None = None  # the rule that the user chose
    tolerance: float = TOLERANCE
    target: float = TARGET
    compares: bool = False  # whether `Result.comparison` is wanted
    labelled: Recognised | None = None  # an expert's labels, with the design that drew the items
    ties: str | None = None  # the rule that decides ties, if the user chose one
    by_coin: bool = False  # whether a coin decides ties
    gold_labels: bool = True  # whether known labels replace those of the rule
    stage: StageCallback = ignore_stage


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Result:
    """Everything that `check` finds: facts only, which `majorant.render` turns into text.

    Most parts are computed on first use.  What looks at votes one by one covers `some`: all votes or, if there are
    millions, those on a random sample of the items.

    >>> import majorant as mj
    >>> result = mj.check([(f"q{i}", f"w{j}", (i + (j == i % 5)) % 2) for i in range(40) for j in range(3)])
    >>> str(result.answer.action), result.rule, len(result.labels.to_dict()["item"])
    ('keep', 'majority', 40)
    """

    settings: Settings
    votes: Votes
    counts: Counts
    setting: Setting
    found_copies: Copies
    answer: Answer
    differ: Difference  # number of items on which the rule of the answer and majority vote differ
    learned: LearnedRule | None  # the rule learned from gold labels, whether or not it is used
    gold_sample: GoldSample | None  # whether gold labels that `ask` did not draw can be a random sample
    expert: Outcome | None  # outcome of an expert's labels
    tie_breaker: str | None  # the rule that decides ties; None for a coin toss determined by the item's name
    fitted: Rules = field(repr=False)
    majority: Fit = field(repr=False)  # the user's own majority vote, with its ties open
    other: Fit = field(repr=False)  # the rule that majority vote was compared with
    written: Fit = field(repr=False)  # the rule that gives the labels
    weighted: Fit = field(repr=False)
    certify: Callable[[], Certification] = field(repr=False)

    @cached_property
    def some(self) -> Sample:
        """All votes or, if there are millions, those on a random sample of the items."""
        return sample_items(self.votes, seed=self.settings.seed)

    @property
    def level(self) -> float:
        """Confidence level of every interval and proof."""
        return self.settings.level

    @property
    def rules(self) -> dict[str, Fit]:
        """Majority vote, the weighted vote and the rule that gives the labels."""
        return {one.method: one for one in (self.written, self.weighted, self.majority)}

    @property
    def copies(self) -> tuple[tuple[Hashable, ...], ...]:
        """Groups of workers who repeat each other; all their votes count."""
        return self.found_copies.workers

    @property
    def copy_groups(self) -> tuple[CopyGroup, ...]:
        """The groups of copies with the evidence for each."""
        return self.found_copies.groups

    @property
    def tied(self) -> int:
        """Number of items with tied votes."""
        patterns = self.counts.patterns
        return int(patterns.items_p[tied(patterns.counts_pk)].sum())

    @cached_property
    def changes(self) -> LabelChanges:
        """How the other rule would change the labels."""
        return label_changes(self.votes, self.majority, self.other)

    @cached_property
    def written_differ(self) -> Difference:
        """Where the labels written differ from majority vote: on ties that they decide, and on other items."""
        return count_differences(self.votes, self.majority, self.written)

    @cached_property
    def written_counts(self) -> LabelCounts:
        """Number of items by the label written."""
        return count_all_labels(self.votes, self.written)

    @property
    def undecided(self) -> int:
        """Number of items with tied votes that only a coin decides."""
        return self.written_counts.tied

    @cached_property
    def forecast(self) -> Forecast | None:
        """What the labels written without labels gain over majority vote, by the record of public data sets."""
        usual = written_rule(self.setting)
        return forecast(self.setting, self.written_differ) if self.rule == usual else None

    @cached_property
    def written_gold(self) -> GoldAccuracy | None:
        """Accuracy of the labels written on gold items; None without gold, or if the rule was learned from it."""
        return gold_accuracy(self.votes, self.written, level=self.level)

    @cached_property
    def stake(self) -> Stake | None:
        """What the best-rated judge and majority vote disagree on; None if no judge is known."""
        judges = self.setting.judges
        return None if judges is None else find_stake(self.some.votes, judges)

    @cached_property
    def slices(self) -> Records[SliceAnswer]:
        """An answer for each slice; empty if the votes have no slices."""
        if self.votes.slice_i is None:
            return Records()
        present, other = self.majority, self.other
        taught = self.other.method == LEARNED or learns_from_gold(self.other.method)
        return answer_slices(self.votes, present, other, self.answer, level=self.level, taught=taught)

    @cached_property
    def comparison(self) -> Records[Alternative]:
        """Comparison of all methods, if `check` was called with `compare`."""
        return compare(self.some.votes, level=self.level) if self.settings.compares else Records()

    @cached_property
    def gold(self) -> GoldAccuracy | None:
        """Accuracy of majority vote on gold items; None without gold."""
        return gold_accuracy(self.votes, self.majority, level=self.level)

    @cached_property
    def rated(self) -> tuple[Alternative, ...]:
        """The accuracy of the rules that were compared; their differences are the gains in the answer.

        Rules learned from the gold labels are rated by cross-validation, and the learned rule by the gain to expect.
        """
        some = self.some
        majority = some.of(self.majority)
        others = {one.method: one for one in (self.other, self.written) if one.method != MAJORITY}
        fits = [majority, *(self._honest(name, some.of(fit)) for name, fit in others.items())]
        belief_ik = believe(some.votes, {name: some.of(fit) for name, fit in self.fitted.models.items()})
        rated = [rate_method(fit, some.votes, majority, belief_ik, level=self.level) for fit in fits]
        if self.learned is not None and self.learned.gain is not None and self.gold is not None:
            expected = Estimate(float(np.clip(self.gold.value + self.learned.gain.value, 0.0, 1.0)))
            rated = [replace(one, accuracy=expected) if one.method == LEARNED else one for one in rated]
        return tuple(
            replace(one, accuracy=Estimate(one.accuracy.value)) if learns_from_gold(one.method) else one
            for one in rated
        )

    def _honest(self, rule: str, fit: Fit) -> Fit:
        """The fit used to rate a rule; cross-validated if the rule learns from gold labels."""
        return fit_cross_validated(rule, self.some.votes) if learns_from_gold(rule) else fit

    @property
    def rule(self) -> str:
        """The rule that gives the labels."""
        return self.written.method

    @property
    def labels_from_other(self) -> bool:
        """Whether the labels come from the rule that majority vote was compared with."""
        return self.rule != MAJORITY and self.rule == self.answer.other

    @property
    def design_path(self) -> str | None:
        """Path of the design behind an expert's labels."""
        return None if self.settings.labelled is None else str(self.settings.labelled.path)

    @cached_property
    @limit_native_threads
    def confidence(self) -> Confidence:
        """Calibrated probabilities that the labels are right."""
        self.settings.stage("judging")
        seed, panel = self.settings.seed, self.setting.panel
        return calibrate(self.votes, self.written, rng=seed, refit=self._refit, panel=panel)

    def _refit(self, votes: Votes) -> Fit:
        return self.fitted.refit(self.rule, self.tie_breaker, votes)

    @property
    def expected_accuracy(self) -> float | None:
        """Expected share of right labels: the mean confidence over items with votes."""
        confidence_i = self.confidence.confidence_i
        return float(np.nanmean(confidence_i)) if np.isfinite(confidence_i).any() else None

    @cached_property
    def known(self) -> Known:
        """Labels that override those of the rule."""
        labelled = self.settings.labelled
        if not self.settings.gold_labels:
            return Known(gold=False)
        return Known() if labelled is None else Known(expert=expert_labels(labelled.design, labelled.answers))

    @cached_property
    def labels(self) -> Labels:
        """The contents of labels.csv."""
        return Labels(
            votes=self.votes,
            fit=self.confidence.fit,
            confidence_i=self.confidence.confidence_i,
            majority=self.majority,
            weighted=self.weighted,
            known=self.known,
        )

    @cached_property
    def worker_fit(self) -> Fit:
        """The fit used to assess workers: the chosen method if it has a matrix per worker, else a fixed one."""
        if self.settings.method is not None:
            fit = self.fitted.by_name[self.settings.method]
            if fit.confusion is not None and fit.confusion.ndim == 3:
                return fit
        return fit_method(WORKER_METHOD, self.votes)

    @cached_property
    @limit_native_threads
    def workers(self) -> Workers:
        """Accuracy, agreement and flags of each worker."""
        copies, setting = self.found_copies, self.setting
        return assess_workers(self.votes, self.worker_fit, level=self.level, copies=copies, setting=setting)

    @cached_property
    @limit_native_threads
    def removal(self) -> Removal | None:
        """What would change without the flagged workers; None if nobody is, or if there are millions of votes."""
        return removal(self.votes, self.confidence.fit, self.workers, self._refit)

    @cached_property
    @limit_native_threads
    def review(self) -> Review:
        """The labels to check first: by the models if the weighted vote of a crowd is written, else by vote shares."""
        confidence, good_j = self.confidence, self.workers.good_j
        self.settings.stage("measuring")
        judged = self.setting.case is Case.CROWD and self.rule == WEIGHTED_VOTE
        members = [*self.fitted.models.values(), self.worker_fit] if judged else []
        label_i = decided_labels(self.written, self.votes)
        if self.known.expert:  # an expert has already checked them
            label_i[[str(item) in self.known.expert for item in self.votes.items]] = NO_LABEL
        models = [fit.posterior for fit in members or [fit_method(MAJORITY, self.votes)]]
        if self.setting.case is Case.KNOWN_JUDGES and self.setting.judges is not None:  # what the best judge disputes
            models.append(vote_shares(self.votes, self.setting.judges.best_j.astype(float)))
        return review(self.votes, label_i, confidence.confidence_i, models=models, by_models=judged, good=good_j)

    @cached_property
    @limit_native_threads
    def certification(self) -> Certification:
        """The certificate and its inputs."""
        return self.certify()

    @property
    def certificate(self) -> Certificate:
        """Whether majority vote is as good as any rule, under tested assumptions."""
        return self.certification.certificate

    @cached_property
    def agreement(self) -> Agreement:
        """How well workers agree, with intervals."""
        return agreement_from(
            self.counts.patterns, self.some.votes, Resampling(as_generator(self.settings.seed), self.level)
        )

    @cached_property
    def tally(self) -> Tally:
        """Counts of the votes."""
        return count(self.some.votes)

    @cached_property
    def plan(self) -> Plan | None:
        """How many votes to collect; None if the votes do not allow a plan."""
        try:
            return make_plan(
                self.some.votes,
                target=self.settings.target,
                level=self.level,
                copies=self.found_copies,
                setting=self.setting,
            )
        except (ConfigError, NotIdentified):
            return None

    @cached_property
    def map(self) -> tuple[MapPanel, ...]:
        """Map of where majority vote is optimal, with these votes; empty except for two-class crowds."""
        return () if self.setting.panel else data_map(self.some.votes, level=self.level)

    @cached_property
    @limit_native_threads
    def rates(self) -> Rates | None:
        """Rate of one of two classes, as reported by each rule and as measured by labels; None for other votes."""
        votes = self.votes
        # The weighted vote is refitted without gold labels, which is too slow for very many votes.
        if len(votes.labels) != 2 or votes.n_votes > 200_000:
            return None
        label = obvious_class(votes.labels) or votes.labels[-1]
        labelled = self.settings.labelled
        drawn = labelled if labelled is not None and labelled.sample else None
        how, seed = ReadOptions(), self.settings.seed
        return measure_rate(votes, drawn, how=how, label=label, level=self.level, rng=seed)

    @validated
    def accuracy(self, rule: str) -> Estimate:
        """Accuracy of a rule that was compared: from gold if there is any, else as estimated by the models."""
        by_rule = {row.method: row.accuracy for row in self.rated}
        if rule not in by_rule:
            raise ConfigError(f"{rule} was not compared. Compared: {', '.join(by_rule)}.")
        return by_rule[rule]

    @validated
    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> list[Path]:
        """Write labels.csv, workers.csv, review.csv, result.json and report.html into a folder.

        Parameters
        ----------
        folder : path
            Created if it does not exist.
        overwrite : bool
            Replace files even if majorant did not write them or they were changed since.

        Returns
        -------
        list of Path
            The files that were written.
        """
        command = show("answer.python_command", self)
        summary = show("summary.result_summary", self, seed=self.settings.seed, next_command=command)
        written: list[Path] = show("files.write_result", self, summary, folder, overwrite=overwrite)
        return written

    @validated
    def report(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the report as one self-contained HTML file; `overwrite` as in `save`."""
        written: Path = show("html.report", self, path, overwrite=overwrite)
        return written

    @validated
    def plot(self, figure: str | None = None) -> Any:
        """Return a figure of the report as a matplotlib Figure, by default workers or (without accuracies) votes."""
        if figure is None:
            known = self.workers is not None and "accuracy" in self.workers.table()
            figure = "workers" if known else "votes"
        return show("html.figure", self, figure)

    def to_dict(self) -> dict[str, Any]:
        """Return all facts of the result, as in result.json."""
        facts: dict[str, Any] = show("plain.to_plain", show("summary.result_summary", self, seed=self.settings.seed))
        return facts

    def to_json(self) -> str:
        """Return the facts as JSON text."""
        text: str = show("plain.to_json", self.to_dict())
        return text

    def summary(self) -> str:
        """Return the answer in a few lines, as the command line prints it."""
        text: str = show("text.answer_text", self, command=show("answer.python_command", self))
        return text

    def __repr__(self) -> str:
        n_items, n_workers, _ = self.votes.shape
        size = f"{n_items:,} items, {n_workers:,} workers"
        return f"Result: {show('answer.headline', self)}\n{size}; labels, workers and review have to_pandas()"

    def _repr_html_(self) -> str:
        page: str = show("html.result_html", self)
        return page
