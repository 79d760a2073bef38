"""What is said of known judges: who counts how much, with date, record and whoever was not recognised."""

import datetime

from majorant.evidence.evidence import Record
from majorant.known import RatingTable, Stake, know_judges, public_ratings
from majorant.render.known import known_facts, say_judges, say_stake

TABLE = public_ratings()
RECORD = Record(sets=142, better=96, worse=14, mean_gain=0.031, worst_gain=-0.09)
TODAY = datetime.date(2026, 1, 1)


def said(judges, **how):
    return say_judges(know_judges(judges, TABLE), **{"record": RECORD, "today": TODAY} | how)


def test_weights_come_with_their_source_date_and_record():
    text = said(["GPT-4", "PaLM2", "JudgeLM"])
    assert text.startswith("GPT-4 counts 28 times as much as PaLM2 (public chat ratings, December 2025).")
    assert "gpt-4 has 82% of the weight." in text
    assert "On 142 public panels such labels were right about 3 points more often than majority vote" in text
    assert "better on 96, worse on 14, at worst by 9 points." in text
    assert "Not recognised (they count as the median): JudgeLM; --trust NAME=RATING says more." in text
    assert "year old" not in text


def test_a_model_under_several_names_is_named_with_its_whole_weight():
    text = said(["GPT-4/a", "GPT-4/b", "LLaMA2/a", "LLaMA2/b"])
    assert "gpt-4 has 96% of the weight, under 2 names." in text


def test_equal_judges_promise_nothing():
    text = said(["gpt-4o", "gpt-4o-2024-05-13", "claude-3-5-sonnet"])
    assert text == "Your judges are rated about equal; ratings change little (public chat ratings, December 2025)."


def test_too_few_known_judges_are_said_to_change_nothing():
    assert said(["GPT-4", "a", "b"]).startswith("1 of 3 judges recognised (1 model); ratings weigh votes if half of")
    assert said(["a", "b"]) == ""


def test_estimates_and_old_tables_are_said():
    assert "Estimated from the size of the model: qwen3-8b." in said(["qwen3-8b", "gpt-4o"])
    assert "more than a year old" in said(["gpt-4", "palm-2"], today=datetime.date(2027, 2, 1))


def test_the_stake_is_said_if_it_matters():
    assert say_stake(Stake("gpt-4", "error", 0.70, 0.72)) == ""
    assert say_stake(None) == ""
    assert say_stake(Stake("gpt-4", 1, 0.18, 0.72)).startswith(
        'gpt-4 says "1" on 18% of the items, majority vote on 72%'
    )


def test_facts_hold_the_source_but_not_the_whole_table():
    facts = known_facts(know_judges(["GPT-4", "PaLM2", "JudgeLM"], TABLE))
    assert (facts["used"], facts["date"], facts["sha256"]) == (True, TABLE.date, TABLE.sha256)
    assert "no licence" in facts["terms"]
    assert facts["judges"][2] == {"name": "JudgeLM", "rating": None, "model": "", "kind": None, "weight": 10**-0.72}
    assert set(facts) == {"used", "source", "terms", "date", "sha256", "judges"}
    empty = RatingTable((), "mine.csv", "your own file", "", "")
    assert known_facts(know_judges(["x"], empty))["used"] is False
