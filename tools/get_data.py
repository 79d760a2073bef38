"""`make data`: download every public data set that majorant knows by name, check it, and put it where tests look.

    python tools/get_data.py FOLDER

Files that are there already and match their SHA-256 are kept. Set MAJORANT_DATA to FOLDER for the tests.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from majorant.datasets import REGISTRY, get


def main(folder: Path) -> None:
    """Copy the files of all data sets to their places in the folder."""
    for name, dataset in REGISTRY.items():
        for file, path in zip(dataset.files, get(name), strict=True):
            target = folder / file.path
            if path != target:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
        print(f"{name}: {dataset.items:,} items, {dataset.licence}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
