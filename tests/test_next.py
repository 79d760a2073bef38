"""The next step that an answer promises is what its printed command draws."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from majorant.output import votes_table, write_table
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes
from real import load, read_set


def teams() -> Votes:
    """Six fixed teams of three workers."""
    rng = np.random.default_rng(1)
    item_n, place_n = np.divmod(np.arange(1800), 3)
    truth_i = rng.integers(0, 2, 600)
    right_n = rng.random(1800) < np.array([0.9, 0.75, 0.6])[place_n]
    return Votes.from_codes(
        item_n, 3 * (item_n % 6) + place_n, np.where(right_n, truth_i[item_n], 1 - truth_i[item_n]),
        items=range(600), workers=range(18), labels=("no", "yes"),
    )  # fmt: skip


def table_of(label_ij: np.ndarray) -> Votes:
    n_items, n_workers = label_ij.shape
    return Votes.from_codes(
        np.repeat(np.arange(n_items), n_workers), np.tile(np.arange(n_workers), n_items), label_ij.ravel(),
        items=range(n_items), workers=range(n_workers), labels=("no", "yes"),
    )  # fmt: skip


FILES = {
    "teams": teams,
    "three items": lambda: table_of(np.array([[0, 0, 1], [1, 1, 1], [0, 1, 1]])),
    "all tied": lambda: table_of(np.tile([0, 1], (60, 1))),
    "all tied by four": lambda: table_of(np.tile([0, 1, 1, 0], (60, 1))),
    "unanimous": lambda: table_of(np.tile([[0] * 3, [1] * 3], (30, 1))),
    "crowd": lambda: simulate([0.6, 0.4], one_coin_workers([0.95, 0.9, *[0.6] * 28]), 400, 5, rng=0).votes,
    "thin crowd": lambda: simulate([0.6, 0.4], one_coin_workers([0.8] * 80), 150, 3, rng=0).votes,
    "chance": lambda: simulate([0.6, 0.4], one_coin_workers([0.5] * 30), 200, 5, rng=0).votes,
}
SETS = ["CF_amt", "politifact_six", "snow_wsd", "medicheck", "mtbench_pairs", "fej2013", "snow_temporal", "llmbar_six"]


def first_draw(run, folder: Path) -> tuple[str, dict, dict]:
    """The sentence about the next step, its facts, and the design that the printed command writes."""
    code, out, err = run("check", "votes.csv", "--json")
    assert code == 0, err
    answer = json.loads(out)["answer"]
    if not answer["step"]["labels"]:
        return answer["next"], answer, {}
    words = shlex.split(answer["command"])
    assert words[:2] == ["majorant", "ask"]
    code, _, err = run(*words[1:], "--json")
    assert code == 0, err
    return answer["next"], answer, json.loads((folder / "to_label.design.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [*FILES, *SETS])
def test_the_printed_command_draws_what_the_answer_promises(name, run, tmp_path):
    read = load if name == "CF_amt" else read_set
    votes = FILES[name]() if name in FILES else read(name)
    write_table(
        tmp_path / "votes.csv", {n: c for n, c in votes_table(votes).items() if n in ("item", "worker", "label")}
    )
    said, answer, design = first_draw(run, tmp_path)
    step = answer["step"]
    if not design:
        assert said == "Use the labels."
        return
    drawn = len((tmp_path / "to_label.csv").read_text(encoding="utf-8").splitlines()) - 1
    assert drawn == step["labels"] == int(re.search(r"\d+", said.replace(",", "")).group())
    if step["kind"] == "teach":
        assert design["question"] == "teach"
        if drawn < step["items"]:
            assert "on which the votes differ" in said
            assert design["content"]["draw"] == "teach"
            assert len(design["content"]["drawn"]["chance_t"]) == drawn
    else:
        assert design["question"] == "rules"
        assert "on which the two rules disagree" in said
        assert design["content"]["rules"] == ["majority", answer["other"]]
        assert len(design["order"]) == step["items"]
