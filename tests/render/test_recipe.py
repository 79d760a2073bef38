"""The recipe of CONTRIBUTING.md for a sentence: changing one function changes it everywhere."""

import json

import pytest

import majorant as mj
from majorant.output import votes_table, write_table
from majorant.render import answer

TOY = "Label whatever you like, said the toy."


@pytest.fixture
def votes(monkeypatch):
    monkeypatch.setattr(answer, "next_line", lambda result: TOY)
    return mj.simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], n_items=60, n_votes=3, rng=0)[0]


def test_new_fact_is_shown_everywhere(votes, run, tmp_path):
    write_table(tmp_path / "votes.csv", votes_table(votes))
    code, out, err = run("check", "votes.csv", "--out", "results", "--summary", "answer.md")
    assert code == 0, err
    assert TOY in out
    assert TOY in (tmp_path / "results" / "report.html").read_text(encoding="utf-8")
    assert TOY in (tmp_path / "answer.md").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "results" / "result.json").read_text(encoding="utf-8"))["answer"]["next"] == TOY


def test_new_figure_is_shown_in_a_notebook(votes):
    assert TOY in mj.check(votes)._repr_html_()
