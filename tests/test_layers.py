"""Nothing imports upward: each room of the package may import the rooms listed for it, and errors, and nothing else."""

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
    "limits",
    "tabular",
    "defaults",
    "resources",
    "values",
    "wording",
    "__version__",
)  # import nothing
BELOW_PIPELINE = (
    "theory votes kernels blocks items read datasets tally simulate methods evidence ask results backend atomic output"
)
MAY_IMPORT = {
    "errors": "",
    **dict.fromkeys(("defaults", "tabular", "limits", "resources", "values", "wording"), ""),
    "database": "",
    "atomic": "",
    "output": "atomic votes",
    "theory": "",
    "votes": "",
    "kernels": "votes",
    "blocks": "votes kernels",
    "items": "votes kernels blocks",
    "read": "votes",
    "datasets": "read votes",
    "tally": "votes kernels blocks items",
    "simulate": "votes theory",
    "methods": "theory read votes tally blocks kernels items atomic",
    "backend": "atomic blocks methods read kernels items output tally votes",
    "evidence": "theory backend methods read kernels items tally votes",
    "ask": "blocks read kernels items output backend tally methods votes pipeline results",
    "results": "evidence ask methods read items tally votes theory kernels blocks backend",
    "pipeline": BELOW_PIPELINE,
    "render": f"pipeline output {BELOW_PIPELINE}",  # the result types
    "web": f"pipeline render {BELOW_PIPELINE}",
    "compat": "results methods read kernels pipeline tally votes",
    "testing": "results read pipeline render",
    "cli": f"pipeline render web cli {BELOW_PIPELINE}",
    "__main__": "cli",
    "__init__": f"pipeline render {BELOW_PIPELINE}",  # the public names, lazily
}


def modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


def without_display(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those within `_repr_html_`: the one written exception, a result may call the report to be shown."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.FunctionDef) and node.name == "_repr_html_"):
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
def test_imports_go_down(path: Path) -> None:
    own = room(path)
    assert own in MAY_IMPORT, f"{own}: say in MAY_IMPORT where this new room stands"
    allowed = {own, *EVERYONE, *MAY_IMPORT[own].split()}
    for name in imported(path):
        assert any(name == one or name.startswith(f"{one}.") for one in allowed), f"{path}: imports majorant.{name}"


def test_the_package_does_not_import_the_paper() -> None:
    for path in modules():
        assert "paper" not in {name.partition(".")[0] for name in all_imported(path)}, path


def test_the_check_can_fail(tmp_path: Path) -> None:
    offender = tmp_path / "kernels.py"
    offender.write_text("from majorant.render import text\nimport majorant.cli\n")
    assert imported(offender) == {"render.text", "cli"}
