"""Judges the world knows: recognise models by their names, and weigh their votes by public ratings.

The names of LLM judges carry information that their votes do not: GPT-4 judges better than Gemma-2B.  `ratings.csv`
lists models with their rating on a public chat leaderboard.  The vote of a judge who trails the best one of the panel
by d points counts 10^(-d / 100).  The label is the one with the largest geometric mean of the plain vote shares and
the weighted ones: half by head, half by name.

A wrong match is worse than none, so a name must be understood as a whole: "gpt-4-turbo" is not gpt-4, and a reward
model, a distilled model or somebody's fine-tune is not its base model.
"""

from __future__ import annotations

import csv
import datetime
import hashlib
import io
import math
import re
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from importlib import resources
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from majorant.errors import ConfigError, DataError
from majorant.values import FloatArray
from majorant.votes import Votes

TENFOLD = 100.0  # a judge who trails by as many points counts a tenth
MOST_MATCHED = 1_000  # more workers than that are a crowd, and their names are not looked up
SMOOTHING = 0.02  # added to shares, so that one kind of share cannot veto a class
TERMS = "LMArena, from github.com/lmarena/arena-catalog, which shows no licence; ratings are facts, quoted with source"


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that neither make a model nor another one of it.  Whatever is not listed makes a name unknown.
BEFORE = _listed("""
    openai azure anthropic google vertex vertexai gemini meta mistralai mistral cohere qwen alibaba deepseek xai us eu
    apac jp au global microsoft nvidia amazon aws internlm ai 21 zai moonshotai allenai ibm lmsys databricks snowflake
    model models openrouter together fireworks groq bedrock ollama vllm local publishers accounts messages
    textgeneration llm by with via score scores vote votes label
""")
AFTER = _listed("""
    latest free basic versatile hf maas default score scores rating ratings verdict verdicts vote votes label labels
    pred prediction answer response output result prompt prompts cot zero one two three few shot shots vanilla baseline
    pairwise pointwise single swap swapped direct verbose concise strict lenient binary likert english
""")
# Beside the name of a hosted model these say what it does; beside that of an open one they may name a fine-tune.
JUDGING = _listed("judge judges grader rater evaluator scorer annotator assessor eval evaluation")
HOSTED = _listed("turbo instant")  # fast copies of open models, but other models of OpenAI and Anthropic
CHAT = _listed("instruct chat it")  # the usual form of an open model, but another model of OpenAI
# Words beside a name that say that a model was made from the one that is named.
TUNED = _listed("ft lora sft dpo kto ppo simpo orpo reward rewardmodel rm tuned finetuned finetune distill")
DATE_OR_BUILD = re.compile(r"\d{2,6}|\d{8}|\d+k")
SIZE = re.compile(r"\d+(\.\d+)?[bx]|\d+x\d+b")
VERSION_WORD = re.compile(r"v\d+(\.\d+)*")
QUANTIZED = re.compile(
    r"-(?:awq|gptq|gguf|mlx|fp8|fp16|bf16|int[48]|nf4|[48]bit|w\da\d+|q\d(?:-k)?(?:-[msl0-9])?)(?=-|$)"
)


class Kind(StrEnum):
    """Where a rating comes from."""

    RATED = "rated"  # on the leaderboard under this name
    ALIAS = "alias"  # another name of a model on the leaderboard
    MEAN = "mean"  # the mean over versions, for a name that does not say which
    OLDER = "older"  # only on an older leaderboard, shifted by the median change since
    ESTIMATED = "estimated"  # from the size of a model and the rating of its bigger sister
    GIVEN = "given"  # by the user


@dataclass(frozen=True, slots=True)
class Rating:
    """The rating of a model and its source."""

    pattern: str
    rating: float
    kind: Kind = Kind.GIVEN
    of: str = ""  # the names on the leaderboard it was made from
    source: str = ""
    date: str = ""  # YYYY-MM-DD


@dataclass(frozen=True, slots=True)
class RatingTable:
    """Ratings of models, with source, terms, date and digest."""

    ratings: tuple[Rating, ...]
    source: str  # a file name, or that of the leaderboard
    terms: str
    date: str  # of the newest rating; empty if the file does not say
    sha256: str

    def age(self, today: datetime.date) -> float | None:
        """The age of the newest rating in years; None if unknown.

        >>> RatingTable((), "", "", "2025-12-11", "").age(datetime.date(2026, 12, 12)) > 1
        True
        """
        if not isinstance(today, datetime.date):
            raise ConfigError(f"today must be a date, not {today!r:.60}.")
        return (today - datetime.date.fromisoformat(self.date)).days / 365.25 if self.date else None


NO_TABLE = RatingTable((), "your own ratings", "", "", "")


@dataclass(frozen=True, slots=True)
class Ratings:
    """What the user wants to be known of the judges: a table, and ratings by name, which take precedence."""

    table: RatingTable
    trust: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(
        cls, ratings: bool | str | PathLike[str] | None = None, trust: Mapping[str, float] | None = None
    ) -> Ratings | None:
        """Check the arguments of `read`; None for no ratings at all.

        >>> Ratings.of(ratings=False) is None, Ratings.of(trust={"ann": 1300}).trust
        (True, (('ann', 1300),))
        """
        if trust is not None and not isinstance(trust, Mapping):
            raise ConfigError("trust= is a dict of ratings by the name of a judge, such as {'gpt-4': 1290}.")
        if not isinstance(ratings, bool | str | PathLike | None):
            raise ConfigError(f"ratings= is a file, True or False, not {ratings!r:.60}.")
        given = tuple((str(name), points) for name, points in (trust or {}).items())
        if ratings is False:
            return cls(NO_TABLE, given) if given else None
        table = public_ratings() if ratings is None or ratings is True else read_ratings(ratings)
        return cls(table, given)


@dataclass(frozen=True, slots=True)
class KnownJudge:
    """What is known of one judge; `rating` is None if nothing is."""

    name: Hashable
    rating: float | None
    model: str  # the model that the name means, empty if not recognised
    kind: Kind | None
    weight: float  # of this judge's vote, where the best-rated judge has 1


@dataclass(frozen=True, slots=True)
class KnownJudges:
    """The judges of a panel, in the order of the votes' workers."""

    judges: tuple[KnownJudge, ...]
    table: RatingTable

    @property
    def n_known(self) -> int:
        """How many judges have a rating."""
        return sum(judge.rating is not None for judge in self.judges)

    @property
    def models(self) -> tuple[str, ...]:
        """The different models among them."""
        return tuple(dict.fromkeys(judge.model for judge in self.judges if judge.rating is not None))

    @property
    def decide(self) -> bool:
        """Whether enough is known to weigh votes: half of the judges, and two models."""
        return 2 * self.n_known >= len(self.judges) and len(self.models) >= 2

    @property
    def weight_j(self) -> FloatArray:
        """The weight of each judge's vote; equal if too little is known."""
        return np.array([judge.weight for judge in self.judges]) if self.decide else np.ones(len(self.judges))

    @property
    def best(self) -> int:
        """The position of the best-rated judge; the first of several."""
        return int(np.argmax([-math.inf if judge.rating is None else judge.rating for judge in self.judges]))

    @property
    def best_j(self) -> NDArray[np.bool_]:
        """Which judges are the best-rated model, which may have several names."""
        model = self.judges[self.best].model
        return np.array([bool(model) and judge.model == model for judge in self.judges])

    @property
    def shares(self) -> dict[str, float]:
        """The share of the total weight that each model has, or each judge that was not recognised; largest first."""
        total: dict[str, float] = {}
        for judge, weight in zip(self.judges, self.weight_j, strict=True):
            key = judge.model or str(judge.name)
            total[key] = total.get(key, 0.0) + float(weight)
        whole = sum(total.values()) or 1.0
        return {name: share / whole for name, share in sorted(total.items(), key=lambda entry: -entry[1])}

    @property
    def spread(self) -> float:
        """How many times as much the best-rated judge counts as the one with the least weight."""
        return float(self.weight_j.max() / self.weight_j.min()) if self.judges else 1.0


def split_name(name: object) -> list[tuple[str, ...]]:
    """Split a name at slashes and the like, and each part into words.

    >>> split_name("openai/gpt-4o-mini"), split_name("Llama3-70B"), split_name("claude-3-5-sonnet@20241022")
    ([('openai',), ('gpt', '4o', 'mini')], [('llama', '3', '70b')], [('claude', '3.5', 'sonnet', '20241022')])
    """
    text = unicodedata.normalize("NFKD", str(name)).encode("ascii", "ignore").decode().lower()
    text = re.sub(r"\(([^()0-9]*)\)", r"/\1", text)  # a remark in parentheses
    text = re.sub(r"command[- ]r\s?\+", "command-r-plus", text)
    text = re.sub(r"[_\s]+", "-", text)
    text = re.sub(r"(gpt|claude)-?3([57])(?!\d|\.)", r"\1-3.\2", text)  # gpt-35-turbo, claude37
    text = re.sub(r"(?<![a-z])v(\d)[p:](\d)(?!\d)", r"v\1.\2", text)  # llama-v3p1, claude-v2:1
    text = re.sub(r"(?<=[a-z-])(\d)-(\d)(?![\d.]*[a-z\d])", r"\1.\2", text)  # claude-3-5, but not llama-3-8b
    return [_words(QUANTIZED.sub("", part)) for part in re.split(r"[/|,;=+~<>\[\]{}]", text)]


def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"(?<![a-z])v\d+(?:\.\d+)*|[a-z]+|\d+(?:\.\d+)*[a-z]*", text))


def _core(words: Iterable[str]) -> tuple[str, ...]:
    """The words that tell one model from another."""
    words = tuple(word.removeprefix("v") if VERSION_WORD.fullmatch(word) else word for word in words)
    spare = {"hf"} if any(SIZE.fullmatch(word) for word in words) else {"preview"}  # of an open model: another one
    if "gpt" not in words and any(word[0].isdigit() for word in words):  # deepseek-chat is a model, deepseek a maker
        spare |= CHAT
    return tuple(word for word in words if word not in spare)


@lru_cache(maxsize=8)
def _patterns(table: RatingTable) -> dict[tuple[str, ...], Rating]:
    """Ratings by the words of their pattern, the first of several."""
    found: dict[tuple[str, ...], Rating] = {}
    for rating in table.ratings:
        found.setdefault(_core(word for words in split_name(rating.pattern) for word in words), rating)
    return found


def find_rating(name: object, table: RatingTable) -> Rating | None:
    """The rating of the model that a name means, or None if it is not certain which one that is.

    >>> table = public_ratings()
    >>> [found and found.pattern for found in (find_rating(name, table) for name in
    ...     ("GPT-4/prompt-2", "gpt-4-vision-preview", "openrouter/anthropic/claude-3-5-sonnet", "reward-gemma-2-27b"))]
    ['gpt-4', None, 'claude-3-5-sonnet', None]
    """
    parts = split_name(name)
    found = [(rating, n) for n, words in enumerate(parts) if (rating := _find(words, table)) is not None]
    if len({rating.of or rating.pattern for rating, _ in found}) != 1:
        return None
    rating, n = found[0]
    beside = {word for m, words in enumerate(parts) if m != n for word in words}
    return None if beside & TUNED else rating


def _find(words: tuple[str, ...], table: RatingTable) -> Rating | None:
    """The rating of the longest pattern that, with words of no meaning before and after it, is all of these words."""
    patterns = _patterns(table)
    longest = max(map(len, patterns), default=0)
    for start in range(len(words)):
        for stop in range(len(words), start, -1):
            core = _core(words[start:stop])
            if len(core) <= longest and (rating := patterns.get(core)):
                model, before, after = words[start:stop], set(words[:start]), set(words[stop:])
                is_open = any(SIZE.fullmatch(word) for word in model)
                spare = (CHAT if "gpt" not in model else frozenset()) | (HOSTED if is_open else JUDGING)
                numbers = {word for word in after if DATE_OR_BUILD.fullmatch(word) or VERSION_WORD.fullmatch(word)}
                if before <= (BEFORE if is_open else BEFORE | JUDGING) and after <= AFTER | spare | numbers:
                    return rating
    return None


def know_judges(
    workers: Sequence[Hashable], table: RatingTable, trust: Mapping[str, float] | None = None
) -> KnownJudges:
    """Recognise the judges of a panel and weigh their votes.

    Parameters
    ----------
    workers : sequence
        Names of the judges.
    table : RatingTable
        Ratings of models.
    trust : mapping of str to float, optional
        Ratings by the name of a judge, or by what several names have before a slash ("GPT-4" for "GPT-4/prompt-2").
        They take precedence over the table.

    Returns
    -------
    KnownJudges
        A judge who is not recognised is weighed as the median of those who are.

    Raises
    ------
    ConfigError
        If `trust` names nobody.

    Examples
    --------
    >>> known = know_judges(["GPT-4", "Gemma-2B", "Ann"], public_ratings(), trust={"Ann": 1284})
    >>> [(judge.model, round(judge.weight, 2)) for judge in known.judges]
    [('gpt-4', 1.0), ('gemma-2b-it', 0.01), ('Ann', 1.0)]
    """
    given = _given_ratings(workers, trust or {})
    found = [given.get(n) or find_rating(worker, table) for n, worker in enumerate(workers)]
    if not any(rating and len(str(worker)) > 2 for rating, worker in zip(found, workers, strict=True)):
        found = [given.get(n) for n in range(len(found))]  # "o1" and "o3" may be persons
    known = [rating.rating for rating in found if rating is not None]
    best, middle = (max(known), float(np.median(known))) if known else (0.0, 0.0)
    judges = []
    for worker, rating in zip(workers, found, strict=True):
        points = middle if rating is None else rating.rating
        judges.append(
            KnownJudge(
                name=worker,
                rating=None if rating is None else rating.rating,
                model="" if rating is None else rating.pattern,
                kind=None if rating is None else rating.kind,
                weight=10 ** ((points - best) / TENFOLD),
            )
        )
    return KnownJudges(tuple(judges), table)


def known_judges(votes: Votes) -> KnownJudges | None:
    """Who the workers are, by the ratings that the votes were read with; None without ratings or for a large crowd."""
    if votes.ratings is None or len(votes.workers) > MOST_MATCHED:
        return None
    return know_judges(tuple(votes.workers), votes.ratings.table, dict(votes.ratings.trust))


def _given_ratings(workers: Sequence[Hashable], trust: Mapping[str, float]) -> dict[int, Rating]:
    """The user's own ratings, by the position of the judge."""
    given: dict[int, Rating] = {}
    for name, points in trust.items():
        if isinstance(points, bool) or not isinstance(points, (int, float)) or not math.isfinite(points):
            raise ConfigError(f"The trust in {name!r} is {points!r}: give a rating in points, for example 1300.")
        exact = [n for n, worker in enumerate(workers) if str(worker) == name]
        positions = exact or [n for n, worker in enumerate(workers) if str(worker).split("/", 1)[0] == name]
        if not positions:
            some = ", ".join(str(worker) for worker in workers[:5])
            raise ConfigError(f"Trust is given for {name!r}, but no judge has this name. The judges are {some}.")
        given |= {n: Rating(name, float(points)) for n in positions}
    return given


def trust_weights(trust_j: FloatArray, n_classes: int) -> FloatArray:
    """The log-odds of workers whose accuracy the user trusts, over guessing; unknown ones get the median.

    Votes are never counted against a label: whoever is no better than guessing counts next to nothing.

    >>> trust_weights(np.array([0.9, 0.5, np.nan]), 2).round(2).tolist()
    [2.2, 0.05, 0.85]
    """
    share_j = np.clip(np.where(np.isnan(trust_j), np.nanmedian(trust_j), trust_j), 0.01, 0.99)
    return np.asarray(np.maximum(np.log(share_j * max(n_classes - 1, 1) / (1 - share_j)), 0.05))


def vote_shares(votes: Votes, weight_j: FloatArray | None = None) -> FloatArray:
    """The share of each class in the votes on each item, where worker j's vote counts `weight_j[j]`.

    >>> votes = Votes.from_codes([0, 0], [0, 1], [0, 1], items="a", workers="wx", labels=("no", "yes"))
    >>> vote_shares(votes, np.array([3.0, 1.0])).tolist()
    [[0.75, 0.25]]
    """
    n_items, n_workers, n_classes = votes.shape
    weight_n = (np.ones(n_workers) if weight_j is None else weight_j)[votes.worker_n]
    cell_n = votes.item_n.astype(np.int64) * n_classes + votes.label_n
    share_ik = np.bincount(cell_n, weight_n, n_items * n_classes).reshape(n_items, n_classes)
    return np.asarray(share_ik / np.maximum(share_ik.sum(axis=1, keepdims=True), 1e-12))


@dataclass(frozen=True, slots=True)
class Stake:
    """The label on whose frequency the best-rated model and majority vote differ most, and how often each gives it."""

    model: str
    label: Hashable
    model_share: float
    majority_share: float

    @property
    def difference(self) -> float:
        """How far the two shares are apart."""
        return abs(self.model_share - self.majority_share)


def find_stake(votes: Votes, known: KnownJudges) -> Stake | None:
    """What the best-rated model and majority vote disagree on; None if nobody is recognised.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [0, 1, 1, 0, 1, 1], items="ab",
    ...                          workers=("gpt-4", "llama-2-7b", "gemma-2b"), labels=("no", "yes"))
    >>> find_stake(votes, know_judges(votes.workers, public_ratings()))
    Stake(model='gpt-4', label='no', model_share=1.0, majority_share=0.0)
    """
    if not known.n_known:
        return None
    model = known.judges[known.best].model
    plain_ik = vote_shares(votes)
    model_ik = vote_shares(votes, known.best_j.astype(float))
    voted_i = model_ik.sum(axis=1) > 0
    if not voted_i.any():
        return None
    best_ik = plain_ik >= plain_ik.max(axis=1, keepdims=True) - 1e-9
    majority_k = (best_ik / best_ik.sum(axis=1, keepdims=True))[voted_i].mean(axis=0)
    model_k = model_ik[voted_i].mean(axis=0)
    k = int(np.abs(model_k - majority_k).argmax())
    return Stake(model, votes.labels[k], float(model_k[k]), float(majority_k[k]))


def half_by_name(votes: Votes, weight_j: FloatArray) -> FloatArray:
    """The probability of each class: the geometric mean of the plain vote shares and the weighted ones.

    >>> votes = Votes.from_codes([0, 0, 0], [0, 1, 2], [0, 1, 1], items="a", workers="wxy", labels=("no", "yes"))
    >>> half_by_name(votes, np.array([1.0, 0.1, 0.1])).round(2).tolist()
    [[0.61, 0.39]]
    """
    score_ik = (vote_shares(votes) + SMOOTHING) * (vote_shares(votes, weight_j) + SMOOTHING)
    root_ik = np.sqrt(score_ik)
    return np.asarray(root_ik / root_ik.sum(axis=1, keepdims=True))


@cache
def public_ratings() -> RatingTable:
    """The ratings that come with the package."""
    text = (resources.files("majorant") / "ratings.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(io.StringIO(text))
    ratings = tuple(
        Rating(row["pattern"], float(row["rating"]), Kind(row["kind"]), row["of"], row["source"], row["date"])
        for row in rows
    )
    newest = max(rating.date for rating in ratings)
    return RatingTable(ratings, "public chat ratings", TERMS, newest, _digest(text))


def read_ratings(path: str | PathLike[str]) -> RatingTable:
    """Read your own ratings from a CSV file with the columns model (or pattern, name, judge) and rating.

    Parameters
    ----------
    path : str or path
        Columns source and date (YYYY-MM-DD) are optional.  Ratings are points: 100 more count ten times as much.

    Returns
    -------
    RatingTable
        It takes the place of the package's ratings.

    Raises
    ------
    DataError
        If a column is missing, or a rating is not a number.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:  # a name with a null byte, or text that is not UTF-8
        raise DataError(f"{path}: the ratings cannot be read: {error}.") from None
    rows = csv.DictReader(io.StringIO(text))
    columns = {str(name).strip().casefold(): name for name in rows.fieldnames or ()}
    name = next((columns[key] for key in ("pattern", "model", "judge", "name") if key in columns), None)
    points = next((columns[key] for key in ("rating", "score", "points", "elo") if key in columns), None)
    if name is None or points is None:
        raise DataError(f"{path}: needs a column 'model' and a column 'rating'; found {', '.join(columns) or 'none'}.")
    ratings = []
    for n, row in enumerate(rows, start=2):
        try:
            rating = float(row[points])
            day = str(row.get(columns.get("date", ""), "") or "").strip()
            datetime.date.fromisoformat(day or "2000-01-01")
        except (TypeError, ValueError):
            raise DataError(
                f"{path}, row {n}: rating {row[points]!r} and date {row.get(columns.get('date', ''), '')!r} must be a "
                "number of points and a day such as 2026-01-31."
            ) from None
        if not math.isfinite(rating):
            raise DataError(f"{path}, row {n}, column {points!r}: {row[points]!r} is not a number of points.")
        if str(row[name] or "").strip():
            ratings.append(Rating(str(row[name]).strip(), rating, date=day, source=path.name))
    if len({rating.pattern for rating in ratings}) > 1:
        spread = max(rating.rating for rating in ratings) - min(rating.rating for rating in ratings)
        if 0 < spread < 2:
            raise DataError(
                f"{path}, column {points!r}: the ratings differ by less than 2 points, and 100 points make a factor "
                "of ten. Give points, as on a chat leaderboard."
            )
    if not ratings:
        raise DataError(f"{path}: no ratings in it.")
    newest = max(rating.date for rating in ratings)
    return RatingTable(tuple(ratings), path.name, "your own file", newest, _digest(text))


def _digest(text: str) -> str:
    return hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest()
