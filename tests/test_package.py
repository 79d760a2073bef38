"""The public names are there, stay there, and cost nothing before they are used."""

import subprocess
import sys

import pytest

import majorant


@pytest.mark.parametrize("name", majorant.__all__)
def test_public_names_are_there(name):
    assert getattr(majorant, name) is not None
    assert name in dir(majorant)


def test_a_function_is_not_hidden_by_the_module_of_its_name():
    code = """
import majorant
import majorant.simulate, majorant.agreement
from majorant.agreement.result import Agreement
votes, truth = majorant.simulate([.5, .5], [[.8, .2], [.2, .8]], n_items=50, n_votes=3, rng=0)
assert isinstance(majorant.agreement(votes, rng=0), Agreement)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_importing_the_package_loads_nothing_heavy():
    code = "import majorant, sys; print([m for m in ('scipy', 'duckdb', 'pyarrow', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_help_loads_no_numpy():
    code = "import sys, majorant.cli; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError):
        _ = majorant.nonsense
