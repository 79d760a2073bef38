"""The page in a real browser, from upload to a decision; `make browser` installs the requirements."""

import csv
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from majorant.output import votes_table, write_table
from majorant.simulate import simulate
from render.test_browser import CHROMIUM, MODULES
from render.test_live_map import same
from web.serving import serving

pytestmark = pytest.mark.xdist_group("browser")  # one browser, on whichever core
HERE = Path(__file__).parent


def write_votes(folder):
    """Votes under column names that say nothing, with a text for each item, and the truth."""
    how = {"n_votes": 5, "n_workers": 9, "concentration": 4, "rng": 5}
    votes, truth = simulate([0.6, 0.4], [[0.95, 0.05], [0.55, 0.45]], n_items=120, **how)
    names = ("bad", "good")
    with (folder / "odd.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["snippet", "who", "stars", "text"])
        for i, j, k in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True):
            text = f"Text {votes.items[i]}: <script>window.hacked = 1</script> was it worth it?"
            rows.writerow([f"s{votes.items[i]}", votes.workers[j], names[k], text])
    (folder / "truth.json").write_text(json.dumps({f"s{i}": names[k] for i, k in zip(votes.items, truth, strict=True)}))
    alike = simulate(
        [0.7, 0.3], [[0.85, 0.15], [0.25, 0.75]], n_items=400, n_votes=5, n_workers=30, labels=("ham", "spam"), rng=0
    )
    write_table(folder / "alike.csv", votes_table(alike.votes))
    return folder / "odd.csv", folder / "truth.json", folder / "alike.csv"


@pytest.fixture(scope="module", params=["", pytest.param("1", marks=pytest.mark.long)], ids=["some", "every"])
def seen(request, tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine; make browser installs it as root on Debian")
    if shutil.which("node") is None or not MODULES.is_dir():
        pytest.skip("no node, or no playwright-core and axe-core in .browser; make browser installs them")
    folder = tmp_path_factory.mktemp("page")
    files = write_votes(folder)
    with serving() as address:
        done = subprocess.run(
            ["node", HERE / "browser.mjs", MODULES.parent, CHROMIUM, folder / "profile", address, *files],
            env={**os.environ, "EVERY_SIGHT": request.param},
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_page_has_no_console_errors_and_is_accessible(seen):
    assert seen["console"] == []
    assert seen["outside"] == []
    assert seen["faults"] == []
    assert seen["wide"] == [], "pages that scroll sideways"
    assert [one for one in seen["cut"] if "desktop" in one] == [], "tables that need a scroll bar"
    assert len(seen["sights"]) == 4 * 9


def test_columns_are_preselected_and_shown(seen):
    assert seen["asked"] == "Are these the right columns?"
    assert seen["preselected"] == ["snippet", "who", "stars", "none"]
    assert seen["roles"] == ["item", "worker", "label", ""]


def test_labels_by_keys_lead_to_a_decision(seen):
    assert seen["before"].startswith("Keep majority vote for now")
    assert 30 < seen["given"] < 75, "a stage that teaches, then one that proves"
    assert seen["after"].startswith(("Switch to", "Keep majority vote: "))
    assert "proved by" in seen["after"]
    assert seen["report"] == seen["after"]


def test_labelling_shows_no_leader_and_no_preselected_button(seen):
    assert set(seen["focus"]) == {"ARTICLE"}
    for said in seen["said"]:
        assert not re.search(r"leads|right on", said), said  # what the labels are worth is said, not who is ahead


def test_downloaded_labels_contain_the_experts_answers(seen):
    asked = {row["item"]: row["label"] for row in csv.DictReader(seen["asked_labels"].splitlines()) if row["label"]}
    rows = {row["item"]: row for row in csv.DictReader(seen["labels"].splitlines())}
    assert len(asked) == seen["given"]
    assert {item for item, row in rows.items() if row["source"] == "expert"} == set(asked)
    assert all(rows[item]["label"] == label for item, label in asked.items())
    assert all(row["label"] for row in rows.values())


def test_map_is_shown_under_theory_only_if_its_assumptions_passed(seen):
    assert seen["maps"] == 0
    shown = {name: float(seen["map"][name]) for name in ("margin", "majority", "best", "loss")}
    assert same(shown, json.loads(seen["map"]["majorantMap"])["point"])
