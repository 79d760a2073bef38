"""The live map: what its script is given, so that it shows these votes; the script itself is templates/map.js."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from majorant.report.figures.canvas import clipped
from majorant.wording import map_reason

TEMPLATES = Path(__file__).parent / "templates"
SCRIPT, STYLE = TEMPLATES / "map.js", TEMPLATES / "map.css"
MOST_CLASSES = 3  # that sliders can show
PLANES = ("balance", "accuracies")  # of two classes, in the order of the summary's map


def live_map(summary: dict[str, Any]) -> str | None:
    """What the attribute data-majorant-map holds, as JSON; None beyond three classes.

    Without a place on the map (no items with three votes) it shows the theory alone.
    """
    labels = [clipped(one["label"], 24) for one in summary["votes"]["label_votes"]]
    planes = summary["map"]
    if len(labels) > MOST_CLASSES or (planes and len(planes[0]["model"]["prior"]) > MOST_CLASSES):
        return None
    settings: dict[str, Any] = {}
    if planes:
        settings = {"labels": labels, "point": planes[0]["model"]}
        if len(labels) == 2:
            settings["regions"] = {name: plane["region"] for name, plane in zip(PLANES, planes, strict=True)}
        claim = summary["certificate"]["anonymous"]
        if claim["verdict"] == "void":
            settings["grey"] = map_reason([gate["name"] for gate in claim["gates"] if gate["passed"] is False])
    return json.dumps(settings, allow_nan=False)
