"""The rooms of the package import only rooms below them: the contract in pyproject.toml, late imports included."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import majorant

ROOT = Path(majorant.__file__).parent


def lint(folder):
    """What import-linter says about the package, under the configuration in a folder."""
    pytest.importorskip("importlinter")
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    arguments = [sys.executable, "-c", program, "--no-cache", "--config", str(folder / "pyproject.toml")]
    return subprocess.run(arguments, capture_output=True, text=True, check=False, cwd=ROOT.parents[1])


def test_rooms_import_only_rooms_below():
    found = lint(ROOT.parents[1])
    assert found.returncode == 0, found.stdout
    assert "rooms KEPT" in found.stdout


def test_an_import_of_a_room_above_is_found(tmp_path):
    content = (ROOT.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    swapped = content.replace('    "ask",\n', "").replace('    "decide",\n', '    "ask",\n    "decide",\n')
    (tmp_path / "pyproject.toml").write_text(swapped.replace('    "cli",\n    "web",\n', '    "web",\n    "cli",\n'))
    found = lint(tmp_path)
    assert found.returncode == 1
    assert "majorant.cli is not allowed to import majorant.web" in found.stdout


def test_the_package_does_not_import_the_paper():
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert "paper" not in {name.partition(".")[0] for name in names}, path
