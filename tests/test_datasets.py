"""The public data sets load by name with the counts that their publishers state."""

from __future__ import annotations

import socket

import numpy as np
import pytest

from majorant import datasets
from majorant.errors import ConfigError, DataError
from needs import NO_DATA


def need(name):
    if any(datasets.local_path(file) is None for file in datasets.find(name).files):
        pytest.skip(NO_DATA)


@pytest.mark.parametrize("name", datasets.REGISTRY)
def test_counts(name):
    need(name)
    votes, entry = datasets.load(name), datasets.find(name)
    assert (votes.shape[:2], votes.account.rows) == ((entry.items, entry.workers), entry.rows)
    assert votes.account.merged == (5 if name == "CF_amt" else 0)
    assert votes.account.balanced
    assert votes.gold_i.min() >= 0


def test_repeated_votes_of_zencrowd_are_kept():
    need("ZenCrowd_in")
    votes = datasets.load("ZenCrowd_in")
    pairs = votes.item_n.astype(np.int64) * votes.shape[1] + votes.worker_n
    assert votes.n_votes - len(np.unique(pairs)) == 710


def test_unknown_name():
    with pytest.raises(ConfigError, match=r"'nope'.*SP_amt"):
        datasets.load("nope")
    assert datasets.find("sp_AMT").name == "SP_amt"


def test_every_entry_is_complete():
    for entry in datasets.REGISTRY.values():
        assert entry.about
        assert entry.licence
        assert entry.citation
        for file in entry.files:
            assert len(file.sha256) == 64
            assert file.url.startswith("https://raw.githubusercontent.com/")


def test_offline_error_explains_the_alternative(tmp_path, monkeypatch):
    def offline(*args, **kwargs):
        raise OSError("no network")

    monkeypatch.setenv("MAJORANT_DATA", str(tmp_path))
    monkeypatch.setattr(datasets, "_cache", lambda: tmp_path / "cache")
    monkeypatch.setattr(socket, "create_connection", offline)
    monkeypatch.setattr(socket, "getaddrinfo", offline)
    with pytest.raises(DataError, match="MAJORANT_DATA"):
        datasets.get("MS")


def test_changed_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("MAJORANT_DATA", str(tmp_path))
    path = tmp_path / datasets.find("MS").votes.path
    path.parent.mkdir(parents=True)
    path.write_text("a,b,1,1\n")
    with pytest.raises(DataError, match="SHA-256"):
        datasets.load("MS")
