"""The accessor of pandas frames."""

import subprocess
import sys

import pandas as pd
import pytest

import majorant as mj
import majorant.pandas

FRAME = pd.DataFrame(
    [(i, w, "yes" if (i * j) % 5 < 3 else "no") for i in range(30) for j, w in enumerate("abc")],
    columns=["item", "worker", "label"],
)


def test_pandas_accessor_matches_the_library():
    assert FRAME.majorant.check().answer == mj.check(FRAME).answer
    assert FRAME.majorant.aggregate("dawid-skene").labels() == mj.aggregate(FRAME, "dawid-skene").labels()
    renamed = FRAME.rename(columns={"label": "said"})
    assert renamed.majorant.check(label="said").votes.shape == (30, 3, 2)
    assert "help(majorant.judges)" in type(FRAME.majorant).judges.__doc__
    with pytest.raises(mj.ConfigError, match="no argument golds="):
        FRAME.majorant.check(golds={})


def test_importing_majorant_imports_no_pandas():
    code = "import sys, majorant; assert 'pandas' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
