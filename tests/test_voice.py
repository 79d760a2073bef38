"""Results hold facts; the sentences that people read are made in render/ and wording.py."""

import ast
import re
from pathlib import Path

import pytest

import majorant

ROOT = Path(majorant.__file__).parent
RESULTS = ("evidence", "ask", "results")  # rooms whose facts others say
RESULTS_FILES = ("pipeline.py",)
SENTENCE = 6  # words that make one: fewer are a name, such as that of a model, a figure or a table's column
OTHERS = {"cli/__init__.py", "cli/ask.py", "cli/check.py"}  # they say what commands and their options do
VERDICTS = ("ajority vote is", "ajority vote wins", "beats majority", "who voted beats", "switch to", "ask an expert")


def sentences(path):
    """Texts in a module that are neither docstrings, nor parts of errors, nor what an object is at the prompt."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    apart = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            apart.add(id(body[0].value))
        if isinstance(node, ast.Raise) or (isinstance(node, ast.FunctionDef) and refuses_or_shows(node.name)):
            apart |= {id(part) for part in ast.walk(node)}
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "facts_of":  # names of fields
            apart |= {id(part) for part in ast.walk(node)}
    texts = []
    for node in ast.walk(tree):  # a formatted text before its parts
        if id(node) in apart:
            continue
        if isinstance(node, ast.JoinedStr):
            texts.append("".join(part.value for part in node.values if isinstance(part, ast.Constant)))
            apart |= {id(part) for part in ast.walk(node)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(node.value)
    return texts


def modules(*rooms):
    return sorted(path for room in rooms for path in (ROOT / room).rglob("*.py"))


def name_of(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", modules("."), ids=name_of)
def test_no_other_module_gives_a_verdict(path):
    if path.name == "wording.py" or name_of(path) in OTHERS or name_of(path).startswith("render/"):
        return
    assert not [text for text in sentences(path) if any(part in text for part in VERDICTS)]


@pytest.mark.parametrize("path", [*modules(*RESULTS), *(ROOT / name for name in RESULTS_FILES)], ids=name_of)
def test_results_hold_facts_and_no_sentences(path):
    # why a number is missing, such as "no interval: ...", is a fact
    assert not [
        text
        for text in sentences(path)
        if n_words(text) >= SENTENCE and not is_markup(text) and not text.startswith("no ")
    ]


@pytest.mark.parametrize("path", sorted((ROOT / "render" / "templates").glob("*.j2")), ids=lambda path: path.name)
def test_the_page_holds_layout_and_no_sentence_of_numbers(path):
    """A number of the summary stands in a cell or in a sentence of wording.py, never among a template's own words."""
    plain = re.sub(r"<[^>]*>", "|", path.read_text(encoding="utf-8"))
    beside = re.findall(r"[^|{}\n]*\{\{ (?:fact|estimate)\([^}]*\}\}[^|{}\n]*", plain)
    assert not [text for text in beside if n_words(re.sub(r"\{\{.*?\}\}", "", text)) >= SENTENCE]


def n_words(text):
    return sum(any(map(str.isalpha, word)) for word in text.split())


def is_markup(text):
    """HTML, or the colours of a page."""
    return "</" in text or "{ " in text


def refuses_or_shows(function):
    """Whether a function only raises an error, or shows an object at the prompt."""
    return function == "__repr__" or function.startswith("refuse")


def test_the_search_finds_a_second_author(tmp_path):
    (tmp_path / "words.py").write_text(
        '"""Majority vote is fine here."""\nwhy = f"Majority vote is {1} of these items."\n'
    )
    (text,) = sentences(tmp_path / "words.py")
    assert text == "Majority vote is  of these items."
    assert any(part in text for part in VERDICTS)
    assert n_words(text) >= SENTENCE
