"""The colours of figures and page: named once, light and dark; told apart by colour-blind readers and in grey."""

from __future__ import annotations

LIGHT = {
    "page": "#f7f7f4",
    "card": "#ffffff",
    "ink": "#1c2530",
    "soft": "#56616e",
    "line": "#d8dde3",
    "majority": "#1b6ca8",
    "best": "#c2510c",
    "good": "#14795a",
    "zone": "#d3e6f5",
    "heat": "#8abbe3",
    "warm": "#f0b68a",
    "faint": "#eef0f2",
}
DARK = {
    "page": "#11151a",
    "card": "#191f26",
    "ink": "#e9ecef",
    "soft": "#a5afba",
    "line": "#37414c",
    "majority": "#6cb4ec",
    "best": "#f2995a",
    "good": "#5cc9a3",
    "zone": "#1d3a54",
    "heat": "#2d628f",
    "warm": "#8c5228",
    "faint": "#232b34",
}


def css_variables(colours: dict[str, str]) -> str:
    """--ink: #1c2530; and so on."""
    return " ".join(f"--{name}: {value};" for name, value in colours.items())


def scheme() -> str:
    """The colours: light, dark where the reader's system is, and light on paper."""
    light, dark = css_variables(LIGHT), css_variables(DARK)
    return (
        f":root {{ color-scheme: light; {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ color-scheme: dark; {dark} }} }}\n"
    )


def with_variables(svg: str) -> str:
    """The same picture with each colour looked up in the page, so that one picture serves both schemes."""
    for name, value in LIGHT.items():
        svg = svg.replace(value, f"var(--{name})")
    return svg
