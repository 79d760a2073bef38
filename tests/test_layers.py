"""Each subpackage imports only the subpackages listed for it, and errors."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import majorant

ROOT = Path(majorant.__file__).parent
EVERYONE = (
    "database",
    "errors",
    "arguments",
    "ownership",
    "limits",
    "tabular",
    "defaults",
    "values",
    "filetypes",
    "options",
    "__version__",
)  # import nothing
BELOW_PIPELINE = (
    "theory votes known kernels items read datasets tally simulate methods evidence ask results atomic output store "
    "workfolder"
)
MAY_IMPORT = {
    "errors": "",
    "arguments": "read",  # the options of reading, which many functions hand on
    **dict.fromkeys(("ownership", "defaults", "tabular", "limits", "values", "filetypes", "options"), ""),
    "database": "",
    "atomic": "",
    "output": "atomic votes",
    "theory": "",
    "votes": "",
    "known": "votes",  # who the judges are; below the methods, which weigh their votes
    "kernels": "votes",
    "items": "votes kernels",
    "workfolder": "atomic",
    "store": "votes workfolder",
    "read": "votes known kernels store workfolder",
    "datasets": "read votes",
    "tally": "votes kernels items",
    "simulate": "votes theory",
    "methods": "theory read votes known tally kernels items atomic",
    "evidence": "theory ask.betting methods read kernels items tally votes",
    "decide": "evidence",
    "ask": "evidence decide read kernels items atomic output tally methods votes pipeline results",
    "results": "evidence decide ask methods read items tally votes theory kernels",
    "pipeline": f"decide {BELOW_PIPELINE}",
    "render": f"decide pipeline output {BELOW_PIPELINE}",  # the result types
    "web": f"pipeline render {BELOW_PIPELINE}",
    "compat": "evidence results methods read kernels pipeline tally votes",
    "pandas": "",  # the public names, lazily
    "testing": "decide results read pipeline render",
    "cli": f"decide pipeline render web cli {BELOW_PIPELINE}",
    "__main__": "cli",
    "__init__": f"pipeline render {BELOW_PIPELINE}",  # the public names, lazily
}


def modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


SHOWS = ("_repr_html_", "__str__", "__repr__", "save", "report", "plot", "summary", "to_dict", "to_json")


def without_display(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those within methods that show or save a value: these may call the rendering."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.FunctionDef) and node.name in SHOWS):
            yield node
            yield from without_display(node)


@cache
def all_imported(path: Path) -> set[str]:
    """Dotted names that a module imports."""
    names = set()
    for node in without_display(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def imported(path: Path) -> set[str]:
    """Dotted names inside the package that a module imports, without the leading `majorant.`"""
    return {name.removeprefix("majorant.") for name in all_imported(path) if name.startswith("majorant.")}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_import_only_lower_layers(path: Path) -> None:
    own = room(path)
    assert own in MAY_IMPORT, f"{own}: say in MAY_IMPORT where this new room stands"
    allowed = {own, *EVERYONE, *MAY_IMPORT[own].split()}
    for name in imported(path):
        assert any(name == one or name.startswith(f"{one}.") for one in allowed), f"{path}: imports majorant.{name}"


def test_the_package_does_not_import_the_paper() -> None:
    for path in modules():
        assert "paper" not in {name.partition(".")[0] for name in all_imported(path)}, path


def test_check_detects_a_violation(tmp_path: Path) -> None:
    offender = tmp_path / "kernels.py"
    offender.write_text("from majorant.render import text\nimport majorant.cli\n")
    assert imported(offender) == {"render.text", "cli"}
