"""Every example in the README and the docs is run: transcripts must print what they show, Python blocks must work."""

import doctest
import re

import pytest

from transcripts import BLOCK, PAGES, ROOT, run_command, transcript


def pages_with_examples():
    return [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


def page_case(page):
    slow = page.parent.name == "tutorials" or page.name in ("report.md", "command-line.md")
    return pytest.param(page, id=str(page.relative_to(ROOT)), marks=[pytest.mark.long] if slow else [])


@pytest.mark.parametrize("page", [page_case(page) for page in pages_with_examples()])
def test_the_examples_of_a_page_run_as_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for kind, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "console":
            for command, printed in transcript(block):
                assert run_command(command, tmp_path) == printed, command
        elif block.startswith(">>> "):
            example = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), 0)
            assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, clear_globs=False).failed == 0
            names = example.globs
        else:
            exec(compile(block, page.name, "exec"), names)


def test_the_readme_has_a_transcript_and_links_that_lead_somewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "$ majorant check" in text
    for target in re.findall(r"\]\((?!https:)([^)#]+)\)", text):
        assert (ROOT / target).exists(), target


def test_the_check_can_fail(tmp_path):
    assert run_command("echo other", tmp_path) == "other\n"
    assert run_command("majorant nothing | wc -l", tmp_path).startswith("0\nUsage: majorant")
    assert run_command("majorant nothing -q && echo done", tmp_path).endswith("No such command 'nothing'.\n")
    assert run_command("majorant --version > version; wc -l < version", tmp_path).strip() == "1"
    assert transcript("$ a\nx\ny\n$ b\n") == [("a", "x\ny\n"), ("b", "")]
