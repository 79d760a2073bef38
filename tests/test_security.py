"""What SECURITY.md promises: no connection that nobody asked for, and licences that are listed."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from corpus import TABLE

ROOT = Path(__file__).parent.parent
WATCHED = """
import json, sys
seen = []
sys.addaudithook(lambda event, args: event.startswith("socket.") and seen.append([event, repr(args[1:])]))
import socket
socket.gethostname()  # the hook hears
from majorant.cli import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["majorant", *arguments]
    try:
        main()
    except SystemExit as end:
        assert not end.code, arguments
print("\\n" + json.dumps(seen))
"""


def test_commands_open_no_connection(tmp_path):
    (tmp_path / "votes.csv").write_text(TABLE)
    commands = [
        ["check", "votes.csv", "--out", "out", "-q"],
        ["report", "out/result.json", "--out", "page.html", "-q"],
        ["check", "votes.csv", "--memory", "1GB", "-q"],
    ]
    command = [sys.executable, "-c", WATCHED, json.dumps(commands)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {event for event, _ in json.loads(done.stdout.splitlines()[-1])} == {"socket.gethostname"}


def test_every_dependency_is_listed_with_its_licence():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *extras["spark"], *extras["excel"], *extras["web"]]
    names = {re.split(r"[\[<>=]", one)[0] for one in asked}
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\S+) \| [^|]+ \| ([^|]+) \|$", page, re.MULTILINE))
    assert set(rows) - {"package", "---"} == names
    assert "not declared" not in rows.values()
