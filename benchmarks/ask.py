"""How many expert labels settle a question on public sets, and how often wrongly?

python benchmarks/ask.py [pair|race|accuracy|plan|leader] [REPEATS] [SET ...]

MAJORANT_DATA names the folder of the sets.  Only items with gold labels are used; the gold labels are revealed one by
one, in the order of the design.  Our medians are shown next to those of the study that the designs come from (19 public
sets, study code, usually 200 repeats); constants of the designs were chosen on sets that include these.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

import board
from ask_sets import BELIEF, MEAN, METHODS, Population, populations
from majorant.ask.accuracy import AIM, bound_accuracy, is_reached, planned_labels
from majorant.ask.freeze import expected_leads
from majorant.ask.question import OPEN, UNASKED
from majorant.ask.race import Race
from majorant.ask.session import untied_labels
from majorant.defaults import WEIGHTED_VOTE as COMBINATION
from majorant.tally import tied

Ints = NDArray[np.int64]
GOAL, WITHIN = 1.3, 0.01
STUDY_SETS = ("CF", "CF_amt", "MS", "SP", "SP_amt", "ZenCrowd_in", "ZenCrowd_us", "D-Product", "d_sentiment")
STUDY = {  # medians, for those sets, adult and fact_eval
    part: dict(zip((*STUDY_SETS, "adult", "fact_eval"), labels, strict=True))
    for part, labels in {
        "pair": (18, 8, 17, 18, 0, 78, 18, 25, 16, 58, 9),
        "race": (33, 12, 43, 18, 0, 232, 67, 63, 21, 61, 11),
        "accuracy": (220, 230, 465, 560, 235, 860, 530, 480, 250, 280, 335),
    }.items()
}


def pair(population: Population, seed: int) -> tuple[int, str, bool]:
    """Number of labels, verdict and whether it is wrong: majority vote against the study's label-free choice."""
    rule = "dawid-skene" if population.name == "fact_eval" else MEAN
    return _settle(*_race(population, ("majority", rule), np.random.default_rng(seed)))


def _settle(race: Race, truth_d: Ints) -> tuple[int, str, bool]:
    def verdict(n: int) -> str:
        return race.standing(np.where(np.arange(race.size) < n, truth_d, UNASKED)).compare_two()

    used = _first(0, race.size, lambda n: verdict(n) != OPEN)
    lead = float((race.label_rd[1] == truth_d).sum() - (race.label_rd[0] == truth_d).sum()) / race.n_items
    right = {"better": lead > 0, "worse": lead < 0, "same": abs(lead) <= WITHIN + 1e-9}[verdict(used)]
    return used, verdict(used), not right


def _race(population: Population, rules: tuple[str, ...], rng: np.random.Generator) -> tuple[Race, Ints]:
    """The race of these rules in a random order of the items whose votes are not tied, and the truth in that order."""
    plurality_i = population.counts_ik.argmax(axis=1)
    label_ri = np.array([untied_labels(population.posterior_rik[rule], plurality_i) for rule in rules])
    order = rng.permutation(np.flatnonzero((label_ri != label_ri[0]).any(axis=0) & ~tied(population.counts_ik)))
    favourite = rules.index(MEAN) if MEAN in rules else 0
    belief_rd = population.posterior_rik[BELIEF][order, label_ri[:, order]]
    lead_qr, decisive_qr = expected_leads(label_ri[:, order], belief_rd)
    plan = {"lead_qr": lead_qr, "decisive_qr": decisive_qr, "tolerance": WITHIN}
    race = Race.of(rules, label_ri[:, order], n_items=label_ri.shape[1], favourite=favourite, **plan)
    return race, population.truth_i[order]


def plan(population: Population, rules: tuple[str, str], seed: int) -> tuple[int, int]:
    """The planned and the actual number of labels."""
    pair, truth_d = _race(population, rules, np.random.default_rng(seed))
    return pair.expected(), _settle(pair, truth_d)[0]


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Bisection: the smallest number at which a monotone condition holds; it holds at `high`."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return high


def race(population: Population, seed: int) -> tuple[int, str, bool]:
    """Labels until one of eight rules is within a point of the best, one label at a time."""
    race, truth_d = _race(population, (MEAN, *METHODS), np.random.default_rng(seed))
    answer_d, used, standing = np.full(race.size, UNASKED), 0, race.standing(np.full(race.size, UNASKED))
    while len(standing.open_rules):
        asked = np.flatnonzero(
            (answer_d == UNASKED) & (race.label_rd[standing.open_rules] != race.label_rd[standing.leader]).any(axis=0)
        )[0]
        answer_d[asked], used = truth_d[asked], used + 1
        standing = race.standing(answer_d, standing)
    return used, "within", _regret(race, truth_d, standing.leader) > WITHIN + 1e-9


def _regret(race: Race, truth_d: Ints, rule: int) -> float:
    right_r = (race.label_rd == truth_d).sum(axis=1)
    return float(right_r.max() - right_r[rule]) / race.n_items


def leader(population: Population, seed: int) -> list[float]:
    """How far below the best of eight rules are the label-free choice and the leader after 25, 50 and 100 labels?"""
    race, truth_d = _race(population, (MEAN, *METHODS), np.random.default_rng(seed))
    after = [race.standing(np.where(np.arange(race.size) < n, truth_d, UNASKED)).leader for n in (25, 50, 100)]
    return [100 * _regret(race, truth_d, rule) for rule in (0, *after)]


def accuracy(population: Population, seed: int) -> tuple[int, str, bool]:
    """Labels until the accuracy of the label-free choice is known to three points, checking after every ten."""
    rng = np.random.default_rng(seed)
    right_i = (population.answers(MEAN, rng) == population.truth_i).astype(np.int64)
    path, n_items = rng.permutation(right_i), len(right_i)

    def at(tens: int) -> int:
        return min(10 * tens, n_items)

    def is_known(tens: int) -> bool:
        return is_reached(bound_accuracy(path[: at(tens)], n_items=n_items), AIM)

    used = at(_first(1, -(-n_items // 10), is_known))
    share = bound_accuracy(path[:used], n_items=n_items)
    assert share.low is not None and share.high is not None  # noqa: PT018
    return used, "reached", not share.low - 1e-9 <= right_i.mean() <= share.high + 1e-9


COUNTED = {"pair": pair, "race": race, "accuracy": accuracy}
PLAN = "plan"
GAINS = {"leader": (leader, ("label-free", "25 labels", "50", "100"))}


def count(part: str, repeats: int, names: Sequence[str]) -> None:
    """Labels needed, compared with the study's, and wrong decisions."""
    print(
        f"{part}, {repeats} repeats\n{'set':14}{'median':>8}{'90th':>7}{'study':>7}{'ratio':>7}{'wrong':>7}  verdicts"
    )
    ratios, errors, runs = [], 0, 0
    for population in populations(list(names)):
        found = [COUNTED[part](population, seed) for seed in range(repeats)]
        labels, verdicts, wrong = [row[0] for row in found], [row[1] for row in found], sum(row[2] for row in found)
        study, median = STUDY[part][population.name], float(np.median(labels))
        ratio = median / study if study else 1.0 + (median > 0)
        ratios, errors, runs = [*ratios, ratio], errors + wrong, runs + repeats
        told = ", ".join(f"{verdict} {verdicts.count(verdict)}" for verdict in dict.fromkeys(verdicts))
        plan = ""
        if part == "accuracy":
            right = (population.posterior_rik[MEAN].argmax(axis=1) == population.truth_i).mean()
            plan = f"; planned {planned_labels(float(right), n_items=len(population.truth_i))}"
        numbers = f"{median:8.0f}{np.quantile(labels, 0.9):7.0f}{study:7}{ratio:7.2f}{wrong:7}"
        print(f"{population.name:14}{numbers}  {told}{plan}", flush=True)
    board.at_most(f"labels for {part}, worst set", f"{len(ratios)} sets x {repeats}", "the study", max(ratios), GOAL)
    board.at_most(f"wrong decisions, {part}", f"{errors} of {runs}", "5 %", errors / runs / 0.05, 1)


def plans(part: str, repeats: int, names: Sequence[str]) -> None:
    """Labels planned from the models' forecasts and labels needed, for majority vote against the weighted vote."""
    print(f"{part}, {repeats} repeats\n{'set':14}{'differ':>8}{'planned':>9}{'needed':>8}{'90th':>7}{'ratio':>7}")
    near, rows = 0, 0
    for population in populations(list(names)):
        found = np.array([plan(population, ("majority", COMBINATION), seed) for seed in range(repeats)])
        (planned, needed), late = np.median(found, axis=0), np.quantile(found[:, 1], 0.9)
        ratio = (planned + 1) / (needed + 1)
        near, rows = near + (0.5 <= ratio <= 2), rows + 1
        differ = _race(population, ("majority", COMBINATION), np.random.default_rng(0))[0].n_differ
        print(f"{population.name:14}{differ:8}{planned:9.0f}{needed:8.0f}{late:7.0f}{ratio:7.2f}", flush=True)
    board.at_least(
        "sets with labels planned within a factor 2", f"{near} of {rows}", "half of them", 2 * near / rows, 1
    )


def gains(part: str, repeats: int, names: Sequence[str]) -> None:
    """Means over repeats, in points."""
    measure, heads = GAINS[part]
    print(f"{part}, {repeats} repeats\n{'set':14}" + "".join(f"{head:>21}" for head in heads))
    rows = []
    for population in populations(list(names)):
        rows.append(np.mean([measure(population, seed) for seed in range(repeats)], axis=0))
        print(f"{population.name:14}" + "".join(f"{value:21.2f}" for value in rows[-1]), flush=True)
    print(f"{'mean':14}" + "".join(f"{value:21.2f}" for value in np.mean(rows, axis=0)))
    print(f"{'highest':14}" + "".join(f"{value:21.2f}" for value in np.max(rows, axis=0)))


def main() -> None:
    """Run one part, or all parts with few repeats."""
    arguments = sys.argv[1:]
    known = [*COUNTED, PLAN, *GAINS]
    parts = [arguments.pop(0)] if arguments and arguments[0] in known else known
    repeats = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else 20
    for part in parts:
        (count if part in COUNTED else plans if part == PLAN else gains)(part, repeats, arguments)


if __name__ == "__main__":
    main()
