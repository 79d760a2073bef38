"""`majorant label` in a real terminal: keys, skip, undo, Ctrl-C, and the stop when the question is settled."""

import csv
import os
import select
import subprocess
import sys
import time

import numpy as np
import pytest

from majorant.ask.design import Design
from majorant.ask.race import Race

pty = pytest.importorskip("pty", reason="no pseudo-terminal on this system")
termios = pytest.importorskip("termios", reason="no pseudo-terminal on this system")
PATIENCE = 60  # seconds


@pytest.fixture
def file(tmp_path):
    """Thirty items of which one rule says no and the other yes, to be labelled."""
    race = Race.of(("majority", "other"), np.array([[0] * 30, [1] * 30]), n_items=100)
    items = tuple(f"q{n}" for n in range(30))
    Design(question=race, order=items, labels=("no", "yes"), votes="", seed=0).more(30).write(tmp_path / "to_label.csv")
    return tmp_path / "to_label.csv"


def labels_in(path):
    return [row["label"] for row in csv.DictReader(path.read_text().splitlines())]


def type_into(path, keys):
    """Type keys one by one, each once the command waits for it; what was printed, and the exit code."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "majorant", "label", path.name]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, cwd=path.parent, close_fds=True)
    os.close(slave)
    printed, left, end = "", list(keys), time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if select.select([master], [], [], 0.01)[0]:
            try:
                printed += (chunk := os.read(master, 4096)).decode()
            except OSError:  # the terminal is closed once the command has ended
                break
            if not chunk:
                break
        raw = not termios.tcgetattr(master)[3] & termios.ICANON
        if left and raw and printed.count("[q] quit") > len(keys) - len(left):
            os.write(master, left.pop(0).encode())
    else:
        process.kill()
    os.close(master)
    return printed, process.wait(PATIENCE)


def test_keys_undo_skip_and_interrupt(file):
    printed, code = type_into(file, ["2", "1", "u", "2", "s", "2", "\x03"])
    assert labels_in(file)[:5] == ["yes", "yes", "?", "yes", ""]
    assert "1 of 30" in printed
    assert code == 130
    printed, code = type_into(file, ["1", "q"])  # goes on where it was
    assert "5 of 30" in printed
    assert (labels_in(file)[4], code) == ("no", 0)


def test_labelling_in_the_terminal_stops_when_settled(file):
    printed, code = type_into(file, ["2"] * 7)
    assert code == 0
    assert labels_in(file) == ["yes"] * 7 + [""] * 23
    assert "other is better" in printed
