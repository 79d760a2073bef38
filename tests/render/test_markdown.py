"""The answer as Markdown: the same sentences, escaped names, and files or job summaries."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from majorant.cli import majorant
from majorant.output import write_summary
from majorant.render.text import inert, markdown
from majorant.results.slices import SliceAnswer
from majorant.tabular import Records
from render.samples import result, summary

pytestmark = pytest.mark.xdist_group("samples of pages")  # each is checked once


def test_json_matches_the_text():
    text = markdown(result("panel"))
    answer = summary("panel")["answer"]
    assert text.startswith(f"### ✅ {inert(answer['headline'])}\n")
    assert all(f"| **{name}** |" in text for name in ("Why", "Next", "Votes"))


def test_names_are_escaped_in_markdown():
    assert inert("<img src=x>|`a`\n# b") == "\\<img src=x\\>\\|\\`a\\` \\# b"
    whole = result("two_items")
    one = SliceAnswer(value="a|<b>", n_items=4, n_votes=12, differ=0, answer=whole.answer)
    sliced = replace(whole)
    vars(sliced)["slices"] = Records([one])
    text = markdown(sliced)
    assert f"| a\\|\\<b\\> | 4 | keep ({whole.answer.certainty}) |" in text


def test_a_file_is_replaced_and_a_job_summary_added_to(tmp_path, monkeypatch):
    target = tmp_path / "summary.md"
    for _ in range(2):
        write_summary(markdown(result("two_items")), target)
    assert target.read_text(encoding="utf-8").count("###") == 1
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(target))
    write_summary(markdown(result("two_items")), str(target))
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
