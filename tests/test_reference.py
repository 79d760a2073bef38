"""docs/reference.md matches the docstrings, and every public name has an example."""

import importlib.util
import inspect
from pathlib import Path

import pytest

import majorant as mj

ROOT = Path(__file__).parents[1]
NO_DOCSTRING = ("ESTIMATORS", "theory", "__version__")  # a dict, a module, a text


def generator():
    spec = importlib.util.spec_from_file_location("make_reference", ROOT / "docs" / "make_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date():
    assert (ROOT / "docs" / "reference.md").read_text(encoding="utf-8") == generator().page(), (
        "run python docs/make_reference.py"
    )


@pytest.mark.parametrize("name", [name for name in mj.__all__ if name not in NO_DOCSTRING])
def test_every_public_name_has_an_example(name):
    assert "\n>>> " in inspect.getdoc(getattr(mj, name))


def test_only_public_names_are_listed():
    assert dir(mj) == sorted(mj.__all__)


def test_help_says_what_goes_in_and_comes_out():
    import pydoc

    text = pydoc.plain(pydoc.render_doc(mj.check))
    assert "votes: 'Any'" in text
    assert "-> 'Result'" in text
    assert "Anything `mj.read` accepts" in text
