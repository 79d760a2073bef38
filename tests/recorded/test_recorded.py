"""Numbers match the recorded ones to 1e-9 wherever the votes are."""

import json
import math

import pytest

from majorant.errors import ConfigError
from majorant.output import votes_table, write_table
from majorant.read.spark import require_spark
from needs import NO_DATA
from recorded.designs import DESIGNS, SETS, is_here, votes_of
from recorded.stages import recorded, result, rounds_alike, stages

TOLERANCE = 1e-9
# A machine that rounds otherwise sends what is sought by iteration another way to its end, and may stop a step earlier.
# Between two makes of processors designs moved by up to 6e-7, public sets by 2e-4; three by more, or by a step.
SOUGHT = ("claims", "fits")
ELSEWHERE = {**dict.fromkeys(DESIGNS, 1e-5), **dict.fromkeys(SETS, 1e-3)}
UNSURE = {("fits/spectral", "SP"), ("fits/spectral", "SP_amt"), ("fits/hierarchical", "CF")}


def differences(found, expected, within=TOLERANCE, where=""):
    """The places where two results, as JSON has them, differ by more than that."""
    if isinstance(found, dict) and isinstance(expected, dict) and list(found) == list(expected):
        return [line for key in found for line in differences(found[key], expected[key], within, f"{where}/{key}")]
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        pairs = enumerate(zip(found, expected, strict=True))
        return [line for n, (one, other) in pairs for line in differences(one, other, within, f"{where}/{n}")]
    if is_number(found) and is_number(expected):
        same = math.isclose(found, expected, rel_tol=within, abs_tol=within)
        return [] if same else [f"{where}: {found!r}, was {expected!r}"]
    return [] if found == expected else [f"{where}: {found!r}, was {expected!r}"]


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def without_steps(numbers, within):
    """The numbers of a fit without how many steps they took, where machines may stop at another one."""
    return numbers if within == TOLERANCE or not numbers else {**numbers, "steps": None}


# All methods on these, and all claims: crowds and panels, two classes and more, even and mixed votes, gold and none.
QUICK = {
    "crowd of 1",
    "crowd of 1 to 5",
    "unlike crowd of 5, some gold",
    "panel of 2, some gold",
    "panel of 4",
    "three classes, crowd of 4",
    "four classes, panel of 4, some gold",
}


def slow(room, name):
    return room in ("claims", "fits") and name not in QUICK


ROOMS = list(dict.fromkeys(stage.partition("/")[0] for stage in stages()))
CASES = [
    pytest.param(room, name, marks=[pytest.mark.long] if slow(room, name) else [], id=f"{room}: {name}")
    for room in ROOMS
    for name in (*DESIGNS, *SETS)
    if room != "theory" or name in DESIGNS
]


@pytest.mark.parametrize(("room", "name"), CASES)
def test_numbers_match_the_recording(room, name):
    if not is_here(name):
        pytest.skip(NO_DATA)
    changed = {}
    for stage in stages():
        if stage.partition("/")[0] != room:
            continue
        within = TOLERANCE if room not in SOUGHT or rounds_alike(stage) else ELSEWHERE[name]
        if within > TOLERANCE and (stage, name) in UNSURE:
            continue
        found, expected = result(stage, name), recorded(stage).get(name)
        changed[stage] = differences(without_steps(found, within), without_steps(expected, within), within)
    changed = {stage: lines for stage, lines in changed.items() if lines}
    assert not changed, f"for a new stage, or if that is on purpose: python -m tests.recorded {' '.join(changed)}"


@pytest.mark.parametrize(
    "name",
    [
        "panel of 4",
        *(pytest.param(one, marks=pytest.mark.long) for one in ("crowd of 1 to 5", "three classes, crowd of 4")),
    ],
)
def test_mapped_votes_match_the_recording(run, tmp_path, name):
    write_table(tmp_path / "votes.csv", votes_table(votes_of(name)))
    in_memory, in_files = (
        json.loads(run("check", "votes.csv", "--json", *more)[1]) for more in ((), ("--memory", "1GB"))
    )
    for summary in (in_memory, in_files):
        summary["answer"]["command"] = ""
    assert not differences({**in_files, "command": ""}, {**in_memory, "command": ""})


# On Spark items have another order, so what is drawn differs, as the ends of intervals; these do not.
NOT_DRAWN = ("verdict", "reason", "margin", "n_items")


@pytest.mark.long
@pytest.mark.parametrize("name", ["panel of 4", "crowd of 1 to 5"])
def test_votes_prepared_on_spark_match_the_recording(run, tmp_path, name):
    try:
        require_spark()
    except ConfigError as missing:
        pytest.skip(str(missing))
    write_table(tmp_path / "votes.csv", votes_table(votes_of(name)))
    in_memory, on_spark = (
        json.loads(run("check", tmp_path / "votes.csv", "--json", "--method", "dawid-skene", *more)[1])
        for more in ((), ("--engine", "spark", "--master", "local[2]"))
    )
    assert not differences(on_spark["votes"], in_memory["votes"])
    assert not differences(on_spark["majority"], in_memory["majority"])
    for claim in ("anonymous", "named"):
        ours, theirs = on_spark["certificate"][claim], in_memory["certificate"][claim]
        assert not differences({key: ours[key] for key in NOT_DRAWN}, {key: theirs[key] for key in NOT_DRAWN})
        assert not differences(ours["loss"]["value"], theirs["loss"]["value"])
