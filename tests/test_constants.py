"""Constants with the same name in different modules have the same value."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import majorant

ROOT = Path(majorant.__file__).parent
LEFT_OUT = {
    "read/formats": "a registry of one shape: each file says of its tool what EXPORT, RESULTS or KEYS are",
}
MANY_MEANINGS: dict[str, str] = {}  # names that may differ, and why


def constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The upper-case names that a module assigns, two letters or more (one is a type variable), and their values."""
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            values = [node.value] * len(names)
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                values = node.value.elts
            for place, (name, value) in enumerate(zip(names, values, strict=True)):
                if isinstance(name, ast.Name) and name.id.isupper() and len(name.id) > 1:
                    yield name.id, ast.unparse(value) + (f"[{place}]" if value is node.value and len(names) > 1 else "")


def different(root: Path) -> dict[str, dict[str, str]]:
    """Names that modules below a folder give different values: by name, the value in each module."""
    value_in: dict[str, dict[str, str]] = defaultdict(dict)
    for path in sorted(root.rglob("*.py")):
        module = path.relative_to(root).as_posix()
        if not module.startswith(tuple(f"{folder}/" for folder in LEFT_OUT)):
            for name, value in constants(ast.parse(path.read_text(encoding="utf-8"))):
                value_in[name][module] = value
    return {name: values for name, values in value_in.items() if len(set(values.values())) > 1}


def test_a_constant_has_one_value_in_the_package() -> None:
    assert {name: values for name, values in different(ROOT).items() if name not in MANY_MEANINGS} == {}


def test_check_detects_a_violation(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("MOST, FEW = 3, 2\nT = 1\n")
    (tmp_path / "two.py").write_text("MOST: int = 4\nFEW = 2\nT = 2\n")
    assert different(tmp_path) == {"MOST": {"one.py": "3", "two.py": "4"}}
