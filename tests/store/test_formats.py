"""Formats of other tools, sorted: they give the same votes as in memory, or a one-sentence error."""

import sys
from pathlib import Path

import pytest

import majorant
from majorant.errors import ConfigError
from majorant.read.options import ReadOptions
from majorant.read.sort import prepare

sys.path.insert(0, str(Path(__file__).parents[1] / "read"))
from test_fixtures import CASES, HERE, ballots

MEMORY = 1_000_000_000


KINDS = (  # one of each way of reading
    "inspect.eval", "inspect_*.eval", "promptfoo.json", "lm_eval/*/samples_*.jsonl", "label_studio_rating.csv",
    "argilla_flat.jsonl", "doccano/*.jsonl", "toloka.tsv", "mturk_json.csv", "cvat/*.xml", "wide.csv", "wide_text.csv",
    "r_wide.csv", "ragas.csv", "wide.xlsx", "long.ods",
)  # fmt: skip
FEW = [(name, settings) for name, settings, *_ in CASES if name in KINDS]


@pytest.mark.parametrize(("name", "settings"), FEW, ids=[name for name, _ in FEW])
def test_sorted_files_contain_the_same_votes_as_memory(name, settings, tmp_path):
    votes = majorant.read(HERE / name, **settings)
    if votes.account.format.endswith(", wide"):
        with pytest.raises(ConfigError, match="a wide table can only be read in memory"):
            prepare(str(HERE / name), tmp_path / "work", ReadOptions(**settings), memory=MEMORY)
        return
    stored = prepare(str(HERE / name), tmp_path / "work", ReadOptions(**settings), memory=MEMORY)
    assert ballots(stored) == ballots(votes)
    assert (tuple(stored.items), stored.workers, stored.labels) == (votes.items, votes.workers, votes.labels)
    assert stored.account.format == votes.account.format
