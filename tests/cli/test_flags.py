"""The library names arguments, the command line names flags, and one function translates between them."""

import ast
import re
from pathlib import Path

import pytest

import majorant
from majorant.options import Read, options_of

ROOT = Path(majorant.__file__).parent
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+\b")
COMMAND = re.compile(r"majorant [a-z]+ .*")  # to be typed as it stands
ROOMS_OF_FLAGS = ("cli", "paper", "render", "options.py")  # these speak to a terminal too


def texts(path: Path) -> list[str]:
    """Every string that a module can show, without whole commands; docstrings and style sheets are not messages."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    quiet = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    quiet |= {id(part) for node in joined for part in node.values}
    shown = ["".join(getattr(part, "value", "") if isinstance(part, ast.Constant) else "X" for part in node.values)
             for node in joined]  # fmt: skip
    shown += [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in quiet
    ]
    return [COMMAND.sub("", text) for text in shown]


def texts_in(tree: ast.AST) -> list[str]:
    """The constant texts below a node."""
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def modules() -> list[Path]:
    return [path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] not in ROOMS_OF_FLAGS]


def test_library_messages_never_mention_flags():
    for path in modules():
        found = [text for text in texts(path) if FLAG.search(text) and "style=" not in text]
        assert found == [], f"{path.relative_to(ROOT)}: name arguments with use(), errors.py"


def test_errors_name_arguments_as_facts():
    """`use("item", "NAME")`, so that the command line and the page can spell them as flags and fields."""
    spelled = re.compile(rf"(?<![\w.'\"-])({'|'.join(one.name for one in options_of(Read))})=('|True\\b|[\\s.,;:)])")
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for text in texts_in(node) if isinstance(node, ast.Raise) else ():
                assert not spelled.search(text), f"{path.relative_to(ROOT)}: {text!r}"


def test_messages_name_arguments_in_python_and_flags_on_the_terminal(tmp_path, capsys, monkeypatch):
    table = tmp_path / "votes.csv"
    table.write_text("item,task,worker,label\n1,2,3,4\n")
    with pytest.raises(majorant.DataError, match="Say which with item='NAME'"):
        majorant.read(table)
    monkeypatch.setattr("sys.argv", ["majorant", "certify", str(table)])
    with pytest.raises(SystemExit):
        majorant_main()
    assert "Say which with --item NAME." in capsys.readouterr().err


def majorant_main() -> None:
    from majorant.cli import main

    main()
