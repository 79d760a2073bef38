"""llms.txt for coding assistants has the usual structure, working links and commands that run.

The commands of the skill are run by test_commands.py, as those of every page.
"""

import re
import shlex
import shutil

import pytest
from click.testing import CliRunner

from majorant.cli import majorant
from majorant.datasets import load
from majorant.output import votes_table, write_table
from transcripts import ROOT

TEXT = (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    (majorant .*)$", TEXT, re.MULTILINE)


def test_llms_txt_has_a_title_a_summary_and_sections_of_links():
    title, _, summary = TEXT.splitlines()[:3]
    assert title.startswith("# ")
    assert summary.startswith("> ")
    assert re.findall(r"^## (.+)$", TEXT, re.MULTILINE) == ["Commands", "Docs", "Optional"]
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert (ROOT / "docs" / target).is_file(), target


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_llms_txt_run(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "votes.csv", votes_table(load("reviews")))
    done = CliRunner().invoke(majorant, shlex.split(command)[1:])
    assert done.exit_code == 0, done.output
    shutil.rmtree(tmp_path)


def test_the_skill_says_when_to_use_it():
    head = (ROOT / "docs" / "skill" / "SKILL.md").read_text(encoding="utf-8").split("---")[1]
    assert re.search(r"^name: majorant$", head, re.MULTILINE)
    assert len(re.search(r"^description: (.+)$", head, re.MULTILINE)[1]) < 500
