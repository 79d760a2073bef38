"""The page in a real browser, at desktop and phone width, light and dark; `make browser` installs what it needs."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from majorant.render.figures import FIGURES, charts_of
from majorant.render.html import live_map, write_report
from render.samples import summary
from render.test_live_map import models, same

pytestmark = pytest.mark.xdist_group("samples of pages")  # one browser, and each sample is checked once
HERE = Path(__file__).parent
MODULES = Path(os.environ.get("MAJORANT_BROWSER", HERE.parents[1] / ".browser")) / "node_modules"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SCREEN = {"desktop": 800, "phone": 740}
TALLEST, LONGEST = 4200, 900  # pixels, 1280 wide; words in sight
SIGHTS = [(size, scheme) for size in ("desktop", "phone") for scheme in ("light", "dark")]


def look(name, folder, every=""):
    """What the browser saw of a sample, four times; axe looks at each size and scheme once, or at `every` sight."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine; make browser installs it as root on Debian")
    if shutil.which("node") is None or not MODULES.is_dir():
        pytest.skip("no node, or no playwright-core and axe-core in .browser; make browser installs them")
    page = write_report(summary(name), folder / "page.html")
    (folder / "models.json").write_text(json.dumps(models()))
    done = subprocess.run(
        ["node", HERE / "browser.mjs", MODULES.parent, CHROMIUM, page, folder / "models.json"],
        env={**os.environ, "EVERY_SIGHT": every},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {(one["size"], one["scheme"]): one for one in json.loads(done.stdout)}


@pytest.fixture(
    scope="module",
    params=[
        "hostile",
        "spam",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("crowd", "two_items", "one_class")),
    ],
)
def seen(request, tmp_path_factory):
    every = "" if request.param in ("hostile", "spam") else "1"
    return request.param, look(request.param, tmp_path_factory.mktemp("browser"), every)


@pytest.mark.parametrize("sight", SIGHTS, ids="-".join)
def test_report_has_no_console_errors_and_is_accessible(seen, sight):
    name, sights = seen
    found = sights[sight]
    assert found["console"] == []
    assert found["outside"] == []
    assert not found["wide"], "the page scrolls sideways"
    assert found["hacked"] is None
    assert found["faults"] == []
    charts = [chart for figure in FIGURES if figure != "workers" for chart in charts_of(summary(name), figure)]
    assert len(found["figures"]) == len(charts)
    for figure in found["figures"]:
        assert figure["title"].strip()
        assert figure["width"] > 100
        assert figure["height"] > 50
        assert figure["smallest"] >= 8, f"{figure['title']}: letters of {figure['smallest']} pixels"


@pytest.mark.parametrize("sight", SIGHTS, ids="-".join)
def test_first_screen_shows_the_answer(seen, sight):
    name, first, (size, _) = seen[0], seen[1][sight]["first"], sight
    shown = ("answer", "next", "numbers") if size == "desktop" else ("answer", "next")
    if (name, size) == ("hostile", "phone"):  # its long names take more lines than a phone has
        shown = ("answer",)
    assert max(first[part] for part in shown) <= SCREEN[size], first


def test_the_page_is_short(seen):
    wide = seen[1]["desktop", "light"]
    assert wide["height"] <= TALLEST
    assert wide["words"] <= LONGEST
    assert wide["cut"] == [], "tables that need a scroll bar"


def test_the_next_step_can_be_copied(seen):
    name, sights = seen
    assert sights["desktop", "light"]["copy"] == bool(summary(name)["answer"]["command"])


@pytest.mark.parametrize("sight", SIGHTS, ids="-".join)
def test_sections_fold_and_are_unfolded_by_links_and_print(seen, sight):
    found = seen[1][sight]
    assert found["folded"] >= 4
    assert found["opened"] == [False, True]
    assert found["printed"]
    assert 0 <= found["index"]["top"] < 60, "the index scrolls away"
    assert found["index"]["marked"] in ("#input", "#cite")
    assert not found["unfolded"], "the verdicts stand open"


def test_live_map_matches_theory_and_responds_to_the_keyboard(seen):
    name, sights = seen
    grid = sights["desktop", "light"]["grid"]
    assert all(same(one, model) for one, model in zip(grid, models(), strict=True))
    assert (live_map(summary(name)) is not None) == (name == "crowd")
    for found in sights.values():
        if live_map(summary(name)) is None:
            assert found["maps"] == 0
            continue
        assert found["moved"]["inked"]
        assert "%" not in found["moved"]["numbers"], "an accuracy beside that of the answer"
        point = summary(name)["map"][0]["model"]
        for shown, votes in ((found["map"], point["votes"]), (found["moved"], point["votes"] + 1)):
            numbers = {key: float(shown[key]) for key in ("margin", "majority", "best", "loss")}
            assert same(numbers, {**point, "votes": votes})
        assert found["moved"]["spoken"].startswith(f"{point['votes'] + 1} votes per item, if votes are independent")


def test_dark_mode_and_table_sorting(seen):
    _, sights = seen
    light, dark = sights["desktop", "light"], sights["desktop", "dark"]
    assert light["background"] != dark["background"]
    assert light["ink"] != dark["ink"]
    if light["order"]:
        assert light["order"] == sorted(light["order"], reverse=True)
