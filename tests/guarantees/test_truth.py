"""What majorant says about public data sets is true, and its numbers are at least as good as a simple baseline's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def run(script: str) -> str:
    """What a script prints; it exits with 1 and names what is wrong."""
    if not os.environ.get("MAJORANT_DATA"):
        pytest.skip("needs the public data sets: set MAJORANT_DATA")
    done = subprocess.run([sys.executable, str(BENCHMARKS / script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_no_number_is_worse_than_its_anchor():
    assert run("truth.py").count("| met |") >= 25


@pytest.mark.long
def test_gold_confirms_answers_and_labels_without_gold_are_better():
    assert run("track_record.py").count("| none |") == 20
