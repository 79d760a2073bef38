"""Long runs report their progress."""

import pytest

from majorant.cli.progress import SHARE_OF_STAGE
from majorant.output import votes_table, write_table
from majorant.simulate import simulate


@pytest.fixture
def votes_file(tmp_path):
    votes, _ = simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], 30, 5, rng=0)
    write_table(tmp_path / "votes.csv", votes_table(votes))
    return "votes.csv"


def test_the_shares_of_all_stages_add_up():
    assert sum(SHARE_OF_STAGE.values()) == pytest.approx(1)


def test_a_log_names_each_stage_with_its_share(run, votes_file):
    code, out, err = run("check", votes_file, "--log-progress", "-v")
    lines = err.splitlines()
    assert code == 0
    assert [line.split()[1] for line in lines] == [stage for stage in SHARE_OF_STAGE if stage != "testing"]
    assert lines[1].startswith("majorant: comparing (2 % done after ")
    assert out.startswith("Answer")


@pytest.mark.parametrize("how", [[], ["--log-progress", "-q"]])
def test_a_short_run_logs_no_progress(run, votes_file, how):
    assert run("check", votes_file, *how)[2] == ""


def test_a_long_run_logs_its_progress(run, votes_file, monkeypatch):
    monkeypatch.setattr("majorant.cli.progress.LONG", 0.0)
    assert "majorant: comparing" in run("check", votes_file)[2]
    assert run("check", votes_file, "--no-log-progress")[2] == ""
