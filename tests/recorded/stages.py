"""The results of each stage of the pipeline as a few plain numbers.

All is asked through public names, so that the same lines run on an old commit and on a new one.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse, special

import majorant as mj
from majorant.errors import ConfigError, NotIdentified
from majorant.tally import tally
from majorant.votes import Votes

from .designs import DESIGNS, SETS, is_here, votes_of

DIGITS = 12
NUMBERS = Path(__file__).parent / "numbers"
ROUNDING = "rounding"  # the entry of a file of numbers that says how the machine rounds that recorded it
CLAIMS = ("anonymous", "named", "gold")
COEFFICIENTS = ("percent", "cohen", "fleiss", "krippendorff", "krippendorff_ordinal", "gwet")


def arithmetic() -> str:
    """A mark of how this machine rounds, which its vector units and the libraries' code for them decide."""
    x = np.linspace(0.01, 3, 1003)
    square = np.outer(x, x[::-1])
    parts = [np.exp(x), np.log(x), np.log1p(x), special.digamma(x), special.gammaln(x), special.expit(x)]
    parts += [sparse.csr_array(np.tri(97, 1003)) @ square[:, :3], square.sum(axis=1), special.betainc(x, 2, 0.3)]
    parts += [x[:50] @ square[:50, :50]]  # so small that it takes one thread
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:16]


def rounds_alike(stage: str) -> bool:
    """Whether this machine rounds like the one on which a stage was recorded."""
    return recorded(stage).get(ROUNDING) == arithmetic()


def plain(value: Any) -> Any:
    """The same value as JSON has it, numbers to 12 digits."""
    if isinstance(value, Mapping):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(entry) for entry in np.asarray(value).tolist()] if len(value) else []
    if isinstance(value, np.generic):
        return plain(value.item())
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def checksum(array: Any) -> float:
    """One number that moves if any entry does, or if two change places."""
    flat = np.asarray(array, dtype=float).ravel()
    return float(flat @ np.cos(np.arange(len(flat))))


def of_tally(votes: Votes) -> dict[str, Any]:
    """How many items, workers, classes and votes there are, and what the counts sum to."""
    counted = tally(votes)
    return {
        "shape": [*votes.shape, votes.n_votes],
        "labels": counted.counts_ik.sum(axis=0),
        "ties": int(counted.tied_i.sum()),
        "patterns": [len(counted.patterns.items_p), checksum(counted.patterns.items_p)],
        "items": checksum(counted.counts_ik),
        "workers": checksum(counted.votes_jl),
    }


def of_agreement(votes: Votes) -> dict[str, Any]:
    """Every coefficient with its interval."""
    measured = mj.agreement(votes, rng=0)
    return {name: interval(getattr(measured, name)) for name in COEFFICIENTS}


def interval(estimate: Any) -> list[float | None]:
    """A number with the ends of its interval."""
    return [estimate.value, estimate.low, estimate.high]


def of_fit(method: str, votes: Votes) -> dict[str, Any] | None:
    """What an estimator says of these votes; None if they do not have what it needs."""
    estimator = mj.ESTIMATORS[method]
    n_classes = len(votes.labels)
    settings = {"confusion": 0.5 * np.eye(n_classes) + 0.5 / n_classes} if estimator.traits.needs == "confusion" else {}
    try:
        fit = estimator(**settings).fit(votes)
    except (ConfigError, NotIdentified):
        return None
    n_items = len(votes.items)
    return {
        "prior": fit.prior,
        "sums": fit.posterior.sum(axis=0),
        "rows": fit.posterior[[0, n_items // 2, n_items - 1], 0],
        "posterior": checksum(fit.posterior),
        "confusion": None if fit.confusion is None else checksum(fit.confusion),
        "skill": None if fit.skill is None else checksum(fit.skill),
        "ties": int(fit.tied_i.sum()),
        "steps": [fit.n_iter, int(fit.converged)],
        "objective": fit.trace[-1] if fit.trace else None,
    }


def of_claims(votes: Votes) -> dict[str, dict[str, Any] | None]:
    """The numbers of each claim of the certificate; None for a claim that is not made."""
    certificate = mj.certify(votes, rng=0)
    return {kind: of_claim(getattr(certificate, kind)) for kind in CLAIMS}


def of_claim(claim: Any) -> dict[str, Any] | None:
    """What a claim rests on and comes to."""
    if claim is None:
        return None
    return {
        "verdict": str(claim.verdict),
        "margin": claim.margin,
        "loss": interval(claim.loss),
        "assumptions": {str(one.assumption): one.p_value for one in claim.assumptions},
    }


def of_theory(name: str) -> dict[str, Any] | None:
    """Exact numbers of the model that a design is drawn from, where all its items have as many votes."""
    prior, confusion, n_votes, _ = DESIGNS[name]
    if not isinstance(n_votes, int):
        return None
    if np.ndim(confusion) == 3:
        panel = np.asarray(confusion)[:n_votes]
        accuracies = [mj.theory.panel_accuracy(prior, panel, rule=rule) for rule in ("majority", "map")]
        return {"margin": mj.theory.panel_margin(prior, panel), "accuracies": accuracies}
    numbers = {
        "margin": mj.theory.majority_margin(prior, confusion, n_votes),
        "accuracies": [
            rule(prior, confusion, n_votes) for rule in (mj.theory.majority_accuracy, mj.theory.map_accuracy)
        ],
        "gap": mj.theory.gap(prior, confusion, n_votes),
    }
    if len(prior) > 2:
        return numbers
    return {
        **numbers,
        "handicap": mj.theory.handicap(prior, confusion, n_votes),
        "radius": mj.theory.perturbation_radius(prior, confusion, n_votes),
    }


@cache
def of_all_claims(name: str) -> dict[str, dict[str, Any] | None]:
    """The claims on some votes: three stages come from one certificate."""
    return of_claims(votes_of(name))


def result(stage: str, name: str) -> Any:
    """What a stage says of a design or a public set, as JSON has it."""
    room, _, part = stage.partition("/")
    if room == "theory":
        return plain(of_theory(name)) if name in DESIGNS else None
    if room == "claims":
        return plain(of_all_claims(name)[part])
    votes = votes_of(name)
    return plain({"tally": of_tally, "agreement": of_agreement}[room](votes) if not part else of_fit(part, votes))


def stages() -> list[str]:
    """All that is recorded, by the name of its file."""
    return [
        "tally",
        "agreement",
        "theory",
        *(f"claims/{kind}" for kind in CLAIMS),
        *(f"fits/{method}" for method in mj.ESTIMATORS),
    ]


@cache
def recorded(stage: str) -> dict[str, Any]:
    """The recorded numbers of a stage by design and public set, and how that machine rounds; empty for a new stage."""
    path = NUMBERS / f"{stage}.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def record(stage: str, names: Iterable[str] = (*DESIGNS, *SETS)) -> Path:
    """Write what a stage says now, a line for each design and set; nothing where it says nothing."""
    results = {ROUNDING: arithmetic()} | {name: result(stage, name) for name in names if is_here(name)}
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in results.items() if value is not None]
    path = NUMBERS / f"{stage}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return path
