"""`majorant theory`: the numbers of the library, in words and as JSON."""

import io
import json
import sys
from typing import NamedTuple

import numpy as np
import pytest

from majorant import cli, theory
from majorant.simulate import simulate

PRIOR, CONFUSION = [0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]]
MODEL = ["--prior", ".6,.4", "--confusion", ".7,.3;.2,.8"]
CREW = {"Ann": [[0.9, 0.1], [0.1, 0.9]], "Bob": [[0.6, 0.4], [0.4, 0.6]], "Cy": [[0.6, 0.4], [0.4, 0.6]]}


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """The command line in this process, inside an empty folder."""

    def call(*arguments, text=""):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["majorant", "theory", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return Done(stop.value.code, *capsys.readouterr())

    return call


def test_the_table_the_witness_and_the_map(tmp_path, run):
    done = run(*MODEL, "--votes", "3,4,7", "--labels", "cat,dog")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "votes  verdict           margin  majority  optimal rule     gap     handicap  radius\n"
        "    3  optimal      +0.303 nats    0.8288        0.8288       0  -0.36 votes  0.0194\n"
        "    4  optimal      +1.284 nats    0.9216        0.9216       0  -0.43 votes  0.0631\n"
        "    7  not optimal  -0.240 nats    0.9110        0.9235  0.0125  -0.61 votes  0.0000\n"
        "\n"
        "The votes on which majority vote is closest to losing:\n"
        "  2 x dog, 1 x cat: majority says dog, and so does the optimal rule\n"
        "  3 x dog, 1 x cat: majority says dog, and so does the optimal rule\n"
        "  4 x dog, 3 x cat: majority says dog, the optimal rule says cat\n"
        "\n"
        "Leaving out ties, majority vote is optimal for these vote counts: odd 1 to 5, even 2 to 12.\n"
        "\n"
        "Ties are left out.\n"
    )


def test_json_has_the_same_numbers_as_the_library(run):
    done = run(*MODEL, "--votes", "4", "--ties", "random", "--json")
    facts = json.loads(done.stdout)["by_votes"][0]
    wanted = theory.describe(PRIOR, CONFUSION, 4, "random")
    assert facts["margin"] == theory.majority_margin(PRIOR, CONFUSION, 4, "random") == wanted.margin
    assert facts["majority_accuracy"] == theory.majority_accuracy(PRIOR, CONFUSION, 4, "random")
    assert facts["optimal_accuracy"] == theory.map_accuracy(PRIOR, CONFUSION, 4, "random")
    assert facts["gap"] == theory.gap(PRIOR, CONFUSION, 4, "random")
    assert facts["handicap"] == theory.handicap(PRIOR, CONFUSION, 4)
    assert facts["radius"] == theory.perturbation_radius(PRIOR, CONFUSION, 4)
    assert facts["witness"]["counts"] == [2, 2]


def test_a_named_panel_is_read_from_a_file_or_standard_input(tmp_path, run):
    (tmp_path / "panel.json").write_text(json.dumps(CREW))
    arguments = ["--prior", ".5,.5", "--labels", "cat,dog", "--panel"]
    by_file = run(*arguments, "panel.json")
    by_stdin = run(*arguments, "-", text=json.dumps(CREW))
    assert (by_file.returncode, by_file.stdout) == (0, by_stdin.stdout)
    assert "cat from Bob Cy, dog from Ann: majority says cat, the optimal rule says dog" in by_file.stdout
    assert "-1.386 nats" in by_file.stdout
    unnamed = run(*arguments, "-", "--json", text=json.dumps(list(CREW.values())))
    assert json.loads(unnamed.stdout)["by_votes"][0]["witness"]["ballot"] == [1, 0, 0]


def test_infinite_margin_is_valid_json(run):
    done = run("--prior", ".5,.5", "--confusion", "1,0/0,1", "--votes", "3", "--json")
    assert json.loads(done.stdout)["by_votes"][0]["margin"] == "inf"


def test_cells_too_large_to_enumerate_are_marked(run):
    rows = "/".join(",".join(".5" if k == l else str(0.5 / 9) for l in range(10)) for k in range(10))
    done = run("--prior", ",".join([".1"] * 10), "--confusion", rows, "--votes", "101")
    assert done.returncode == 0
    assert "?: too many vote patterns to enumerate" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--prior", ".5,.6", "--confusion", "1,0/0,1"], "prior sums to 1.1"),
        (["--prior", ".5,.5"], "either --confusion (shared by all) or --panel (one each)"),
        ([*MODEL, "--panel", "panel.json"], "either --confusion (shared by all) or --panel (one each)"),
        ([*MODEL, "--labels", "a,b,c"], "--labels names 3 classes, --prior lists 2"),
        ([*MODEL, "--votes", "three"], "is not a list of whole numbers such as 3,5,7"),
        ([*MODEL, "--votes", "0"], "n_votes must lie between 1"),
        (["--prior", ".5,.5", "--panel", "none.json"], "none.json: cannot be read"),
        (["--prior", ".5,.5", "--panel", "bad.json"], "bad.json: not JSON"),
        (["--prior", ".5,.5", "--panel", "number.json"], "confusions must have shape"),
    ],
)
def test_invalid_call_prints_one_sentence_and_writes_nothing(tmp_path, run, arguments, message):
    inputs = {"panel.json": json.dumps(CREW), "bad.json": "{", "number.json": "3"}
    for name, text in inputs.items():
        (tmp_path / name).write_text(text)
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == set(inputs)


def test_a_description_agrees_with_its_parts():
    panel = np.array(list(CREW.values()))
    facts = theory.describe_panel([0.5, 0.5], panel)
    assert facts.margin == theory.panel_margin([0.5, 0.5], panel)
    assert facts.gap == pytest.approx(facts.optimal_accuracy - facts.majority_accuracy, abs=1e-12)
    assert (facts.handicap, facts.radius, facts.n_votes) == (None, None, 3)


@pytest.mark.parametrize(("ending", "starts"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_the_condition_is_drawn_for_any_model(tmp_path, run, ending, starts):
    assert run(*MODEL, "--votes", "3,4", "--plot", f"map.{ending}").returncode == 0
    assert (tmp_path / f"map.{ending}").read_bytes().startswith(starts)


def test_the_condition_is_drawn_for_a_panel_with_its_own_margin(tmp_path, run):
    (tmp_path / "crew.json").write_text(json.dumps(CREW))
    assert run("--prior", ".5,.5", "--panel", "crew.json", "--plot", "crew.svg").returncode == 0
    picture = (tmp_path / "crew.svg").read_text()
    assert picture.startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*MODEL, "--plot", "map.gif"), "ends in .svg, .png or .pdf"),
        (("--prior", ".5,.3,.2", "--confusion", ".8,.1,.1/.1,.8,.1/.1,.1,.8", "--plot", "a.svg"), "two classes"),
        (("--data", "votes.csv", "--prior", ".5,.5"), "leave them out"),
    ],
)
def test_pictures_and_votes_that_cannot_be_are_refused(run, arguments, words):
    done = run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr


def test_the_flow_chart_is_walked_for_a_file_of_votes(tmp_path, run):
    votes = simulate([0.8, 0.2], [[0.6, 0.4], [0.1, 0.9]], 3_000, 5, n_workers=40, rng=0).votes
    (tmp_path / "votes.csv").write_text(
        "item,worker,label\n"
        + "\n".join(f"{i},{j},{'no' if l == 0 else 'yes'}" for i, j, l in zip(*votes_codes(votes), strict=True))
    )
    done = run("--data", "votes.csv", "--plot", "map.png")
    assert done.returncode == 0
    questions = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert questions[:3] == [
        "How many classes?",
        "Do all workers share one matrix T?",
        "Same accuracy on both classes?",
    ]
    assert "majority vote is not optimal" in " ".join(done.stdout.split())
    assert "f < g < h is" in done.stdout
    assert (tmp_path / "map.png").stat().st_size > 1_000
    facts = json.loads(run("--data", "votes.csv", "--json").stdout)
    assert 0 < facts["radius"]["confusion_radius"] < 0.1
    assert facts["theorem_3_5"]["5"] < 0
    assert [step["question"] for step in facts["steps"]] == questions


def votes_codes(votes):
    return votes.item_n.tolist(), votes.worker_n.tolist(), votes.label_n.tolist()


def test_votes_that_identify_no_model_are_told_so(tmp_path, run):
    (tmp_path / "pairs.csv").write_text("item,worker,label\n1,a,no\n1,b,yes\n2,a,no\n2,b,no\n")
    assert "No item has three votes" in run("--data", "pairs.csv").stdout
