"""What half by name gains on public panels: the figures of the study that froze the rule, to a tenth of a point."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from majorant.known import half_by_name, know_judges, public_ratings, vote_shares
from majorant.methods.fit import chances
from majorant.read import read
from needs import NO_DATA

# Points gained over the plain majority vote.  The study had +.4 on setrel_lcquad; names recognised since
# (deepseek-chat, deepseek-reasoner, gpt-5 in place of gpt-5-chat) make it +.3, and changed no other panel.
STUDY = {
    "alt_lgbteen": 1.2,
    "alt_summeval": -2.4,
    "code_java": 4.4,
    "code_summary_java": 10.5,
    "dial_convai2": 0.0,
    "judging_judges": 5.3,
    "llmbar_65": 15.0,
    "llmbar_six": 17.8,
    "mmlu_error": -7.4,
    "mtbench_pairs": 5.5,
    "realmistake_fact": -9.0,
    "setrel_lcquad": 0.3,
    "vaccines_all": 1.8,
}


@pytest.mark.parametrize("name", STUDY)
@pytest.mark.filterwarnings("ignore::majorant.errors.DataNote")
def test_gain_on_public_panels(name):
    folder = Path(os.environ.get("MAJORANT_DATA", "nowhere")) / "panels" / name
    if not folder.is_dir():
        pytest.skip(NO_DATA)
    votes = read(folder / "label.csv", repeats="each")
    with (folder / "truth.csv").open(encoding="utf-8") as file:
        truth = {row["item"]: row["truth"] for row in csv.DictReader(file)}
    codes = {str(label): code for code, label in enumerate(votes.labels)}
    true_i = np.array([codes.get(truth[str(item)], -1) if str(item) in truth else -2 for item in votes.items])

    def accuracy(score_ik):
        right_ik = chances(score_ik)
        right_i = np.where(true_i >= 0, right_ik[np.arange(len(true_i)), true_i], 0.0)
        return 100 * right_i[true_i >= -1].mean()

    known = know_judges(votes.workers, public_ratings())
    assert known.decide
    gain = accuracy(half_by_name(votes, known.weight_j)) - accuracy(vote_shares(votes))
    assert round(gain, 1) == pytest.approx(STUDY[name])
