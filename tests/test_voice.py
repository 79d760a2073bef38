"""Results hold facts; the sentences that people read are made in render/."""

import ast
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from pathlib import Path

import pytest

import majorant
import majorant as mj
from majorant.simulate import one_coin_workers
from majorant.votes import Votes

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
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("facts_of", "lock_exclusively"):
            # names of fields, and the end of an error
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


def test_only_render_states_verdicts():
    for path in modules("."):
        if name_of(path) not in OTHERS and not name_of(path).startswith("render/"):
            found = [text for text in sentences(path) if any(part in text for part in VERDICTS)]
            assert not found, f"{name_of(path)}: the sentence belongs in render/"


def test_results_hold_facts_and_no_sentences():
    for path in [*modules(*RESULTS), *(ROOT / name for name in RESULTS_FILES)]:
        found = [text for text in sentences(path) if n_words(text) >= SENTENCE and not is_markup(text)]
        assert not found, f"{name_of(path)}: the sentence belongs in render/"


def texts_in(value, at=""):
    """Every text within a result that is no member of an enum, with where it is."""
    if isinstance(value, Enum):
        assert n_words(str(value)) < SENTENCE, (at, value)
    elif isinstance(value, str):
        yield at, value
    elif is_dataclass(value) and not isinstance(value, Votes):
        for field in fields(value):
            yield from texts_in(getattr(value, field.name), f"{at}.{field.name}")
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from texts_in(one, f"{at}[{name!r}]")
    elif isinstance(value, list | tuple):
        for one in value:
            yield from texts_in(one, at)


@pytest.mark.parametrize("gold", [0.0, 0.3])
def test_results_contain_no_phrases(gold):
    """All results of the public functions, on votes whose names are single words."""
    made = mj.simulate([0.6, 0.4], [[0.8, 0.2], [0.3, 0.7]], n_items=150, n_votes=3, n_workers=12, gold=gold, rng=0)
    panel = mj.simulate([0.5, 0.5], one_coin_workers([0.9, 0.8, 0.7]), n_items=60, n_votes=3, gold=gold, rng=0).votes
    results = {"compare": mj.compare(panel), "judges": mj.judges(panel)}
    for name, votes in (("crowd", made.votes), ("panel", panel)):
        result = mj.check(votes)
        on_demand = ("confidence", "workers", "removal", "review", "certificate", "agreement", "plan", "map", "rates")
        results |= {
            f"{name}.{part}": getattr(result, part) for part in ("answer", "rated", "learned", "slices", *on_demand)
        }
    results["ask"] = mj.ask(made.votes, n=5)
    results["scores"] = mj.scores(made.votes)
    phrases = [(at, text) for name, one in results.items() for at, text in texts_in(one, name) if " " in text.strip()]
    assert not phrases


def test_phrase_search_detects_a_phrase():
    estimate = mj.check([(i, w, i % 2) for i in range(4) for w in "ab"]).answer.gain
    assert [*texts_in({"gain": replace(estimate, reason="no item has a vote")}, "x")] == [
        ("x['gain'].reason", "no item has a vote")
    ]


def test_templates_contain_no_sentences_with_numbers():
    """Numbers of the summary appear in cells or in sentences of render/, never in a template's own text."""
    for path in sorted((ROOT / "render" / "templates").glob("*.j2")):
        plain = re.sub(r"<[^>]*>", "|", path.read_text(encoding="utf-8"))
        beside = re.findall(r"[^|{}\n]*\{\{ (?:fact|estimate)\([^}]*\}\}[^|{}\n]*", plain)
        assert not [text for text in beside if n_words(re.sub(r"\{\{.*?\}\}", "", text)) >= SENTENCE], path.name


def n_words(text):
    return sum(any(map(str.isalpha, word)) for word in text.split())


def is_markup(text):
    """HTML, or the colours of a page."""
    return "</" in text or "{ " in text


def refuses_or_shows(function):
    """Whether a function only raises an error, or shows an object at the prompt."""
    return function == "__repr__" or function.startswith("refuse")


def test_verdict_search_detects_a_verdict(tmp_path):
    (tmp_path / "words.py").write_text(
        '"""Majority vote is fine here."""\nwhy = f"Majority vote is {1} of these items."\n'
    )
    (text,) = sentences(tmp_path / "words.py")
    assert text == "Majority vote is  of these items."
    assert any(part in text for part in VERDICTS)
    assert n_words(text) >= SENTENCE
