"""Every command on the site runs, or is listed with a reason; inline commands must at least parse.

Transcripts (```console) and Python (```python) are run by test_readme.py, the formats' table by io/test_docs.py.
"""

import csv
import json
import re
import shlex
import shutil
import tomllib
from itertools import pairwise
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import docs_build
from majorant.cli import majorant
from majorant.errors import ConfigError, MajorantError
from majorant.output import votes_table, write_table
from majorant.read.spark import require_spark, spark_session
from majorant.simulate import simulate
from transcripts import PAGES, ROOT

SITE = [*PAGES, *(ROOT / path for path in docs_build.OUTSIDE.values())]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^    ((?:majorant|make|pip|python|git|docker|npm) .*)$", re.MULTILINE)
INLINE = re.compile(r"`(majorant [^`\n]+)`")
OTHER = ("console", "python", "py", "math", "text", "")  # run by test_readme.py, or below, or no commands
NOT_RUN = {  # what begins like this, and why it is not run
    "pip install": "the network; that the extra exists is tested",
    "make ": "would run this suite, or install; that the target exists is tested",
    "python -m venv": "the network",
    "python benchmarks/": "minutes; that the script exists is tested",
    "majorant serve": "ends when it is interrupted: tests/web",
    "majorant label": "reads keys: tests/gold",
}
LONG = ("docs/ask.md", "docs/spark.md", "docs/rates.md")


def commands(text):
    """The commands of a page, in their order, without comments."""
    found = [(match.start(), match[1]) for match in INDENTED.finditer(text)]
    for match in FENCE.finditer(text):
        lines = match[2].splitlines()
        if match[1] == "yaml":
            lines = [line.split("- run: ", 1)[1] for line in lines if "- run: " in line]
        if match[1] in ("sh", "yaml"):
            found += [(match.start() + n, line) for n, line in enumerate(lines)]
    return [line.split("  #")[0].strip() for _, line in sorted(found) if line.strip()]


def page_case(page):
    name = page.relative_to(ROOT).as_posix()
    return pytest.param(page, id=name, marks=[pytest.mark.long] if name in LONG else [])


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A folder with small files of the names that pages use, and the truth."""
    folder = tmp_path_factory.mktemp("tables")
    how = {"n_votes": 5, "n_workers": 9, "concentration": 4, "labels": ("no", "yes"), "rng": 5}
    votes, truth = simulate([0.5, 0.5], [[0.95, 0.05], [0.65, 0.35]], n_items=160, **how)
    table = votes_table(votes)
    table["language"] = ["en" if int(str(item)) % 2 else "de" for item in table["item"].to_pylist()]
    for name in ("votes.csv", "votes.parquet", "votes-1.csv", "monday.csv"):
        write_table(folder / name, table)
    rows = zip(*(table[name].to_pylist() for name in ("item", "worker", "label")), strict=True)
    lines = [json.dumps({"item": item, "judge": worker, "verdict": label}) for item, worker, label in rows]
    (folder / "judges.jsonl").write_text("\n".join(lines))
    for name, start in (("votes-2.csv", 1000), ("tuesday.csv", 1000), ("late.csv", 2000)):
        write_table(folder / name, {**table, "item": [int(str(item)) + start for item in table["item"].to_pylist()]})
    return folder, {str(item): str(k) for item, k in zip(votes.items, truth, strict=True)}


def on_spark_here():
    """Whether Spark is installed, with the Java that it takes."""
    try:
        require_spark()
    except ConfigError:
        return False
    return True


def fill_in(path, truth):
    """Label what ask wrote, as an expert would."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, rows[0])
        out.writeheader()
        out.writerows({**row, "label": truth[row["item"]]} for row in rows)


@pytest.mark.parametrize("page", [page_case(page) for page in SITE if commands(page.read_text(encoding="utf-8"))])
def test_the_commands_of_a_page_run(page, tables, tmp_path, monkeypatch):
    folder, truth = tables
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for command in commands(page.read_text(encoding="utf-8")):
        if command.startswith(tuple(NOT_RUN)):
            continue
        if "--engine spark" in command and (page.name != "spark.md" or not on_spark_here()):
            continue  # that page runs it
        words = shlex.split(command.replace("$GITHUB_STEP_SUMMARY", "summary.md"))
        assert words[0] == "majorant", command
        for flag, name in pairwise(words):
            if flag in ("--gold-file", "--design"):
                fill_in(Path(name.replace(".design.json", ".csv")), truth)
        if words[1] == "ask" and not {"--design", "--out"} & set(words):
            Path("to_label.csv").unlink(missing_ok=True)  # each example starts from scratch
        done = CliRunner().invoke(majorant, [*words[1:], "-q"])
        allowed = {"certify": (0, 1, 3)}.get(words[1], (0, 1) if "--fail-on" in words else (0,))  # verdicts
        if done.exit_code not in allowed or isinstance(done.exception, MajorantError):
            raise AssertionError(f"{command}: {done.output} {done.exception}")


@pytest.mark.long
@pytest.mark.xdist_group("spark")
def test_spark_example_runs(tables, tmp_path):
    if not on_spark_here():
        pytest.skip("Spark is not here")
    shutil.copy(tables[0] / "votes.parquet", tmp_path)
    blocks = {page: re.findall(r"^```py\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL) for page in SITE}
    assert [page.name for page, found in blocks.items() if found] == ["spark.md"]
    with spark_session("local[2]", memory="1g", settings={"spark.sql.shuffle.partitions": "2"}) as spark:
        for block in blocks[ROOT / "docs" / "spark.md"]:
            exec(block.replace("s3://bucket/votes/", f"{tmp_path}/votes.parquet"), {"spark": spark})


def test_all_documented_commands_are_run_or_checked():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    unused = set(NOT_RUN)
    for page in SITE:
        text = page.read_text(encoding="utf-8")
        assert {kind for kind, _ in FENCE.findall(text)} <= {*OTHER, "sh", "yaml"}, page
        for kind, block in FENCE.findall(text):
            assert kind or not re.match(r"(majorant|make|pip) ", block), f"{page}: say ```sh"
        for command in commands(text):
            unused -= {start for start in NOT_RUN if command.startswith(start)}
            for extra in re.findall(r"majorant\[(\w+)\]", command):
                assert extra in extras, command
            if command.startswith("make "):
                assert command.split()[1] in targets, command
        for target in re.findall(r"`make ([\w-]+)`", text):
            assert target in targets, target
        for script in re.findall(r"`python (\S+\.py)", text):
            assert (ROOT / script).exists(), f"{page}: {script}"
    unused.discard("python benchmarks/")  # inline only
    assert not unused, unused


@pytest.mark.parametrize("page", SITE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_inline_commands_are_understood(page):
    for command in INLINE.findall(page.read_text(encoding="utf-8")):
        words = shlex.split(command)[1:]
        if words[0].isupper():
            continue
        with click.Context(majorant) as context:
            found = majorant.get_command(context, words[0])
            assert found is not None, command
            if len(words) == 1:
                continue
            while isinstance(found, click.Group):
                words = words[1:]
                found = found.get_command(context, words[0]) or pytest.fail(command)
            known = {flag for option in found.params for flag in option.opts + option.secondary_opts}
        used = [word.split("=")[0] for word in words if word.startswith("--")]
        assert set(used) <= known, f"{command}: {set(used) - known}"


def test_command_parser_finds_commands():
    text = (
        "```sh\nmajorant check a.csv  # why\n```\n    make test\n```yaml\n- run: majorant data demo\n- uses: x\n```\n"
    )
    assert commands(text) == ["majorant check a.csv", "make test", "majorant data demo"]
