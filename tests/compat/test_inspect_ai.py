"""Panels in Inspect: a scorer, a reducer and metrics, with a mock model."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest

inspect_ai = pytest.importorskip("inspect_ai")

from inspect_ai.scorer import SampleScore, Score  # noqa: E402

import majorant as mj  # noqa: E402
from majorant.compat.inspect_ai import effective_judges, panel_rate, panel_verdict  # noqa: E402

RUN = """
import json, sys
import numpy as np
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, accuracy, multi_scorer, scorer
from inspect_ai.solver import solver
from majorant.compat.inspect_ai import panel, panel_verdict

rng = np.random.default_rng(1)
truth = ["C" if rng.random() < 0.7 else "I" for _ in range(120)]

@solver
def answered():  # the mock model would count tokens, with a vocabulary from the network
    async def solve(state, generate):
        state.output = ModelOutput.from_content("mockllm/model", "an answer")
        return state
    return solve

def judge(name, share):
    @scorer(metrics=[accuracy()], name=name)
    def build():
        async def score(state, target):
            return Score(value=target.text if rng.random() < share else {"C": "I", "I": "C"}[target.text])
        return score
    return build()

def run(scored, folder):
    known = [{"human": t} if i % 3 == 0 else {} for i, t in enumerate(truth)]
    rows = [Sample(id=f"s{i}", input="?", target=t, metadata=known[i]) for i, t in enumerate(truth)]
    task = Task(dataset=MemoryDataset(rows), solver=answered(), scorer=scored)
    (log,) = eval(task, model="mockllm/model", log_dir=folder, display="none")
    assert log.status == "success", log.error
    metrics = {name: one.value for score in log.results.scores for name, one in score.metrics.items()}
    samples = [[one.target, [[s.value, s.metadata] for s in one.scores.values()]] for one in log.samples]
    return {"metrics": metrics, "samples": samples}

names = ("gpt", "gemini", "llama")
folder = sys.argv[1]
three = [judge("gpt", 1), judge("gemini", 1), judge("llama", 0)]
print(json.dumps({
    "panel": run(panel({name: judge(name, share) for name, share in zip(names, (0.9, 0.85, 0.8))}), folder + "/a"),
    "reduced": run(multi_scorer(three, panel_verdict(names)), folder + "/b"),
    "three": run([judge(name, 0.8) for name in names], folder + "/c"),
}))
"""


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """What three evaluations of a mock model give; in a process of their own, as Inspect leaves streams open."""
    folder = tmp_path_factory.mktemp("logs")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:2000]
    return folder, json.loads(done.stdout.splitlines()[-1])


def test_a_panel_scores_by_majority_and_reports_on_itself(logs):
    found, samples = logs[1]["panel"]["metrics"], logs[1]["panel"]["samples"]
    assert 1 <= found["effective_judges"] <= 3
    truth = np.mean([target == "C" for target, _ in samples])
    assert found["low"] <= truth <= found["high"]  # by the 40 verdicts of people
    assert found["low"] < found["rate"] < found["high"]
    assert set(samples[0][1][0][1]["votes"]) == {"gpt", "gemini", "llama"}


def test_a_reducer_joins_scorers(logs):
    for target, ((value, metadata),) in logs[1]["reduced"]["samples"]:
        assert value == target
        assert set(metadata["votes"]) == {"gpt", "gemini", "llama"}


def test_the_log_of_several_scorers_is_read_by_check(logs):
    assert mj.read(str(next((logs[0] / "c").glob("*.eval")))).shape == (120, 3, 2)


def test_ties_and_missing_verdicts():
    reduce = panel_verdict()
    assert reduce([Score(value="C"), Score(value="I")]).value == "N"
    assert panel_verdict(tie="I")([Score(value="C"), Score(value="I")]).value == "I"
    assert reduce([Score(value="N"), Score(value="C")]).value == "C"
    assert reduce([Score(value="C"), Score(value="C"), Score(value="I")]).metadata["votes"]["judge 3"] == "I"


def test_judges_that_repeat_each_other_count_as_fewer():
    rng = np.random.default_rng(3)
    truth = rng.integers(2, size=300)
    wrong = rng.random((300, 2)) < 0.25
    given = np.where(wrong, 1 - truth[:, None], truth[:, None])
    copies = np.column_stack([given[:, 0]] * 3 + [given[:, 1]])

    def scores(label_ij):
        rows = [{f"j{j}": "CI"[x] for j, x in enumerate(row)} for row in label_ij]
        return [
            SampleScore(score=Score(value="C", metadata={"votes": row}), sample_id=f"s{i}")
            for i, row in enumerate(rows)
        ]

    apart = np.where(rng.random((300, 4)) < 0.25, 1 - truth[:, None], truth[:, None])
    assert effective_judges()(scores(copies)) < effective_judges()(scores(apart))


def test_rate_without_human_verdicts_is_the_panels_own():
    scores = [SampleScore(score=Score(value="C" if i < 7 else "I"), sample_id=str(i)) for i in range(10)]
    found = panel_rate()(scores)
    assert found["rate"] == 0.7
    assert 0.3 < found["low"] < 0.5
    assert math.isnan(effective_judges()(scores))
