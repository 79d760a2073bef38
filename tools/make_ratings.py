"""Rebuild src/majorant/ratings.csv from a leaderboard file that you have.

python tools/make_ratings.py LEADERBOARD --date 2026-06-01 [--category full] [--out FILE]

LEADERBOARD is JSON as in lmarena/arena-catalog, {category: {model: {"rating": points}}}, or a CSV file with the columns
model and rating.  The table is its own recipe: every row says which models of the leaderboard it was made from.

- A model of the leaderboard gets its rating from it, new models included.
- An alias takes the rating of its model, and a mean that of its models.
- An estimate is 30 points below its bigger sister for each halving of the number of parameters.
- A model that the leaderboard dropped keeps its old rating, shifted by the median change of the others.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from statistics import median

from majorant.known import Kind, Rating, public_ratings

TABLE = Path(__file__).parents[1] / "src/majorant/ratings.csv"
HALVING = 30.0  # points for half as many parameters


def read_leaderboard(path: Path, category: str) -> dict[str, float]:
    """The rating of each model."""
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix == ".json":
        return {model: float(facts["rating"]) for model, facts in json.loads(text)[category].items()}
    return {row["model"]: float(row["rating"]) for row in csv.DictReader(text.splitlines())}


def rebuild(
    old: tuple[Rating, ...], leaderboard: Mapping[str, float], day: str, source: str = "lmarena/arena-catalog"
) -> list[Rating]:
    """The table with the ratings of this leaderboard, from the highest to the lowest."""
    before = {row.pattern: row.rating for row in old if row.kind in (Kind.RATED, Kind.OLDER)}
    changes = [leaderboard[model] - before[model] for model in before.keys() & leaderboard.keys()]
    shift = median(changes) if changes else 0.0
    # Models without a row of their own, such as versions of which only the mean is listed, appear as parts of others.
    derived = {row.pattern for row in old if row.kind not in (Kind.RATED, Kind.OLDER)}
    parts = {name for row in old for name in _parts(row)}
    rows = {
        model: Rating(model, points, Kind.RATED, "", source, day)
        for model, points in leaderboard.items()
        if model in before or model not in derived | parts
    }
    for row in old:
        if row.pattern not in rows and row.kind in (Kind.RATED, Kind.OLDER):
            rows[row.pattern] = replace(row, rating=row.rating + shift, kind=Kind.OLDER)
    points = {model: row.rating for model, row in rows.items()} | dict(leaderboard)
    for row in sorted(old, key=lambda row: row.kind is Kind.ESTIMATED):  # after all that it may be made from
        if row.pattern in rows:
            continue
        names = _parts(row)
        if all(name in points for name in names):
            rating = sum(points[name] for name in names) / len(names)
            day_of = min([rows[name].date if name in rows else day for name in names])
        else:
            rating, day_of = row.rating + shift, row.date
        if row.kind is Kind.ESTIMATED:
            size, whole = (float(part) for part in re.findall(r"([\d.]+)B", row.of))
            rating -= HALVING * math.log2(whole / size) if all(name in points for name in names) else 0.0
        rows[row.pattern] = replace(row, rating=rating, date=day_of)
    return sorted(rows.values(), key=lambda row: (-round(row.rating), row.pattern))


def _parts(row: Rating) -> list[str]:
    """The models that a row was made from."""
    return row.of.partition(":")[0].split("; ") if row.of else []


def write(rows: list[Rating], path: Path) -> None:
    """Write the table, with ratings in whole points."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["pattern", "rating", "kind", "of", "source", "date"])
        table.writerows([row.pattern, round(row.rating), row.kind, row.of, row.source, row.date] for row in rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("leaderboard", type=Path)
    parser.add_argument("--date", required=True, type=date.fromisoformat, help="the day of the leaderboard")
    parser.add_argument("--category", default="full")
    parser.add_argument("--out", type=Path, default=TABLE)
    options = parser.parse_args()
    new = read_leaderboard(options.leaderboard, options.category)
    rows = rebuild(public_ratings().ratings, new, options.date.isoformat())
    write(rows, options.out)
    print(f"{options.out}: {len(rows):,} names, {sum(row.kind is Kind.RATED for row in rows):,} of them rated")
