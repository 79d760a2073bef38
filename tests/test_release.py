"""Published metadata is consistent."""

import re
import tomllib
from pathlib import Path

import pytest

import release_check

ROOT = Path(__file__).parent.parent


def test_versions_and_addresses_agree():
    release_check.refuse_disagreement()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cited = (ROOT / "CITATION.cff").read_text()
    assert f"repository-code: {project['urls']['Source']}\n" in cited
    assert f"license: {project['license']}\n" in cited
    site = (ROOT / "mkdocs.yml").read_text()
    assert f"site_url: {project['urls']['Documentation']}\n" in site
    assert f"repository: {project['urls']['Source']}\n" in site


def test_the_lowest_versions_are_exact():
    pins = release_check.lowest()
    assert len(pins) >= 9
    assert all(re.fullmatch(r"[a-z0-9]+==[0-9.]+", one) for one in pins)


def test_workflows_are_well_formed_and_publish_without_a_password():
    yaml = pytest.importorskip("yaml")
    found = {path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / ".github/workflows").glob("*.yml")}
    jobs = found["test"]["jobs"]
    pythons = {one for job in jobs.values() for one in job.get("strategy", {}).get("matrix", {}).get("python", [])}
    named = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert pythons == set(named)
    assert set(jobs["elsewhere"]["strategy"]["matrix"]["os"]) == {"macos-latest", "windows-latest"}
    assert found["release"]["jobs"]["publish"]["permissions"] == {"id-token": "write"}
    for job in ("test", "nightly"):  # otherwise the tests on public data would be skipped unnoticed
        assert any("make data" in step.get("run", "") for one in found[job]["jobs"].values() for step in one["steps"])
    assert "secrets." not in "".join(path.read_text() for path in (ROOT / ".github/workflows").glob("*.yml"))
