"""How much do the judges' names gain without a label, on public panels of LLM judges?

MAJORANT_DATA=FOLDER python benchmarks/known.py [FIGURE.svg]       two minutes

Points gained over the plain majority vote, a tie counting half.  Families are the repositories that publish the sets.
The settings (half by name, 100 points for a factor of ten) were frozen before these figures.  Then the ratings are
shuffled among the judges of a panel, which must gain nothing, and each judge is taken for another model with
probability 10%, which should leave half of the gain: for a random model whose name begins with the same word, as a
careless matcher would, or (judges who are not recognised too) for a random model of the whole table, half of which
are better than GPT-4.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import board
from majorant.known import (
    SMOOTHING,
    TENFOLD,
    KnownJudge,
    KnownJudges,
    half_by_name,
    know_judges,
    public_ratings,
    vote_shares,
)
from majorant.methods.fit import chances
from majorant.values import FloatArray
from majorant.votes import Votes
from public_sets import find, load

FAMILIES = {
    "alt_": "nitaytech/AltTest",
    "code_": "crupig/LLMs-as-a-judge-for-SE-tse_RP",
    "dial_": "raffaele-aurucci/AutomaticDialogueEvaluation",
    "judging_judges": "UMass-Meta-LLM-Eval/llm_eval",
    "llmbar_": "princeton-nlp/LLMBar",
    "mtbench_pairs": "princeton-nlp/LLMBar",
    "mmlu_error": "aryopg/mmlu-redux",
    "realmistake_": "psunlpgroup/ReaLMistake",
    "setrel_": "GabrieleT0/Answer-Set-Consistency-of-LLMs-For-QA",
    "vaccines_": "digitalepidemiologylab/llm_crowd_experts_annotation",
}
DRAWS = 200
SHUFFLED, RELATIVE, ANYBODY = "shuffled ratings", "10% taken for relatives", "10% taken for anybody"


def family(name: str) -> str:
    """The repository that publishes a set."""
    return next((repository for start, repository in FAMILIES.items() if name.startswith(start)), name)


def accuracy(votes: Votes, score_ik: FloatArray) -> float:
    """The share of gold items labelled right, in percent; a gold label that nobody gave counts as wrong."""
    known_i = (votes.truth_i >= 0) & (votes.votes_i > 0)
    right_i = chances(np.asarray(score_ik, dtype=float)[known_i])
    return float(100 * right_i[np.arange(known_i.sum()), votes.truth_i[known_i]].mean())


def panels(folder: Path) -> Iterator[tuple[str, Votes, KnownJudges]]:
    """The panels of which enough judges are recognised."""
    for name, path, truth in find(folder):
        if path.parent.parent.name == "panels":
            votes = load(path, truth)
            known = know_judges(votes.workers, public_ratings())
            if known.decide:
                yield name, votes, known


def rules(votes: Votes, known: KnownJudges) -> dict[str, FloatArray]:
    """The score of each class under each rule."""
    plain_ik, rated_ik = vote_shares(votes), vote_shares(votes, known.weight_j)
    best_ik = vote_shares(votes, np.array([float(judge.weight == 1.0) for judge in known.judges]))
    absent_i = best_ik.sum(axis=1) == 0
    best_ik[absent_i] = plain_ik[absent_i]
    return {
        "half by name": half_by_name(votes, known.weight_j),
        "30% by name": (plain_ik + SMOOTHING) ** 0.7 * (rated_ik + SMOOTHING) ** 0.3,
        "70% by name": (plain_ik + SMOOTHING) ** 0.3 * (rated_ik + SMOOTHING) ** 0.7,
        "by name alone": rated_ik,
        "best-rated judge alone": best_ik,
        "ties only by name": np.where(chances(plain_ik) > 0, rated_ik, -1.0),
    }


def related(judge: KnownJudge) -> list[float]:
    """The ratings of the models whose names begin with the same word; none for a judge who is not recognised."""
    ratings = public_ratings().ratings
    first = judge.model.partition("-")[0]
    return [rating.rating for rating in ratings if rating.pattern.partition("-")[0] == first]


def with_errors(
    known: KnownJudges, rng: np.random.Generator, others: Callable[[KnownJudge], list[float]]
) -> FloatArray:
    """The weights when each judge is taken for one of `others`, if there are any, with probability 10%."""
    rating_j = np.array([np.nan if judge.rating is None else judge.rating for judge in known.judges])
    for j in np.flatnonzero(rng.random(len(rating_j)) < 0.1):
        if candidates := others(known.judges[j]):
            rating_j[j] = rng.choice(candidates)
    rating_j[np.isnan(rating_j)] = np.nanmedian(rating_j)
    return 10 ** ((rating_j - rating_j.max()) / TENFOLD)


def by_family(gains: dict[str, float]) -> tuple[float, float]:
    """The mean over families and its standard error."""
    groups = defaultdict(list)
    for name, gain in gains.items():
        groups[family(name)].append(gain)
    means = np.array([np.mean(group) for group in groups.values()])
    return float(means.mean()), float(means.std(ddof=1) / np.sqrt(len(means)))


def draw(gains: dict[str, dict[str, float]], path: str) -> None:
    """Draw the gain on each panel, half by name and by the best-rated judge alone."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams.update({"svg.hashsalt": "majorant", "font.size": 9})
    half, alone = gains["half by name"], gains["best-rated judge alone"]
    names = sorted(half, key=lambda name: half[name])
    figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    rows = np.arange(len(names))
    axes.barh(rows, [half[name] for name in names], color="#2a6f97", height=0.6, label="half by name (written)")
    axes.plot([alone[name] for name in names], rows, "o", color="#d95f02", label="best-rated judge alone")
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(rows, names)
    axes.set_xlabel("points gained over majority vote, without a label")
    axes.legend(loc="lower right", frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Print the tables and the goals."""
    folder = os.environ.get("MAJORANT_DATA")
    if not folder:
        sys.exit("Let MAJORANT_DATA name the folder of the public data sets.")
    table = public_ratings()
    gains: dict[str, dict[str, float]] = defaultdict(dict)
    draws: dict[str, dict[str, list[float]]] = {what: defaultdict(list) for what in (SHUFFLED, RELATIVE, ANYBODY)}
    rng = np.random.default_rng(0)
    print(
        f"ratings of {table.date}, {len(table.ratings)} names\n\n{'panel':20} majority  recognised  weight of one model"
    )
    for name, votes, known in panels(Path(folder)):
        majority = accuracy(votes, vote_shares(votes))
        model, share = next(iter(known.shares.items()))
        print(f"{name:20} {majority:8.1f}  {known.n_known:4} of {len(known.judges):2}  {100 * share:3.0f}% {model}")
        for rule, score_ik in rules(votes, known).items():
            gains[rule][name] = accuracy(votes, score_ik) - majority
        for _ in range(DRAWS):
            weights = {SHUFFLED: rng.permutation(known.weight_j), RELATIVE: with_errors(known, rng, related)}
            weights[ANYBODY] = with_errors(known, rng, lambda _: [rating.rating for rating in table.ratings])
            for what, weight_j in weights.items():
                draws[what][name].append(accuracy(votes, half_by_name(votes, weight_j)) - majority)
    names = list(gains["half by name"])
    print(f"\n{'gain in points':20}" + "".join(f"{rule:>24}" for rule in gains))
    for name in names:
        print(f"{name:20}" + "".join(f"{by_panel[name]:+24.1f}" for by_panel in gains.values()))
    print(f"\n{'':24}  mean   by family  worst  better / worse by half a point")
    for rule, by_panel in gains.items():
        all_gains = np.array(list(by_panel.values()))
        mean, error = by_family(by_panel)
        print(
            f"{rule:24} {all_gains.mean():+5.1f}  {mean:+.1f} +- {error:.1f}  {all_gains.min():+5.1f}  "
            f"{(all_gains >= 0.5).sum()} / {(all_gains <= -0.5).sum()}"
        )
    if len(sys.argv) > 1:
        draw(gains, sys.argv[1])
    drawn = {}
    for what, of_panel in draws.items():
        mean_of = {name: float(np.mean(gained)) for name, gained in of_panel.items()}
        drawn[what] = float(np.mean(list(mean_of.values())))
        print(f"{what:24} {drawn[what]:+5.1f}  {by_family(mean_of)[0]:+.1f}          ({DRAWS} draws a panel)")
    gain = float(np.mean(list(gains["half by name"].values())))
    print()
    board.at_most(f"gain by {SHUFFLED}", f"{drawn[SHUFFLED]:+.2f}", "0 points", drawn[SHUFFLED], 0)
    for what in (RELATIVE, ANYBODY):
        board.at_least(f"gain with {what}", f"{drawn[what]:+.2f}", f"{gain:+.2f} points", drawn[what] / gain, 0.5)


if __name__ == "__main__":
    main()
