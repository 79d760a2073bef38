"""The campaign of mutated inputs: a little of it in every run, ten minutes of it in the long one."""

import subprocess
import sys
from pathlib import Path

import pytest

from corpus import fuzz


def test_a_little_of_the_campaign():
    assert [fuzz.run_input(number) for number in range(25)] == [(number, None) for number in range(25)]


def test_a_fault_is_found_and_made_small():
    assert fuzz.smaller(b"x" * 50 + b"BAD" + b"y" * 50, lambda part: b"BAD" in part) == b"BAD"
    assert list(fuzz._broken({"a": [{"low": 0.1, "value": 0.5, "high": 0.4}, float("nan")]}, "")) == [
        ".a[0]: 0.5 outside [0.1, 0.4]",
        ".a[1]: NaN",
    ]


@pytest.mark.long
def test_ten_minutes_of_the_campaign():
    command = [sys.executable, "-m", "corpus.fuzz", "--minutes", "10", "--inputs", "20000", "--tables", "300"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.long
def test_a_table_goes_through_check_with_its_invariants():
    assert fuzz.run_table(0) == (0, None)
