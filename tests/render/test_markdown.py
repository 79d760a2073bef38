"""The answer in Markdown: the same sentences, names inert, files replaced and job summaries added to."""

import pytest
from click.testing import CliRunner

from majorant.cli import majorant
from majorant.render.text import inert, markdown, write_markdown
from render.samples import summary

pytestmark = pytest.mark.xdist_group("samples of pages")  # each is checked once


def test_it_says_what_the_text_says():
    text = markdown(summary("panel"))
    answer = summary("panel")["answer"]
    assert text.startswith(f"### ✅ {inert(answer['headline'])}\n")
    assert all(f"| **{name}** |" in text for name in ("Why", "Next", "Votes"))


def test_names_are_inert():
    assert inert("<img src=x>|`a`\n# b") == "\\<img src=x\\>\\|\\`a\\` \\# b"
    one = {"value": "a|<b>", "items": 4, "action": "keep", "certainty": "proved"}
    assert "| a\\|\\<b\\> | 4 | keep (proved) |" in markdown({**summary("two_items"), "slices": [one]})


def test_a_file_is_replaced_and_a_job_summary_added_to(tmp_path, monkeypatch):
    target = tmp_path / "summary.md"
    for _ in range(2):
        write_markdown(summary("two_items"), target)
    assert target.read_text(encoding="utf-8").count("###") == 1
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(target))
    write_markdown(summary("two_items"), str(target))
    assert target.read_text(encoding="utf-8").count("###") == 2


def test_the_command_prints_or_writes_it(tmp_path):
    votes = tmp_path / "votes.csv"
    votes.write_text("item,worker,label\n" + "".join(f"{i},{w},{i % 2}\n" for i in range(6) for w in "abc"))
    done = CliRunner().invoke(majorant, ["check", str(votes), "--summary", "-"])
    assert done.output.startswith("### ✅ Keep majority vote")
    done = CliRunner().invoke(majorant, ["check", str(votes), "--summary", str(tmp_path / "s.md")])
    assert "s.md" in done.output
    assert (tmp_path / "s.md").read_text(encoding="utf-8").startswith("### ✅ Keep")
    done = CliRunner().invoke(majorant, ["check", str(votes), "--summary", "-", "--json"])
    assert "both print" in str(done.exception)
