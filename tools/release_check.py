"""`make release-check`: build and check the package, and try it with the lowest and newest dependencies.

The lowest versions are those in pyproject.toml, with each `>=` replaced by `==`.  Everything happens in a temporary
folder; the files to publish are left in dist/.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
UNSETTLED = "settle it before the first release"  # stands beside addresses that nobody has reserved yet
TRY = """
import majorant as mj
from majorant.methods import ESTIMATORS
from majorant.testing import assert_answer
votes, truth = mj.simulate([.7, .3], [[.8, .2], [.3, .7]], n_items=300, n_votes=3)
import duckdb, json, pathlib
votes_n = zip(votes.item_n, votes.worker_n, votes.label_n)
rows = [{"item": int(i), "worker": int(j), "label": int(l)} for i, j, l in votes_n]
pathlib.Path("votes.json").write_text(json.dumps(rows))
duckdb.sql("copy (from read_json_auto('votes.json')) to 'votes.parquet'")
assert mj.read("votes.json").shape == mj.read("votes.parquet").shape == votes.shape
some_gold = mj.simulate([.7, .3], [[.8, .2], [.3, .7]], n_items=300, n_votes=3, gold=.3).votes
for method in ESTIMATORS.keys() - {"map"}:  # which takes matrices that are known
    mj.aggregate(some_gold, method)
result = mj.check("votes.parquet")
assert mj.report(result, "report.html").stat().st_size > 100_000
assert_answer(votes, "keep", "switch")
print("majorant", mj.__version__, "imports, checks and reports")
"""


def main() -> None:
    """Build, check, and try the wheel in two fresh environments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("lowest", "newest"), help="try this one alone")
    only = parser.parse_args().only
    refuse_disagreement()
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", str(dist), str(ROOT))
    built = sorted(str(path) for path in dist.iterdir())
    run(sys.executable, "-m", "twine", "check", "--strict", *built)
    wheel = next(path for path in built if path.endswith(".whl"))
    for name, pins in (("lowest", lowest()), ("newest", [])):
        if only in (None, name):
            with tempfile.TemporaryDirectory() as folder:
                try_wheel(name, wheel, pins, Path(folder))
    print(f"Ready to publish: {', '.join(Path(path).name for path in built)}")
    if UNSETTLED in (ROOT / "pyproject.toml").read_text(encoding="utf-8"):
        print("But the addresses in pyproject.toml, CITATION.cff and mkdocs.yml are guesses: settle them first.")


def lowest() -> list[str]:
    """Each dependency at the lowest version that pyproject.toml allows."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        dependencies = tomllib.load(file)["project"]["dependencies"]
    return [re.sub(r">=\s*", "==", one) for one in dependencies]


def try_wheel(name: str, wheel: str, pins: list[str], folder: Path) -> None:
    """Install the wheel into a new environment, and run the demo there, away from the sources."""
    print(f"== on the {name} versions", flush=True)
    venv.create(folder / "env", with_pip=True)
    scripts = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    python = str(scripts / "python")
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, *pins)
    run(python, "-m", "pip", "--disable-pip-version-check", "check")
    run(python, "-c", TRY, cwd=folder)
    run(str(scripts / "majorant"), "data", "demo", "--out", str(folder / "demo"), "-q", cwd=folder)
    run(str(scripts / "majorant"), "--version", cwd=folder)


def refuse_disagreement() -> None:
    """Check that the version and the address of the project are the same everywhere."""
    version = re.search(r'__version__ = "(.+)"', (ROOT / "src/majorant/version.py").read_text())
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    changed = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    found = {one[1] for one in (version, cited, changed) if one is not None}
    if len(found) != 1:
        sys.exit(f"The package, CITATION.cff and CHANGELOG.md name different versions: {', '.join(sorted(found))}.")


def run(*command: str, cwd: Path | None = None) -> None:
    """Run a command, and exit if it fails."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=clean, check=False)
    if done.returncode:
        sys.exit(f"Not ready to publish: {' '.join(command[:6])} failed with {done.returncode}.")


if __name__ == "__main__":
    main()
