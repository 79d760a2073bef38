"""The site: every page is in its index, every link leads somewhere, formulas render; `make docs` builds it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import docs_build

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def anchors(text):
    """The names of the headings of a page, as the site makes them."""
    found = set()
    for heading in re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    ):
        words = re.sub(r"[^\w\s-]", "", re.sub(r"[`*]", "", heading)).strip().lower()
        found.add(re.sub(r"[-\s]+", "-", words))
    return found


def prose(text):
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```$|`[^`\n]+`", "", text, flags=re.MULTILINE | re.DOTALL)


def test_navigation_lists_every_page_and_no_missing_page():
    listed = re.findall(r"[\w./-]+\.md", (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2])
    assert len(listed) == len(set(listed))
    assert set(listed) <= {*PAGES, *docs_build.OUTSIDE}
    made = docs_build.on_config({"nav": [{"Start": "README.md"}]})
    assert set(made["nav"][-1]["Further"]) == {*PAGES, *docs_build.OUTSIDE} - {"README.md"}


@pytest.mark.parametrize("page", PAGES)
def test_links_are_not_broken(page):
    text = prose((DOCS / page).read_text(encoding="utf-8"))
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path = (DOCS / page).parent / target if target else DOCS / page
        assert path.exists(), target
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path.read_text(encoding="utf-8")), f"{target}#{anchor}"


def test_start_page_links_to_a_tutorial_for_each_kind_of_user():
    text = (DOCS / "README.md").read_text(encoding="utf-8")
    for name in ("crowd", "judges", "rates", "raters", "labelling"):
        assert f"(tutorials/{name}.md)" in text


def test_links_from_the_docs_to_the_repository_resolve():
    assert docs_build.led_home("[b](../../benchmarks/README.md)", "tutorials/crowd.md", "r") == "[b](../benchmarks.md)"
    assert docs_build.led_home("[m](https://a.b/c.md) [x](#y)", "ask.md", "r") == "[m](https://a.b/c.md) [x](#y)"


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("theory/") and "README" not in page])
def test_every_theory_page_has_formulas_that_render(page):
    pytest.importorskip("latex2mathml")
    formulas = docs_build.FORMULA.findall((DOCS / page).read_text(encoding="utf-8"))
    assert formulas
    for one in formulas:
        made = docs_build.formula(one)
        assert "\\" not in made, made  # a command that was not understood
        assert re.fullmatch(r"\s*(<div class=\"formula\"><math .*?</math></div>\s*)+", made, re.DOTALL)


@pytest.mark.long
def test_site_builds_without_warnings_or_external_resources(tmp_path):
    if shutil.which("mkdocs", path=str(Path(sys.executable).parent)) is None:
        pytest.skip("no mkdocs here; make docs installs it")
    command = [sys.executable, "-W", "ignore", "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) >= len(PAGES)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|img|iframe)[^>]*src="https?:', text), page
        assert not re.findall(r'<link[^>]*rel="(?:stylesheet|preconnect)"[^>]*href="https?:', text), page
    assert "<math" in (tmp_path / "theory" / "majority.html").read_text(encoding="utf-8")
    assert (tmp_path / "assets" / "map.js").read_text(encoding="utf-8").count("majorantMap") > 1
