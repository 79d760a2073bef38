"""Every call of the operating system may fail: the files are then in the old state or the new one, without litter."""

import shutil
import sys

import pytest

from corpus import faults

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or not (shutil.which("cc") or shutil.which("gcc")), reason="needs Linux and cc"
)


@pytest.mark.parametrize(
    ("name", "every"),
    [("label", 11), ("aggregate", 5), *(pytest.param(name, 1, marks=pytest.mark.long) for name in faults.COMMANDS)],
)
def test_any_call_may_fail(name, every):
    assert faults.run(name, every) == []
