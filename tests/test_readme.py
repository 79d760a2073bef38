"""Run every example in README and docs: transcripts must match, and Python blocks must run."""

import re

import pytest

from majorant.methods import ESTIMATORS
from transcripts import BLOCK, PAGES, ROOT, refresh, run_command, run_python, transcript


def pages_with_examples():
    return [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", pages_with_examples(), ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run_as_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for kind, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "console":
            for command, printed in transcript(block):
                assert run_command(command, tmp_path) == printed, command
        else:
            run_python(block, names, page)


def test_readme_links_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "$ majorant check" in text
    for target in re.findall(r"\]\((?!https:)([^)#]+)\)", text):
        assert (ROOT / target).exists(), target


def test_every_method_is_described():
    text = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    described = {name for names in re.findall(r"^\*\*(.+?)\.\*\*", text, re.MULTILINE) for name in names.split(", ")}
    assert set(ESTIMATORS) <= described


def test_run_command_reports_output_and_failures(tmp_path):
    assert run_command("echo other", tmp_path) == "other\n"
    assert run_command("majorant nothing | wc -l", tmp_path).startswith("0\nUsage: majorant")
    assert run_command("majorant nothing -q && echo done", tmp_path).endswith("No such command 'nothing'.\n")
    assert run_command("majorant --version > version; wc -l < version", tmp_path).strip() == "1"
    assert transcript("$ a\nx\ny\n$ b\n") == [("a", "x\ny\n"), ("b", "")]


def test_refreshing_a_page_also_runs_python_blocks(tmp_path):
    page = tmp_path / "page.md"
    python = "```python\nfrom pathlib import Path\nPath('said.txt').write_text('hello\\n')\n```\n"
    text = python + "```console\n$ cat said.txt\n{}```\n"
    page.write_text(text.format("old\n"))
    refresh(page)
    assert page.read_text() == text.format("hello\n")
    page.write_text("```python\n>>> 1 + 1\n3\n```\n")
    with pytest.raises(AssertionError, match="does not print"):
        refresh(page)
