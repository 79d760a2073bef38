"""Are the numbers true?  Confidence, workers, review list and plan against the gold labels of public data sets.

    MAJORANT_DATA=... python benchmarks/truth.py [--write] [--peers PYTHON]

Gold is hidden from the product, and every number is held against it, beside something simple (the anchor): vote
share, crowd-kit and cleanlab for confidence, agreement for the order of workers, the smallest margin for the review
list.  Exits with 1 where a number is worse than its anchor by more than the margin stated with it.  `--write` writes
docs/truth.md and the tables in docs/labels.md and docs/review.md.  `--peers` runs crowd-kit and cleanlab again, in a
Python that has them, into truth_peers.json; else what they said before is quoted.  Two minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import majorant as mj
from majorant.evidence.certificate.certificate import Verdict
from majorant.evidence.certificate.plug_in import shared_model
from majorant.evidence.copies import find_copies
from majorant.evidence.evidence import Certainty, Status
from majorant.evidence.labels import right_share
from majorant.methods import ESTIMATORS
from majorant.methods.majority import Majority
from majorant.pipeline import Result
from majorant.results.plan import Stop
from majorant.results.review import label_doubt
from majorant.tally import counts, is_panel
from majorant.theory import majority_accuracy
from majorant.votes import Votes
from public_sets import data_sets

Floats = NDArray[np.float64]
HERE = Path(__file__).parent
DOCS, PEERS = HERE.parent / "docs", HERE / "truth_peers.json"
MADE_HERE = "<!-- made by benchmarks/truth.py --write -->"
DRAWS = 3
PEER_NAMES = ("crowd-kit DS", "cleanlab")


@dataclass(frozen=True)
class Goal:
    """A number that must not be worse than its anchor by more than a margin; larger is better unless told otherwise."""

    name: str
    value: float
    anchor: float
    margin: float
    smaller: bool = False

    @property
    def met(self) -> bool:
        lead = self.anchor - self.value if self.smaller else self.value - self.anchor
        return lead >= -self.margin


@dataclass(frozen=True)
class Set:
    """A public data set, and what the product says about it with gold hidden."""

    name: str
    votes: Votes
    result: Result

    @property
    def panel(self) -> bool:
        return is_panel(self.votes.shape, self.votes.n_votes)

    @property
    def known(self) -> NDArray[np.int64]:
        """Items with gold and votes."""
        assert self.votes.gold_i is not None
        return np.flatnonzero((self.votes.gold_i >= 0) & (self.votes.votes_i > 0))

    def right(self, label_i: NDArray[np.integer]) -> Floats:
        assert self.votes.gold_i is not None
        return (label_i == self.votes.gold_i)[self.known].astype(float)

    @property
    def written(self) -> tuple[NDArray[np.int64], Floats]:
        """The code of the label that is written for each item, and its confidence."""
        table = self.result.labels.table()
        return np.asarray(table["label"].code_n), np.asarray(table["confidence"], dtype=float)


def main() -> None:
    """All tables, the page if asked for, and the goals."""
    warnings.simplefilter("ignore", UserWarning)
    folder = Path(os.environ["MAJORANT_DATA"])
    sets = [
        Set(name, votes, mj.check(replace(votes, gold_i=None)))
        for name, votes in data_sets(folder)
        if name != "orders"  # both orders of llmbar_six
    ]
    if "--peers" in sys.argv:
        PEERS.write_text(json.dumps(run_peers(sets, sys.argv[sys.argv.index("--peers") + 1]), indent=1) + "\n")
    parts: dict[str, str] = {}
    goals: list[Goal] = []
    for section in (confidence, confidence_with_gold, workers, review_list, forecasts, stopping, simulated_copies):
        parts[section.__name__], new = section(sets)
        print(parts[section.__name__], flush=True)
        goals += new
    print(goal_table(goals))
    if "--write" in sys.argv:
        fill("labels.md", parts.pop("confidence") + "\n" + parts.pop("confidence_with_gold"))
        fill("review.md", review_means(parts["review_list"]))
        page = "\n".join([HEAD, *parts.values(), "## Goals\n", goal_table(goals)])
        (DOCS / "truth.md").write_text(page, encoding="utf-8")
    if missed := [goal.name for goal in goals if not goal.met]:
        sys.exit(f"Missed: {'; '.join(missed)}")


HEAD = """# Are the numbers true?

Made by `python benchmarks/truth.py --write`; nothing here is written by hand. Gold labels are hidden from majorant, and
each number is held against them. The sets are public; some were looked at while the defaults were chosen, so expect a
little worse elsewhere. How well confidence is calibrated is on the page about [labels](labels.md).
"""


def fill(page: str, text: str) -> None:
    """Replace what this script wrote into a page before."""
    before, mark, rest = (DOCS / page).read_text(encoding="utf-8").partition(f"{MADE_HERE}\n")
    _, end, after = rest.partition("<!-- end -->")
    (DOCS / page).write_text(f"{before}{mark}\n{text}\n{end}{after}", encoding="utf-8")


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def goal_table(goals: list[Goal]) -> str:
    """Each number, its anchor, how much worse it may be, and whether it is met."""
    rows = [
        (goal.name, f"{goal.value:.3f}", f"{goal.anchor:.3f}", f"{goal.margin:.3f}", "met" if goal.met else "MISSED")
        for goal in goals
    ]
    return table(("number", "majorant", "anchor", "may be worse by", ""), rows)


def mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


def calibration_error(sure: Floats, right: Floats) -> float:
    """Expected calibration error in ten bins of equal width."""
    place = np.clip(np.ceil(sure * 10).astype(int) - 1, 0, 9)
    return float(sum(abs((right - sure)[place == b].sum()) for b in range(10)) / len(sure))


def brier(sure: Floats, right: Floats) -> float:
    return float(((sure - right) ** 2).mean())


def vote_share(one: Set) -> tuple[NDArray[np.int64], Floats]:
    """Majority vote's label, ties by the first, and its share of the votes."""
    count_ik = counts(one.votes)
    return count_ik.argmax(axis=1), count_ik.max(axis=1) / np.maximum(one.votes.votes_i, 1)


def confidence(sets: list[Set]) -> tuple[str, list[Goal]]:
    """Confidence of the written labels, without gold."""
    peers = json.loads(PEERS.read_text()) if PEERS.exists() else {"versions": [], "sets": {}}
    scores: dict[str, list[tuple[float, ...]]] = {"crowd": [], "panel": []}
    rows = []
    for one in sets:
        cells: list[float] = []
        for label_i, sure_i in (one.written, vote_share(one)):
            right = one.right(label_i)
            cells += [calibration_error(sure_i[one.known], right), brier(sure_i[one.known], right)]
        theirs = peers["sets"].get(one.name, {})
        for peer in PEER_NAMES:
            cells += theirs.get(peer, [float("nan")] * 2)
        scores["panel" if one.panel else "crowd"].append(tuple(cells))
        rows.append((one.name, "panel" if one.panel else "crowd", *(f"{cell:.3f}" for cell in cells)))
    for kind, values in scores.items():
        rows.append((f"**mean of {len(values)} {kind}s**", "", *(f"**{x:.3f}**" for x in np.nanmean(values, axis=0))))
    every = np.nanmean([*scores["crowd"], *scores["panel"]], axis=0)
    rows.append(("**mean of all**", "", *(f"**{x:.3f}**" for x in every)))
    names = ("majorant", "vote share", *PEER_NAMES)
    head = ("set", "", *(f"{name}, {what}" for name in names for what in ("ECE", "Brier")))
    about = (
        "## Confidence without gold\n\nExpected calibration error (ten bins) and Brier score of each label's "
        f"confidence; smaller is better. Peers: {', '.join(peers['versions'])}; cleanlab is given smoothed vote "
        "shares for a classifier's probabilities.\n\n"
    )
    goals = [
        Goal("confidence, ECE, beside vote share", every[0], every[2], 0.0, smaller=True),
        Goal("confidence, Brier, beside vote share", every[1], every[3], 0.0, smaller=True),
        Goal("confidence on panels, ECE, beside vote share", float(np.mean([x[0] for x in scores["panel"]])),
             float(np.mean([x[2] for x in scores["panel"]])), 0.01, smaller=True),
    ]  # fmt: skip
    for n, peer in enumerate(PEER_NAMES):
        if not np.isnan(every[4 + 2 * n]):
            goals.append(Goal(f"confidence, ECE, beside {peer}", every[0], every[4 + 2 * n], 0.0, smaller=True))
    return about + table(head, rows), goals


def run_peers(sets: list[Set], python: str) -> dict[str, object]:
    """Run crowd-kit and cleanlab on each set, and score their confidence."""
    found: dict[str, object] = {}
    versions: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for one in sets:
            given, made = Path(folder, "votes.npz"), Path(folder, "peers.npz")
            v = one.votes
            np.savez(
                given, item=v.item_n, worker=v.worker_n, label=v.label_n, n_classes=len(v.labels), n_items=len(v.items)
            )
            subprocess.run([python, str(HERE / "truth_peers.py"), str(given), str(made)], check=True)
            theirs = np.load(made)
            versions = [str(version) for version in theirs["versions"]]
            found[one.name] = {
                peer: [round(f(theirs[f"{key}_sure"][one.known], one.right(theirs[f"{key}_label"])), 4)
                       for f in (calibration_error, brier)]
                for peer, key in zip(PEER_NAMES, ("crowdkit", "cleanlab"), strict=True)
            }  # fmt: skip
    return {"versions": versions, "sets": found}


def with_some_gold(one: Set, n_gold: int, seed: int) -> tuple[Votes, NDArray[np.int64]] | None:
    """The votes with some gold labels drawn at random, and the other items with gold; None where too few are left."""
    order = np.random.default_rng(seed).permutation(one.known)
    if len(order) < n_gold + 100:
        return None
    assert one.votes.gold_i is not None
    gold_i = np.full(len(one.votes.items), -1, dtype=np.int32)
    gold_i[order[:n_gold]] = one.votes.gold_i[order[:n_gold]]
    return replace(one.votes, gold_i=gold_i), order[n_gold:]


def confidence_with_gold(sets: list[Set]) -> tuple[str, list[Goal]]:
    """Confidence of majority vote's labels with 50 and 100 gold labels, on the items that were not labelled."""
    from majorant.results.calibrate import calibrate

    rows, errors = [], {50: [], 100: []}
    plain: dict[int, list[float]] = {50: [], 100: []}
    for one in sets:
        cells = [one.name]
        fit = Majority().fit(one.votes)
        for n_gold in (50, 100):
            ours, shares = [], []
            for seed in range(DRAWS):
                drawn = with_some_gold(one, n_gold, seed)
                if drawn is None:
                    continue
                votes, rest = drawn
                assert one.votes.gold_i is not None
                right = right_share(fit.posterior[rest], one.votes.gold_i[rest])
                ours.append(calibration_error(calibrate(votes, fit, rng=0).confidence_i[rest], right))
                shares.append(calibration_error(fit.posterior[rest].max(axis=1), right))
            if ours:
                errors[n_gold].append(mean(ours))
                plain[n_gold].append(mean(shares))
            cells += [f"{mean(ours):.3f}" if ours else "", f"{mean(shares):.3f}" if shares else ""]
        rows.append(tuple(cells))
    rows.append(("**mean**", *(f"**{mean(x[n]):.3f}**" for n in (50, 100) for x in (errors, plain))))
    head = ("set", "ECE, 50 gold", "vote share", "ECE, 100 gold", "vote share")
    about = (
        "## Confidence with gold\n\nMajority vote's labels on the items without a gold label, mean of three draws.\n\n"
    )
    goals = [
        Goal(f"confidence with {n} gold labels, ECE", mean(errors[n]), mean(plain[n]), 0.0, smaller=True)
        for n in (50, 100)
    ]
    return about + table(head, rows), goals


def spearman(a: Floats, b: Floats) -> float:
    ranks = [np.argsort(np.argsort(x)).astype(float) for x in (a, b)]
    return float(np.corrcoef(*ranks)[0, 1]) if len(a) > 2 else float("nan")


def workers(sets: list[Set]) -> tuple[str, list[Goal]]:
    """Estimated accuracies of crowd workers against gold: intervals, order, flags."""
    rows, held, order, agreed = [], [], [], []
    n_held = n_workers = n_weak = n_weak_right = 0
    for one in sets:
        if one.panel:
            continue
        found, v = one.result.workers, one.votes
        assert v.gold_i is not None
        gold_n = v.gold_i[v.item_n]
        known = gold_n >= 0
        n_j = np.bincount(v.worker_n[known], minlength=len(v.workers))
        right_j = np.bincount(v.worker_n[known], weights=(gold_n == v.label_n)[known], minlength=len(v.workers))
        judged = np.flatnonzero((n_j >= 10) & (n_j >= 0.5 * found.votes_j) & (found.votes_j >= 10))
        true = right_j[judged] / n_j[judged]
        weak = np.flatnonzero(found.weak_j & (n_j >= 10))
        n_weak += len(weak)
        n_weak_right += int((right_j[weak] / n_j[weak] < found.chance_j[weak] + 0.2).sum())
        if len(judged) < 5:
            continue
        inside = (found.low_j[judged] - 1e-9 <= true) & (true <= found.high_j[judged] + 1e-9)
        held.append(float(inside.mean()))
        n_held, n_workers = n_held + int(inside.sum()), n_workers + len(judged)
        order.append(spearman(found.accuracy_j[judged], true))
        agreed.append(spearman(found.agreement_j[judged], true))
        too_high = float((found.accuracy_j[judged] - true).mean())
        rows.append((one.name, f"{len(judged)}", f"{held[-1]:.2f}", f"{100 * too_high:+.1f}", f"{order[-1]:.2f}",
                     f"{agreed[-1]:.2f}"))  # fmt: skip
    rows.append(("**mean**", f"**{n_workers}**", f"**{mean(held):.2f}**", "", f"**{mean(order):.2f}**",
                 f"**{mean(agreed):.2f}**"))  # fmt: skip
    head = ("crowd", "workers", "95% interval holds", "too high by, points", "order, Spearman", "order by agreement")
    about = (
        "## Workers without gold\n\nCrowd workers with ten votes or more, at least half of them on gold items. The "
        f"interval holds the true accuracy of {n_held} of {n_workers} workers. {n_weak_right} of {n_weak} workers "
        "called barely better than guessing are right on less than 20 points above guessing. Panels get no accuracies "
        "without gold.\n\n"
    )
    goals = [
        Goal("95% intervals of workers hold", n_held / n_workers, 0.95, 0.0),
        Goal("95% intervals hold, mean over crowds", mean(held), 0.95, 0.02),
        Goal("order of workers beside agreement", mean(order), mean(agreed), 0.02),
        Goal("weak workers are weak", n_weak_right / max(n_weak, 1), 0.95, 0.0),
    ]
    return about + table(head, rows), goals


def wrong_among(wrong: Floats, doubt: Floats, most: int) -> float:
    """Share of wrong labels among the most doubtful; equally doubtful ones come in random order."""
    most = min(most, len(doubt))
    least = np.sort(doubt)[-most]
    sure, equal = doubt > least, doubt == least
    return float((wrong[sure].sum() + (most - sure.sum()) * wrong[equal].mean()) / most)


def review_list(sets: list[Set]) -> tuple[str, list[Goal]]:
    """Wrong labels among the first 20 and 100 of the list: of the labels written, and of majority vote's labels."""
    rows, cells, added = [], [], []
    for one in sets:
        label_i, sure_i = one.written
        majority_i, _ = vote_share(one)
        blind, models = replace(one.votes, gold_i=None), models_of(one) if one.result.review.by_models else []
        count_ik, every = counts(one.votes).astype(float), np.arange(len(label_i))
        line: list[float] = []
        for labels in (label_i, majority_i):
            own_i, others_ik = count_ik[every, labels], count_ik.copy()
            others_ik[every, labels] = 0
            margin_i = (others_ik.max(axis=1) - own_i) / (
                one.votes.votes_i + 1
            )  # two of two are less than nine of nine
            ours_i = label_doubt(blind, labels, sure_i, models)
            wrong = 1 - one.right(labels)
            line += [wrong_among(wrong, order[one.known], most) for most in (20, 100) for order in (ours_i, margin_i)]
        listed = np.isin(one.known, one.result.review.item_p)
        if listed.sum() >= 20:  # of 100; the others have no gold
            said = one.result.review.gain * np.count_nonzero(one.votes.votes_i) / len(one.result.review.item_p)
            added.append(float((1 - one.right(label_i))[listed].mean() / said))
        cells.append((*line, (1 - sure_i[one.known]).mean(), 1 - one.right(label_i).mean()))
        rows.append((one.name, *(f"{x:.2f}" for x in line)))
    cell_sc = np.array(cells)
    mean_c, worst_c = cell_sc.mean(axis=0), (cell_sc[:, 0:8:2] - cell_sc[:, 1:8:2]).min(axis=0)
    rows.append(("**mean**", *(f"**{x:.2f}**" for x in mean_c[:8])))
    head = ("set", "as written, first 20", "by margin", "first 100", "by margin", "majority's, first 20", "by margin",
            "first 100", "by margin")  # fmt: skip
    about = (
        "## Review list\n\nShare of wrong labels among the first 20 and 100 items of the list, beside a list by the "
        "smallest margin: for the labels that are written, and for majority vote's labels, which hold more mistakes. "
        f"Worst set beside the margin: {worst_c[0]:+.2f} and {worst_c[1]:+.2f}, {worst_c[2]:+.2f} and "
        f"{worst_c[3]:+.2f}. The labels are expected to be wrong on {100 * mean_c[8]:.0f}% of the items, and are on "
        f"{100 * mean_c[9]:.0f}%. An expert on the whole list adds {np.median(added):.1f} times the accuracy "
        f"that is expected, in the median ({np.quantile(added, 0.1):.1f} to "
        f"{np.quantile(added, 0.9):.1f} on 8 sets of 10).\n\n"
    )
    goals = [
        Goal("accuracy that an expert adds, as a share of what is expected", float(np.median(added)), 1.0, 0.1),
        Goal("review of written labels, first 20, beside margin", mean_c[0], mean_c[1], 0.0),
        Goal("review of written labels, first 100, beside margin", mean_c[2], mean_c[3], 0.0),
        Goal("review of written labels, first 100, worst set beside margin", worst_c[1], 0.0, 0.08),
        Goal("review of majority's labels, first 20", mean_c[4], 0.60, 0.0),
        Goal("review of majority's labels, first 100, beside margin", mean_c[6], mean_c[7], 0.0),
    ]
    return about + table(head, rows), goals


def review_means(text: str) -> str:
    """The last row of the table of review lists as a table of its own."""
    cells = next(line for line in text.splitlines() if line.startswith("| **mean**")).replace("*", "").split(" | ")[1:]
    rows = [(name, *cells[at : at + 4]) for name, at in (("the labels that are written", 0), ("majority vote's", 4))]
    rows = [tuple(cell.strip(" |") for cell in row) for row in rows]
    return table(("wrong labels among", "first 20", "by margin", "first 100", "by margin"), rows)


def models_of(one: Set) -> list[Floats]:
    """What each model of the weighted vote believes, as the product fits them."""
    from majorant.methods.weighted_vote import combination

    made = combination(replace(one.votes, gold_i=None))
    return [] if made is None else [fit.posterior for name, fit in made.fits.items() if name != "majority"]


def some_votes(votes: Votes, n_votes: int, seed: int) -> Votes:
    """So many votes of each item, drawn at random."""
    draw = np.random.default_rng(seed).random(votes.n_votes)
    order = np.lexsort((draw, votes.item_n))
    rank = np.arange(votes.n_votes) - votes.offsets_i[votes.item_n[order]]
    kept = np.sort(order[rank < n_votes])
    return Votes.from_codes(
        votes.item_n[kept], votes.worker_n[kept], votes.label_n[kept],
        items=votes.items, workers=votes.workers, labels=votes.labels, gold=votes.gold_i,
    )  # fmt: skip


def forecasts(sets: list[Set]) -> tuple[str, list[Goal]]:
    """From three votes per item: the gain that a model expects of more votes, and the true gain."""
    rows: list[tuple[str, ...]] = []
    by_kind: dict[str, list[tuple[float, float, float]]] = {"crowd": [], "panel": []}
    for one in sets:
        kind = "panel" if one.panel else "crowd"
        for n_votes in (5, 7, 9, 15):
            assert one.votes.gold_i is not None
            items = np.flatnonzero((one.votes.gold_i >= 0) & (one.votes.votes_i >= n_votes))
            if len(items) < 100 or len(one.votes.items) > 20_000:
                continue
            drawn = []
            for seed in range(DRAWS):
                few, more = some_votes(one.votes, 3, seed), some_votes(one.votes, n_votes, seed)
                model = shared_model(few, ESTIMATORS["shared"]().fit(replace(few, gold_i=None)))
                expected = [majority_accuracy(*model, n) for n in (3, n_votes)]
                true = [
                    float(right_share(Majority().fit(v).posterior[items], one.votes.gold_i[items]).mean())
                    for v in (few, more)
                ]
                drawn.append((expected[1] - expected[0], true[1] - true[0], expected[1] - true[1]))
            gain, came, level = np.mean(drawn, axis=0)
            by_kind[kind].append((gain, came, level))
            rows.append((one.name, kind, f"3 to {n_votes}", *(f"{100 * x:+.1f}" for x in (gain, came, level))))
    crowd, panel = (np.array(by_kind[kind]) for kind in ("crowd", "panel"))
    low, high = np.quantile(crowd[:, 1] / crowd[:, 0], [0.1, 0.9])
    off = [float(np.abs(x[:, 0] - x[:, 1]).mean()) for x in (crowd, panel)]
    about = (
        "## Forecasts of more votes\n\nFrom three votes per item, in points. On crowds the gain is off by "
        f"{100 * off[0]:.1f} points on average, and {low:.1f} to {high:.1f} times the forecast came true (8 of 10 "
        f"forecasts); the level is off by {100 * np.abs(crowd[:, 2]).mean():.1f}. On panels the true gain is "
        f"{100 * panel[:, 1].mean():+.1f} points on average, where {100 * panel[:, 0].mean():+.1f} are forecast, and "
        f"the level is off by {100 * np.abs(panel[:, 2]).mean():.0f}: nothing is forecast there.\n\n"
    )
    head = ("set", "", "votes", "gain forecast", "true gain", "level too high by")
    goals = [
        Goal("forecast of the gain on crowds, off by (points)", 100 * off[0], 2.0, 0.5, smaller=True),
        Goal("lower end of what came true", low, 0.5, 0.1),
    ]
    return about + table(head, rows), goals


def stopping(sets: list[Set]) -> tuple[str, list[Goal]]:
    """What stopping early saves."""
    rows, saved, changed = [], [], []
    for one in sets:
        plan = one.result.plan
        if plan is None:
            continue
        decided, lead = ({stop.stop: stop for stop in plan.stopping}[kind] for kind in Stop)
        saved.append(decided.votes_saved)
        changed.append(decided.labels_changed)
        rows.append((one.name, f"{plan.votes_now:.1f}", f"{decided.votes_saved:.0%}", f"{lead.votes_saved:.0%}",
                     f"{lead.labels_changed:.1%}"))  # fmt: skip
    head = ("set", "votes per item", "saved once decided", "saved at a lead of three", "labels changed by that")
    about = "## Stopping early\n\nOnce the votes to come cannot change the label, stopping changes no label.\n\n"
    return about + table(head, rows), [
        Goal("labels changed by stopping once decided", max(changed), 0.0, 0.0, smaller=True)
    ]


def simulated_copies(_: list[Set]) -> tuple[str, list[Goal]]:
    """Near copies in simulated panels, false alarms on independent judges, and what is claimed about such panels."""
    rows, found_all, false_all, claimed = [], [], [], 0
    for kind, judged in PANELS.items():
        rng = np.random.default_rng(11)
        found, false = [], []
        for run in range(90):
            n_judges, n_classes = int(rng.integers(5, 10)), int(rng.integers(2, 5))
            false.append(bool(find_copies(as_votes(judged(rng, n_judges, n_classes))).groups))
            votes, pairs = with_near_copies(rng, judged(rng, n_judges, n_classes), 1 + run % 3)
            groups = find_copies(votes).workers
            found.append(all(any(pair <= set(group) for group in groups) for pair in pairs))
            claimed += run < 12 and claims_optimal(votes)
        rows.append((kind, f"{np.mean(found):.2f}", f"{np.mean(false):.2f}"))
        found_all.append(float(np.mean(found)))
        false_all.append(float(np.mean(false)))
    named, identical_claimed, untestable = identical_judges()
    head = ("simulated panels", "all copies found", "false alarms")
    about = (
        "## Copies\n\nPanels of 5 to 9 judges on 400 items, 2 to 4 classes; 1 to 3 judges repeat another on 90 to 95% "
        "of the items. 90 panels with and 90 without copies of each kind. Of 12 panels with copies of each kind, "
        f"majority vote is called optimal on {claimed}. In 24 panels of 3 to 60 judges two of whom gave identical "
        f"answers on 100 shared items, they are named in {100 * named:.0f}%, and majority vote is called optimal on "
        f"{identical_claimed}. With three judges, two classes and a near copy, the assumption that nobody repeats "
        f"another is called untestable in {100 * untestable:.0f}% of 20 panels.\n\n"
    )
    goals = [
        Goal("copies found, worst kind of panel", min(found_all), 0.8, 0.0),
        Goal("false alarms about copies, worst kind of panel", max(false_all), 0.05, 0.0, smaller=True),
        Goal("panels with copies on which majority vote is called optimal", claimed, 0, 0.0, smaller=True),
        Goal("identical judges named", named, 1.0, 0.0),
        Goal("panels of identical judges on which majority vote is called optimal", identical_claimed, 0, 0.0,
             smaller=True),
        Goal("near copies among three judges called untestable", untestable, 1.0, 0.0),
    ]  # fmt: skip
    return about + table(head, rows), goals


def with_near_copies(
    rng: np.random.Generator, label_ij: NDArray[np.int64], n_copies: int
) -> tuple[Votes, list[set[int]]]:
    """The panel with some judges who repeat another on 90 to 95% of the items, and the pairs."""
    judge, pairs = rng.permutation(label_ij.shape[1]), []
    for copy in judge[:n_copies]:
        source = rng.choice(judge[n_copies:])
        repeats_i = rng.random(len(label_ij)) < rng.uniform(0.9, 0.95)
        label_ij[:, copy] = np.where(repeats_i, label_ij[:, source], label_ij[:, copy])
        pairs.append({int(source), int(copy)})
    return as_votes(label_ij), pairs


def claims_optimal(votes: Votes) -> bool:
    """Whether the answer or a claim says that majority vote is optimal, as proved or supported."""
    result = mj.check(votes)
    claims = [claim for claim in result.certificate.claims if claim.verdict == Verdict.OPTIMAL]
    return bool(claims) or result.answer.certainty in (Certainty.PROVED, Certainty.SUPPORTED)


def identical_judges() -> tuple[float, int, float]:
    """How often identical judges are named, on how many panels majority vote is called optimal, and, for near copies
    among three judges, how often the assumption is called untestable."""
    rng = np.random.default_rng(12)
    named, claimed, untestable = [], 0, []
    for run, n_judges in enumerate([3, 4, 5, 7, 9, 15, 30, 60] * 3):
        label_ij = unequal_judges(rng, n_judges, 2 + run % 3)[:100]
        a, b = rng.choice(n_judges, 2, replace=False)
        label_ij[:, a] = label_ij[:, b]
        votes = as_votes(label_ij)
        named.append(any({int(a), int(b)} <= set(group) for group in find_copies(votes).workers))
        claimed += n_judges <= 15 and claims_optimal(votes)
    for _ in range(20):
        votes, _ = with_near_copies(rng, judge_items(rng, np.tile(rng.uniform(0.6, 0.92, 3), (400, 1)), 2), 1)
        untestable.append(find_copies(votes).tested.status is Status.UNTESTABLE)
    return float(np.mean(named)), claimed, float(np.mean(untestable))


def as_votes(label_ij: NDArray[np.int64]) -> Votes:
    """A full table of labels as votes."""
    n_items, n_judges = label_ij.shape
    return Votes.from_codes(
        np.repeat(np.arange(n_items), n_judges), np.tile(np.arange(n_judges), n_items), label_ij.ravel(),
        items=range(n_items), workers=range(n_judges), labels=range(int(label_ij.max()) + 1),
    )  # fmt: skip


def judge_items(rng: np.random.Generator, accuracy_ij: Floats, n_classes: int) -> NDArray[np.int64]:
    """Labels by judges who are right with these probabilities, independently of each other."""
    truth_i = rng.choice(n_classes, len(accuracy_ij), p=rng.dirichlet(np.full(n_classes, 5.0)))
    wrong_ij = (truth_i[:, None] + rng.integers(1, n_classes, accuracy_ij.shape)) % n_classes
    return np.where(rng.random(accuracy_ij.shape) < accuracy_ij, truth_i[:, None], wrong_ij)


def equal_judges(rng: np.random.Generator, n_judges: int, n_classes: int) -> NDArray[np.int64]:
    return judge_items(rng, np.full((400, n_judges), rng.uniform(0.6, 0.92)), n_classes)


def unequal_judges(rng: np.random.Generator, n_judges: int, n_classes: int) -> NDArray[np.int64]:
    return judge_items(rng, np.tile(rng.uniform(0.6, 0.92, n_judges), (400, 1)), n_classes)


def hard_items(rng: np.random.Generator, n_judges: int, n_classes: int) -> NDArray[np.int64]:
    """On some items everybody is near chance."""
    skill_j = rng.uniform(0.6, 0.92, n_judges)
    weak_j = 1 / n_classes + rng.uniform(0, 0.4) * (skill_j - 1 / n_classes)
    hard_i = rng.random((400, 1)) < rng.uniform(0.2, 0.5)
    return judge_items(rng, np.where(hard_i, weak_j, skill_j), n_classes)


def graded_items(rng: np.random.Generator, n_judges: int, n_classes: int) -> NDArray[np.int64]:
    """Items differ in difficulty by degrees."""
    skill_j = rng.uniform(0.6, 0.92, n_judges)
    odds_ij = np.exp(np.log(skill_j * (n_classes - 1) / (1 - skill_j)) * rng.lognormal(0, 1, (400, 1)))
    return judge_items(rng, odds_ij / (odds_ij + n_classes - 1), n_classes)


PANELS: dict[str, Callable[[np.random.Generator, int, int], NDArray[np.int64]]] = {
    "equal skill": equal_judges,
    "unequal skill": unequal_judges,
    "hard items": hard_items,
    "items of all difficulties": graded_items,
}


if __name__ == "__main__":
    main()
