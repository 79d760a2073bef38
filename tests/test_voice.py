"""One voice: what is said of majority vote is said in wording.py, and nowhere else."""

import ast
from pathlib import Path

import pytest

import majorant

ROOT = Path(majorant.__file__).parent
OTHERS = {  # no verdicts: a question of the decision path, help texts, titles of figures
    "answer/judges.py",
    "answer/path.py",
    "cli/__init__.py",
    "cli/ask.py",
    "plan.py",
    "report/figures/labels.py",
    "report/figures/model.py",
    "report/figures/votes.py",
    "report/theory.py",
}
SAYS = ("ajority vote is", "ajority vote wins", "beats majority", "who voted beats", "switch to", "ask an expert")


def sentences(path):
    """Texts in a module that are neither docstrings nor parts of errors."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    apart = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            apart.add(id(body[0].value))
        if isinstance(node, ast.Raise):
            apart |= {id(part) for part in ast.walk(node)}
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [node.value for node in texts if id(node) not in apart]


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_other_module_gives_a_verdict(path):
    if path.name == "wording.py" or str(path.relative_to(ROOT)) in OTHERS:
        return
    assert not [text for text in sentences(path) if any(part in text for part in SAYS)]


def test_the_search_finds_a_second_author(tmp_path):
    (tmp_path / "words.py").write_text('"""Majority vote is fine here."""\nwhy = f"Majority vote is {1} of these."\n')
    assert sentences(tmp_path / "words.py") == ["Majority vote is ", " of these."]
