"""The public names exist, and importing them is cheap."""

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
import majorant.simulate, majorant.results.agreement
from majorant.results.agreement.coefficients import Agreement
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


RUN = "import sys; from majorant.cli import main; sys.argv = ['majorant', *sys.argv[1:]]"
HEAVY = ("scipy", "scipy.stats", "scipy.optimize", "pandas", "matplotlib", "majorant.methods")
LOADED = f"print('LOADED', [m for m in {HEAVY} if m in sys.modules])"


def loaded(*arguments):
    """Which heavy modules a command has imported by its end."""
    code = f"{RUN}\ntry:\n    main()\nexcept SystemExit:\n    pass\n{LOADED}"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("command", ["check", "certify", "aggregate", "workers", "agreement"])
def test_a_wrong_path_is_reported_before_heavy_imports(command):
    assert loaded(command, "no-such-file.csv") == "LOADED []"


def test_a_wrong_column_is_reported_before_heavy_imports(tmp_path):
    (tmp_path / "odd.csv").write_text("a,b,c\n1,2,3\n")
    assert loaded("check", str(tmp_path / "odd.csv")) == "LOADED []"


def test_check_does_not_import_heavy_modules(tmp_path):
    (tmp_path / "votes.csv").write_text(
        "item,worker,label\n" + "".join(f"{i},{w},{i % 2}\n" for i in range(9) for w in "xyz")
    )
    assert loaded("check", str(tmp_path / "votes.csv")) == "LOADED ['scipy', 'majorant.methods']"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError):
        _ = majorant.nonsense
