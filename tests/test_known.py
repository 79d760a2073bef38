"""Judges are recognised by name, a wrong match is worse than none, and half of the weight goes by rating."""

import csv
import importlib.util
import json
from datetime import date
from pathlib import Path

import numpy as np
import pytest

import majorant
from majorant.errors import ConfigError, DataError
from majorant.items import take_items
from majorant.known import (
    Kind,
    RatingTable,
    find_rating,
    half_by_name,
    know_judges,
    known_judges,
    public_ratings,
    read_ratings,
    vote_shares,
)
from majorant.read import read
from majorant.render.notes import note_text
from majorant.votes import Votes
from majorant.web.fields import command_of, settings_of

TABLE = public_ratings()
MODEL = {rating.pattern: rating.of or rating.pattern for rating in TABLE.ratings}  # aliases of one model are equal
NAMES = Path(__file__).parent / "golden" / "judge-names.csv"
ROOT = Path(majorant.__file__).parents[2]


def names():
    """Judge names as public repositories write them, with the pattern each one means; collected before the matcher."""
    with NAMES.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def found(name):
    rating = find_rating(name, TABLE)
    return "" if rating is None else rating.pattern


def test_names_of_real_logs_are_recognised_without_a_wrong_match():
    rows = names()
    matched = [row for row in rows if found(row["name"])]
    wrong = [row for row in matched if MODEL.get(row["pattern"]) != MODEL[found(row["name"])]]
    listed = [row for row in rows if row["pattern"]]
    assert len(rows) >= 300
    assert {row["pattern"] for row in listed} <= MODEL.keys()
    assert len(wrong) <= 0.01 * len(matched), [(row["name"], found(row["name"])) for row in wrong]
    assert len(matched) - len(wrong) >= 0.85 * len(listed)


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("openai/gpt-4o-mini", "gpt-4o-mini"),
        ("GPT-4/prompt-2", "gpt-4"),
        ("gpt_4o", "gpt-4o"),
        ("claude-opus-4-0", "claude-opus-4-0"),
        ("claude-3-7-sonnet-20250219-thinking", "claude-3-7-sonnet-20250219-thinking"),
        ("us.anthropic.claude-3-5-sonnet-20241022-v2:0", "claude-3-5-sonnet-20241022"),
        ("accounts/fireworks/models/llama-v3p1-8b-instruct", "llama-3.1-8b-instruct"),
        ("hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4", "llama-3.1-70b-instruct"),
        ("gpt-35-turbo", "gpt-3.5-turbo"),
        ("Command R+", "command-r-plus"),
        ("gpt-4 judge", "gpt-4"),
    ],
)
def test_vendors_and_prompts_are_allowed_beside_a_name(name, pattern):
    assert found(name) == pattern


@pytest.mark.parametrize(
    "name",
    [
        *("gpt-4-vision-preview", "gpt-4o-audio-preview", "gpt-3.5-turbo-instruct", "gpt-5.1-chat", "gpt-5-pro"),
        *("o1-pro", "ft:gpt-4o-mini:org", "reward-gemma-2-27b", "gemma-2-9b-it-WPO-HB", "tulu-2-dpo-70b-ExPO"),
        *("marco-o1", "deepseek-r1-distill-llama-70b", "deepseek", "Meta-Llama-3-8B-Instruct/lora", "open-llama-7b"),
        *("Judge-Qwen2.5-7B", "Llama-3-8B-judge", "QwQ-32B-Preview", "claude-opus-4-6", "llama", "gemini", "ChatGPT"),
        *("claude", "sonnet", "gpt-4o/claude-3-opus", "claude-instant-1.2", "llama-3-8b-70b", "w3", "human"),
    ],
)
def test_variants_and_bare_names_are_never_taken_for_a_model(name):
    assert found(name) == ""


def test_short_names_may_be_persons():
    assert know_judges(["o1", "o2", "o3", "o4"], TABLE).n_known == 0
    assert know_judges(["o1", "o3", "gpt-4o"], TABLE).n_known == 3


def test_weights_fall_tenfold_in_a_hundred_points():
    known = know_judges(["gpt-4", "palm-2", "somebody"], TABLE)
    gpt, palm, unknown = known.weight_j
    assert (gpt, known.best, known.decide) == (1.0, 0, True)
    assert gpt / palm == pytest.approx(10 ** ((1284 - 1140) / 100)) == known.spread  # 27.5 times as much
    assert unknown == pytest.approx(10 ** (-(1284 - 1140) / 200))  # as the median of the known


@pytest.mark.parametrize("judges", [["gpt-4", "GPT-4/cot", "x", "y"], ["gpt-4", "x", "y"], ["x", "y"]])
def test_one_model_or_few_known_judges_change_nothing(judges):
    known = know_judges(judges, TABLE)
    assert not known.decide
    assert known.weight_j.tolist() == [1.0] * len(judges)


def test_trust_takes_precedence_and_names_a_judge_with_all_its_prompts():
    judges = ["GPT-4/a", "GPT-4/b", "ChatGPT/a", "Ann"]
    known = know_judges(judges, TABLE, {"ChatGPT": 1284, "Ann": 1184})
    assert known.weight_j.round(6).tolist() == [1.0, 1.0, 1.0, 0.1]
    assert [judge.kind for judge in known.judges] == [Kind.MEAN, Kind.MEAN, Kind.GIVEN, Kind.GIVEN]
    assert known.shares == pytest.approx({"gpt-4": 2 / 3.1, "ChatGPT": 1 / 3.1, "Ann": 0.1 / 3.1})
    with pytest.raises(ConfigError, match="no judge has this name"):
        know_judges(judges, TABLE, {"Bob": 1})
    with pytest.raises(ConfigError, match="a rating in points"):
        know_judges(judges, TABLE, {"Ann": "best"})


def test_half_by_name_is_the_geometric_mean_of_both_shares():
    rng = np.random.default_rng(0)
    n_items, n_workers, n_classes = 50, 5, 3
    label_ij = rng.integers(-1, n_classes, (n_items, n_workers))
    item_n, worker_n = np.nonzero(label_ij >= 0)
    votes = Votes.from_codes(
        item_n, worker_n, label_ij[item_n, worker_n], items=range(n_items), workers="abcde", labels="xyz"
    )
    weight_j = rng.uniform(0.01, 1, n_workers)
    for i, row in enumerate(half_by_name(votes, weight_j)):
        plain, rated = [
            [sum(w for label, w in zip(label_ij[i], ws, strict=True) if label == k) for k in range(n_classes)]
            for ws in (np.ones(n_workers), weight_j)
        ]
        shares = [[part / max(sum(parts), 1e-12) for part in parts] for parts in (plain, rated)]
        score = np.sqrt([(s + 0.02) * (r + 0.02) for s, r in zip(*shares, strict=True)])
        np.testing.assert_allclose(row, score / score.sum())
    equal = half_by_name(votes, np.ones(n_workers))
    np.testing.assert_allclose(equal, (vote_shares(votes) + 0.02) / (vote_shares(votes) + 0.02).sum(1, keepdims=True))


def test_the_table_gives_a_source_and_a_date_for_every_rating():
    assert all(rating.source and date.fromisoformat(rating.date) for rating in TABLE.ratings)
    assert sum(rating.kind is Kind.ESTIMATED for rating in TABLE.ratings) == 29
    assert all(bool(rating.of) == (rating.kind not in (Kind.RATED, Kind.OLDER)) for rating in TABLE.ratings)
    assert TABLE.age(date.fromisoformat(TABLE.date)) == 0
    assert len(TABLE.sha256) == 64


def test_every_pattern_of_the_table_is_recognised_as_itself():
    not_so = {p for p in MODEL if MODEL.get(found(p)) != MODEL[p]}
    ratings = {rating.pattern: rating.rating for rating in TABLE.ratings}
    assert all(abs(ratings[found(p)] - ratings[p]) <= 1 for p in not_so if found(p)), not_so  # quantized copies
    assert len(not_so) <= 5


def tool():
    spec = importlib.util.spec_from_file_location("make_ratings", ROOT / "tools" / "make_ratings.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_rebuilt_from_a_leaderboard(tmp_path):
    make = tool()
    # The leaderboard from which the table was made, as far as the table tells, and with everybody 10 points higher.
    rated = {r.pattern: r.rating for r in TABLE.ratings if r.kind is Kind.RATED}
    for rise in (0, 10):
        (tmp_path / "board.json").write_text(
            json.dumps({"full": {model: {"rating": points + rise} for model, points in rated.items()}})
        )
        board = make.read_leaderboard(tmp_path / "board.json", "full")
        rows = make.rebuild(TABLE.ratings, board, TABLE.date)
        before = {r.pattern: r for r in TABLE.ratings}
        assert {row.pattern for row in rows} == before.keys()
        assert all(abs(row.rating - rise - before[row.pattern].rating) <= 1 for row in rows)
        assert all(row.kind is before[row.pattern].kind for row in rows)
    make.write(rows, tmp_path / "ratings.csv")
    assert read_ratings(tmp_path / "ratings.csv").ratings[0].rating == TABLE.ratings[0].rating + 10
    new = make.rebuild(TABLE.ratings, {**rated, "gpt-9": 1600.0}, "2027-01-01")
    assert (new[0].pattern, new[0].date) == ("gpt-9", "2027-01-01")


def test_your_own_ratings_take_the_place_of_the_table(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("Model,Elo,date\ngpt-4,1000,2026-10-01\nour-judge-7b,1200,\n")
    table = read_ratings(path)
    assert (table.source, table.date, len(table.ratings)) == ("mine.csv", "2026-10-01", 2)
    known = know_judges(["our-judge-7b", "openai/gpt-4", "gpt-4o"], table)
    assert [judge.model for judge in known.judges] == ["our-judge-7b", "gpt-4", ""]
    assert known.weight_j.round(3).tolist() == [1.0, 0.01, 0.1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "needs a column 'model' and a column 'rating'; found a, b"),
        ("model,rating\ngpt-4,good\n", "row 2: rating 'good'"),
        ("model,rating\ngpt-4,inf\n", "row 2, column 'rating': 'inf'"),
        ("model,rating,date\ngpt-4,1200,May\n", "row 2: rating '1200' and date 'May'"),
        ("model,rating\ngpt-4,0.9\nllama-2,0.7\n", "differ by less than 2 points"),
        ("model,rating\n", "no ratings in it"),
    ],
)
def test_bad_ratings_are_refused_with_the_row(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_ratings(path)


def test_a_missing_file_of_ratings_is_named(tmp_path):
    with pytest.raises(DataError, match=r"none\.csv"):
        read_ratings(tmp_path / "none.csv")


def test_a_table_without_dates_has_no_age():
    assert RatingTable((), "", "", "", "").age(date(2026, 1, 1)) is None


TRUSTED = "item,worker,label,trust\n" + "".join(
    f"{i},{w},{'yes' if (i + w) % 3 else 'no'},{t}\n" for i in range(4) for w, t in ((0, ".9"), (1, "60%"), (2, ""))
)


def test_a_column_of_trust_is_read_per_worker(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(TRUSTED)
    votes = read(path, trust_column="trust")
    assert votes.trust_j[:2].tolist() == [0.9, 0.6]
    assert np.isnan(votes.trust_j[2])
    path.write_text(TRUSTED.replace(",.9", ",90").replace("60%", "60"))
    np.testing.assert_allclose(read(path, trust_column="trust").trust_j[:2], [0.9, 0.6])
    assert read(path).trust_j is None


def test_an_equal_trust_is_ignored_with_a_note(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(TRUSTED.replace(",.9", ",1.0").replace("60%", "1"))
    votes = read(path, trust_column="trust")
    assert votes.trust_j is None
    texts = [note_text(note) for note in votes.account.notes]
    assert "Column 'trust' is 1 for every worker, so it is ignored." in texts


@pytest.mark.parametrize("bad", ["high", "-1", "250"])
def test_bad_trust_is_refused_with_the_row(tmp_path, bad):
    path = tmp_path / "votes.csv"
    path.write_text(TRUSTED.replace("60%", bad))
    with pytest.raises(DataError, match=rf"row 3, column 'trust': '{bad}' is not a share"):
        read(path, trust_column="trust")
    with pytest.raises(ConfigError, match="no column 'trsut'"):
        read(path, trust_column="trsut")


PANEL = "item,judge,label\n" + "".join(
    f"{i},{j},{'yes' if (i * n) % 3 else 'no'}\n" for i in range(6) for n, j in enumerate(["GPT-4", "PaLM2", "me"])
)


def test_votes_carry_what_they_were_read_with(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(PANEL)
    assert [judge.model for judge in known_judges(read(path)).judges] == ["gpt-4", "palm-2", ""]
    assert known_judges(read(path, trust={"me": 1300})).judges[2].weight == 1
    assert known_judges(read(path, ratings=False)) is None
    assert known_judges(read(path, ratings=False, trust={"me": 1300})).n_known == 1
    assert known_judges(Votes.from_codes([0], [0], [0], items="a", workers=("gpt-4",), labels="y")) is None
    some = take_items(read(path), np.array([1, 0]))
    assert known_judges(some) == known_judges(read(path))


def test_bad_trust_and_ratings_are_refused(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(PANEL)
    with pytest.raises(ConfigError, match="no judge has this name"):
        read(path, trust={"you": 1300})
    with pytest.raises(ConfigError, match="trust must be a dict"):
        read(path, trust="me=1300")
    with pytest.raises(ConfigError, match="must be a file of ratings, or False"):
        read(path, ratings=3)


def test_the_command_line_takes_ratings(run, tmp_path):
    (tmp_path / "votes.csv").write_text(PANEL)
    for arguments, message in [
        (["--trust", "me"], "--trust me: give a name and a rating in points"),
        (["--trust", "you=1300"], "no judge has this name"),
        (["--ratings", "none.csv"], "none.csv"),
        (["--ratings", "none.csv", "--no-ratings"], "exclude each other"),
    ]:
        code, _, err = run("check", "votes.csv", *arguments)
        assert code == 2
        assert message in err


def test_the_page_takes_ratings_and_shows_their_command():
    settings = settings_of({"trust": ["gpt-4=1290, me=1e3"], "unrated": ["yes"]}, ["item", "judge", "label"])
    assert settings == {"trust": {"gpt-4": 1290.0, "me": 1000.0}, "ratings": False}
    command = command_of("votes.csv", settings, tolerance=0.01)
    assert command == "majorant check votes.csv --trust gpt-4=1290 --trust me=1000 --no-ratings"
    for bad in ("gpt-4", "gpt-4=good"):
        with pytest.raises(ConfigError, match="Ratings of judges"):
            settings_of({"trust": [bad]}, ["item"])
