"""Build hooks for the site: formulas as MathML, the script of the live map, and pages from outside docs/.

MkDocs calls these functions (`hooks` in mkdocs.yml); `make docs` builds the site.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TEMPLATES = ROOT / "src" / "majorant" / "render" / "templates"
FORMULA = re.compile(r"^```math\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Pages that live elsewhere in the checkout, by their name on the site; links to them are led there.
OUTSIDE = {
    "CHANGELOG.md": "CHANGELOG.md",
    "SECURITY.md": "SECURITY.md",
    "benchmarks.md": "benchmarks/README.md",
    "reproduction.md": "paper/reproduction.md",
    "errata.md": "paper/errata.md",
    "corrections.md": "paper/corrections.md",
}
STYLE = """
:root > * { --md-primary-fg-color: #174a72; --md-accent-fg-color: var(--majority); }
[data-md-color-scheme="slate"] { --md-primary-fg-color: #16202b; --md-typeset-a-color: var(--majority); }
.md-typeset { font-size: .76rem; }
.md-typeset h1, .md-typeset h2 { font-family: "Iowan Old Style", "Palatino Linotype", Palatino, Georgia, serif; }
.md-typeset h1, .md-typeset h2 { font-weight: 600; letter-spacing: -.01em; color: var(--ink); }
.md-typeset .mj-map { font-size: 15px; }
.md-typeset .mj-map p, .md-typeset .mj-map dl, .md-typeset .mj-map dd { margin: 0; }
.formula { overflow-x: auto; margin: 1em 0; padding: .5em 0; font-size: 1.12em; }
.formula math { display: block; font-family: "STIX Two Math", "Cambria Math", "Latin Modern Math", math; }
"""


def on_config(config: Any) -> Any:
    """Append pages that are not in the index yet."""
    placed = set(re.findall(r"[\w./-]+\.md", str(config["nav"])))
    every = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")} | set(OUTSIDE)
    if further := sorted(every - placed):
        config["nav"].append({"Further": further})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the script and style of the live map, and the pages from outside."""
    from mkdocs.structure.files import File

    from majorant.render.figures.canvas import css_variables

    schemes = {"[data-md-color-scheme]": False, "[data-md-color-scheme='slate']": True}
    colours = "".join(f"{scheme} {{ {css_variables(dark=dark)} }}\n" for scheme, dark in schemes.items())
    made = {
        "assets/map.js": (TEMPLATES / "map.js").read_text(encoding="utf-8"),
        "assets/map.css": (TEMPLATES / "map.css").read_text(encoding="utf-8"),
        "assets/site.css": colours + STYLE,
        **{name: (ROOT / path).read_text(encoding="utf-8") for name, path in OUTSIDE.items()},
    }
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001
    """Convert formulas to MathML, and adjust links that lead out of docs/."""
    return FORMULA.sub(
        lambda found: formula(found[1]), led_home(markdown, page.file.src_uri, config["extra"]["repository"])
    )


def formula(latex: str) -> str:
    """Convert display formulas to MathML, which browsers render without scripts.

    >>> formula("x < y\\n")[:43]
    '\\n<div class="formula"><math xmlns="http://w'
    """
    from latex2mathml.converter import convert

    lines = [convert(" ".join(part.split()), display="block") for part in latex.split("\n\n") if part.strip()]
    return "\n" + "\n".join(f'<div class="formula">{one}</div>' for one in lines) + "\n"


def led_home(markdown: str, page: str, repository: str) -> str:
    """Point links to files outside docs/ to their page on the site, or else to the repository.

    >>> led_home("[a](../CHANGELOG.md) [b](../tests/x.py)", "ask.md", "https://host/p")
    '[a](CHANGELOG.md) [b](https://host/p/blob/main/tests/x.py)'
    """
    home = {path: name for name, path in OUTSIDE.items()}
    own = next((Path(path).parent for name, path in OUTSIDE.items() if name == page), Path("docs") / Path(page).parent)

    def lead(found: re.Match[str]) -> str:
        target, anchor = found[1], found[2] or ""
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        path = _normal(own / target)
        if path.parts[:1] == ("docs",):
            up = "../" * (len(Path(page).parts) - 1)
            return f"]({up}{Path(*path.parts[1:]).as_posix()}{anchor})"
        if path.as_posix() in home:
            return f"]({'../' * (len(Path(page).parts) - 1)}{home[path.as_posix()]}{anchor})"
        return f"]({repository}/blob/main/{path.as_posix()}{anchor})"

    return re.sub(r"\]\(([^)#\s]+)(#[^)\s]*)?\)", lead, markdown)


def _normal(path: Path) -> Path:
    """The path with `..` resolved."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return Path(*parts)
