"""The recipe of CONTRIBUTING.md for a question of `ask` is complete: a toy question works everywhere."""

import csv
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import majorant as mj
from majorant.ask.design import Design
from majorant.ask.draw import make_design, random_order
from majorant.ask.question import OPEN, UNASKED, Outcome, n_answers
from majorant.ask.questions import QUESTIONS, Entry
from majorant.output import votes_table, write_table
from majorant.render.ask import QUESTION_TEXTS, QuestionText
from majorant.values import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """How many items an expert can label at all."""

    kind: ClassVar[str] = "known"
    size: int

    def expected(self):
        return 10

    def advance(self, answer_d):
        return self

    def next_items(self, answer_d):
        return np.flatnonzero(answer_d == UNASKED)

    def evaluate(self, answer_d):
        labels, skipped = n_answers(answer_d)
        share = labels / (labels + skipped) if labels + skipped else None
        return Outcome(
            kind=self.kind,
            verdict="reached" if labels + skipped >= 10 else OPEN,
            decided=labels + skipped >= 10,
            value=Estimate(share),
            level=0.95,
            tolerance=0.01,
            n_items=self.size,
            n_differ=self.size,
            labels=labels,
            skipped=skipped,
            more=max(0, 10 - labels - skipped),
        )


def draw_known(votes, wanted):
    """A random sample of all items."""
    item_d = np.arange(votes.shape[0])
    order_d = item_d[random_order(votes, item_d, wanted.seed)]
    return make_design(votes, Known(size=len(order_d)), order_d, wanted, is_sample=True).more(wanted.n or 10)


TEXT = QuestionText(
    asks=lambda names: "How many items can be labelled?",
    begins=lambda facts: f"Which of {facts['items']:,} items can be labelled?",
    outcome=lambda outcome: f"{outcome.labels} of {outcome.labels + outcome.skipped} items could be labelled.",
)


@pytest.fixture
def votes(monkeypatch):
    monkeypatch.setitem(QUESTIONS, Known.kind, Entry(Known, draw_known))
    monkeypatch.setitem(QUESTION_TEXTS, Known.kind, TEXT)
    return mj.simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], n_items=40, n_votes=3, labels=("no", "yes"), rng=0)[0]


def test_every_question_has_its_sentences():
    assert QUESTIONS.keys() == QUESTION_TEXTS.keys()


def test_new_question_works_from_python(votes, tmp_path):
    design = mj.ask(votes, question="known", n=12)
    assert design.evaluate(dict.fromkeys(design.items[:11], "yes")).verdict == "reached"
    design.write(tmp_path / "to_label.csv")
    assert Design.read(tmp_path / "to_label.design.json").evaluate({}).verdict == "open"
    with pytest.raises(mj.ConfigError, match=r"question must be one of .*known"):
        mj.ask(votes, question="unknown")


@pytest.mark.parametrize("n", [12, 40])  # with 40 labels, check also answers from them as gold
def test_new_question_works_from_the_command_line_and_check(n, votes, run, tmp_path):
    write_table(tmp_path / "votes.csv", votes_table(votes))
    code, out, err = run("ask", "votes.csv", "--question", "known", "--n", str(n))
    assert code == 0, err
    assert out.startswith("Which of 40 items can be labelled?")
    with (tmp_path / "to_label.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (tmp_path / "to_label.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "label": "?" if at == 3 else "yes"} for at, row in enumerate(rows))
    code, out, err = run("check", "votes.csv", "--gold-file", "to_label.csv")
    assert code == 0, err
    assert f"{n - 1} of {n} items could be labelled." in out
    assert "These items are a random sample" in out
