"""`majorant label` killed or interrupted at random moments: every label that it acknowledged is in the file."""

from __future__ import annotations

import csv
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from majorant.ask.design import Design
from majorant.ask.race import Race
from majorant.read.tasks import read_answers

N_ITEMS = 40
PATIENCE = 60  # seconds


def run_kill(number: int) -> tuple[int, str | None]:
    """Case `number`: label some items, be killed at a random moment, look at the file, and go on to the next item."""
    rng = np.random.default_rng([6, number])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "to_label.csv"
        _design().more(N_ITEMS).write(path)
        given: list[str] = []
        for end in (signal.SIGKILL, signal.SIGINT)[:: 1 if rng.integers(2) else -1]:
            fault = _label_until_killed(path, given, rng, end)
            if fault is not None:
                return number, fault
    return number, None


def _design() -> Design:
    race = Race.of(("majority", "other"), np.array([[0] * N_ITEMS, [1] * N_ITEMS]), n_items=100)
    return Design(question=race, order=tuple(f"q{n}" for n in range(N_ITEMS)), labels=("no", "yes"), votes="", seed=0)


def _label_until_killed(path: Path, given: list[str], rng: np.random.Generator, end: int) -> str | None:
    """Give labels one by one; `given` holds those that were acknowledged by the question after them."""
    command = [sys.executable, "-m", "majorant", "label", path.name, "--all"]
    last = len(given) + int(rng.integers(1, 8))  # the label during which the process ends
    acknowledged, sent = len(given), list(given)
    with subprocess.Popen(
        command, cwd=path.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        printed = b""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if select.select([process.stdout], [], [], 0.05)[0]:
                chunk = os.read(process.stdout.fileno(), 1 << 16)
                if not chunk:
                    break
                printed += chunk
            asked = printed.count(b"[q] quit")
            if asked <= len(sent) - len(given):
                continue
            acknowledged = len(sent)
            sent.append(("no", "yes")[int(rng.integers(2))])
            process.stdin.write({"no": b"1", "yes": b"2"}[sent[-1]])
            process.stdin.flush()
            if acknowledged == last:
                time.sleep(float(rng.choice([0.0, 0.001, 0.01]) * rng.random()))
                process.send_signal(end)
                break
        else:
            process.kill()
            return f"no question for {PATIENCE} s: {printed[-200:]!r}"
    if acknowledged < last:
        return f"ended by itself: {printed[-300:]!r}"
    return _loss(path, sent, acknowledged, given)


def _loss(path: Path, sent: list[str], acknowledged: int, given: list[str]) -> str | None:
    """What is wrong with the file: each acknowledged label is there, the last one is there or not, and nothing else."""
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    labels = [row["label"] for row in rows]
    n = sum(map(bool, labels))
    if [row["item"] for row in rows] != [f"q{n}" for n in range(N_ITEMS)]:
        return "items are missing"
    if n not in (acknowledged, acknowledged + 1) or labels[:n] != sent[:n] or any(labels[n:]):
        return f"{labels[:12]} for {sent}, of which {acknowledged} were acknowledged"
    read_answers(path)
    Design.read(path.with_name("to_label.design.json"))
    given[:] = labels[:n]
    return None
