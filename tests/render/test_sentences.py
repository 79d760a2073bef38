"""Printed sentences are consistent: each quantity has one value, and each model claim states its condition."""

import html
import re
from collections import defaultdict
from functools import cache

import numpy as np
import pytest

import real
from majorant.pipeline import check
from majorant.render.assumptions import ASSUMPTION_TEXT
from majorant.render.certificate import assumption_sentence, certificate_text
from majorant.render.html import render
from majorant.render.summary import result_summary
from majorant.render.text import check_text
from majorant.simulate import one_coin_workers, simulate

QUICK_SETS, SLOW_SETS = ("SP_amt",), ("CF", "CF_amt", "SP", "ZenCrowd_in", "ZenCrowd_us", "MS", "D-Product")
QUICK_DESIGNS, DESIGNS = 4, 50
NUMBER = r"([0-9][0-9.,]*|-[0-9.]+)"
# One quantity each: the same phrase must carry the same number wherever it stands.
QUANTITIES = {
    "accuracy of majority": rf"majority vote(?: is right on, by (?:the model|your labels)|:) {NUMBER}%",
    "tied items": rf"{NUMBER} of [0-9,]+ items? (?:are ties|is a tie)",
    "items on which the rules differ": rf"disagree on {NUMBER} of",
    "votes": rf"{NUMBER} votes by [0-9,]+ workers",
    "labels to ask for": rf"--n {NUMBER}",
    "flagged": rf"without the {NUMBER} flagged",
}


def design(seed):
    """A crowd or a panel of some shape, with or without gold, that may break every model."""
    rng = np.random.default_rng(seed)
    n_classes = int(rng.choice([2, 2, 3, 4]))
    n_votes = int(rng.integers(2, 8))
    n_workers = n_votes if seed % 3 == 0 else int(rng.integers(n_votes + 2, 40))
    skill = rng.uniform(0.5, 0.95, size=n_workers)
    prior = rng.dirichlet(np.full(n_classes, 4.0))
    how = {}
    if seed % 4 == 1 and n_classes == 2:
        how = {"concentration": float(rng.uniform(2, 10))}
    confusion = one_coin_workers(skill, n_classes)
    if how:
        right = float(skill.mean())
        confusion, how["n_workers"] = [[right, 1 - right], [1 - right, right]], n_workers
    gold = float(rng.choice([0.0, 0.0, 0.3, 1.0]))
    return simulate(prior, confusion, 150, n_votes, rng=seed, gold=gold, **how).votes


@cache
def outputs(kind, key):
    """What is shown of a result: text, certificate, page."""
    result = check(design(key), rng=0) if kind == "simulated" else real.checked(key, gold=kind == "gold")
    summary = result_summary(result)
    page = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", render(summary), flags=re.DOTALL)
    page = html.unescape(re.sub(r"<[^>]+>", "\n", page)).replace("\u00a0", " ")
    return result, {"text": check_text(result), "certificate": certificate_text(result.certificate), "page": page}


def case(kind, key, *, quick):
    """A case whose three tests run on the same core, which works it out once."""
    together = pytest.mark.xdist_group(f"sentences {key}")
    if kind != "simulated":
        together = real.checked_together(key, gold=kind == "gold")
    return pytest.param(kind, key, marks=[together] if quick else [together, pytest.mark.long])


CASES = [
    *(case("simulated", seed, quick=seed < QUICK_DESIGNS) for seed in range(DESIGNS)),
    *(case("no gold", key, quick=key in QUICK_SETS) for key in QUICK_SETS + SLOW_SETS),
    *(case("gold", key, quick=False) for key in QUICK_SETS + SLOW_SETS),
]


@pytest.mark.parametrize(("kind", "key"), CASES)
def test_no_quantity_has_two_values(kind, key):
    _, shown = outputs(kind, key)
    for name, pattern in QUANTITIES.items():
        found = defaultdict(set)
        for place, text in shown.items():
            for value in re.findall(pattern, re.sub(r"\s+", " ", text), flags=re.IGNORECASE):
                found[value.rstrip(".,")].add(place)
        assert len(found) <= 1, f"{name}: {dict(found)}"


@pytest.mark.parametrize(("kind", "key"), CASES)
def test_model_estimates_are_labelled_as_such(kind, key):
    result, shown = outputs(kind, key)
    if result.gold is None:
        assert result.accuracy("majority").low is None
        assert not re.search(r"By gold|by gold,", shown["text"])
    else:
        assert "By the model" not in shown["text"]


@pytest.mark.parametrize(("kind", "key"), CASES)
def test_untested_assumptions_are_shown_everywhere(kind, key):
    result, shown = outputs(kind, key)
    flat = {place: re.sub(r"\s+", " ", text) for place, text in shown.items()}
    for claim in (result.certificate.anonymous, result.certificate.named):
        if claim is None:
            continue
        for one in claim.assumptions:
            assert assumption_sentence(one) in flat["certificate"]
            assert assumption_sentence(one) in flat["page"]
            assert (
                one.status != "untested" or ASSUMPTION_TEXT[one.assumption] in flat["text"].split("were not tested")[1]
            )


def test_sentence_checks_detect_a_wrong_number():
    assert re.findall(
        QUANTITIES["accuracy of majority"], "Majority vote is right on, by the model 88.2%", re.IGNORECASE
    ) == ["88.2"]
