"""The promises of SECURITY.md: no unrequested connections, and all licences listed."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

import duckdb
import pytest

from corpus import TABLE
from majorant.database import LOCKED, connect
from web.serving import serving

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


# Python runs it at the start of every process, those that the server starts among them.
EVERY_PROCESS = """
import json, os, sys
def heard(event, args):
    if event in ("socket.bind", "socket.connect", "socket.sendto", "socket.getaddrinfo"):
        with open(os.environ["HEARD"], "a") as file:
            file.write(json.dumps([event, repr(args[-1] if event != "socket.getaddrinfo" else args[:2])]) + "\\n")
sys.addaudithook(heard)
"""


def test_the_page_listens_locally_and_makes_no_requests(tmp_path, monkeypatch):
    (tmp_path / "votes.csv").write_text(TABLE)
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "sitecustomize.py").write_text(EVERY_PROCESS)
    heard = tmp_path / "heard"
    monkeypatch.setenv("HEARD", str(heard))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "first"), *filter(None, sys.path)]))
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(address, form=None):
        with opener.open(address, None if form is None else urlencode(form).encode()) as answer:
            return answer.read().decode()

    def wait(address):
        until = time.monotonic() + 120
        while json.loads(get(f"{address}/state"))["busy"]:  # it is looked at in a process of its own
            assert time.monotonic() < until
            time.sleep(0.1)

    with serving(str(tmp_path / "votes.csv")) as address:
        file = address + re.search(r"files/[\w-]+", get(address))[0]
        wait(file)
        get(f"{file}/columns", {"do": "check", "item": "item", "worker": "worker", "label": "label"})
        wait(file)
        assert json.loads(get(f"{file}/download/result.json"))["answer"]
        [bound] = [json.loads(line) for line in heard.read_text().splitlines()]
        assert bound == ["socket.bind", "('127.0.0.1', 0)"]
        port = int(address.split(":")[2].split("/")[0])
        with socket.socket() as client, pytest.raises(ConnectionRefusedError):
            client.connect(("127.0.0.2", port))


def test_every_duckdb_connection_is_locked_down():
    """A second one is opened only for an address that the user allowed."""
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "src" / "majorant").rglob("*.py")}
    opened = {path.name for path, text in sources.items() if re.search(r"duckdb\.(connect|sql|query|execute)\(", text)}
    assert opened == {"database.py"}
    with connect(1) as database:
        for setting in ("autoload_known_extensions = true", "enable_external_access = true", "threads = 2"):
            with pytest.raises(duckdb.Error, match="locked"):
                database.execute(f"SET {setting}")
        settings = {name: database.execute(f"SELECT current_setting('{name}')").fetchall()[0][0] for name in LOCKED}
    assert {name: str(value).lower() for name, value in settings.items()} == LOCKED


def test_every_dependency_is_listed_with_its_licence():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *extras["spark"], *extras["excel"], *extras["web"]]
    names = {re.split(r"[\[<>=]", one)[0] for one in asked}
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\S+) \| [^|]+ \| ([^|]+) \|$", page, re.MULTILINE))
    assert set(rows) - {"package", "---"} == names
    assert "not declared" not in rows.values()
