"""Is the answer of `certify` to the paper's question right? It is compared with gold labels on every public set.

    MAJORANT_DATA=... python benchmarks/optimality.py [--write]

Each set is certified without its gold labels. By gold, majority vote is not optimal if the exact gold claim says so,
or if rules of the vote counts learned from gold gain more than .2 points in cross-validation: a label for each vector
of counts and, for more than two classes, one confusion matrix. A set is graded by the sets of other families.
`--write` writes `optimality_record.json`, which the package quotes, and the table in docs/optimality.md. Exits with 1
if fewer than 8 sets are likely or better, if fewer than 80% of those are right, or if gold contradicts an answer that
is proved or supported. Takes about a minute.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import majorant as mj
from majorant.evidence.certificate.certificate import Certificate, Verdict
from majorant.evidence.certificate.gold import claim_from_cells, gold_cells
from majorant.evidence.certificate.optimality import Optimality, PublicCheck, check_record, grade
from majorant.evidence.evidence import Certainty
from majorant.tally import counts
from majorant.votes import Votes
from public_sets import data_sets

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "src/majorant/evidence/certificate/optimality_record.json"
PAGE = ROOT / "docs/optimality.md"
FAMILIES = {  # sets of one publication; every other set is a family of its own
    "film reviews": ("SP", "SP_amt"),
    "ZenCrowd": ("ZenCrowd_in", "ZenCrowd_us"),
    "weather": ("CF", "CF_amt"),
    "Snow et al.": ("snow_temporal", "snow_wsd", "snow_disgust"),
    "LLMBar": ("llmbar_six", "llmbar_65", "mtbench_pairs"),
    "LLM judges of code": ("code_java", "code_summary_java"),
    "alternative annotators": ("alt_lgbteen", "alt_summeval"),
}
SAME_VOTES = ("chexpert_soft",)  # as chexpert_eleven
ONE_CLASS_VOTERS = ("youtube", "trec")  # every voter knows one class, which no model of the votes can be fitted to
GAIN = 0.002


class Found(NamedTuple):
    """A set, what the certificate says of it without gold, and what gold says."""

    check: PublicCheck
    certificate: Certificate
    optimality: Optimality
    gain: float


def family_of(name: str) -> str:
    """The publication that a set comes from."""
    return next((family for family, names in FAMILIES.items() if name in names), name)


def learned_gain(votes: Votes, *, by_matrix: bool, folds: int = 5, repeats: int = 10) -> float:
    """Accuracy that a rule of the vote counts, learned from gold, gains over majority on untied items."""
    assert votes.gold_i is not None
    known = np.flatnonzero((votes.gold_i >= 0) & (votes.votes_i > 0))
    counts_gk, class_g = counts(votes)[known], votes.gold_i[known]
    n_gold, n_classes = counts_gk.shape
    untied_g = (counts_gk == counts_gk.max(axis=1, keepdims=True)).sum(axis=1) == 1
    _, cell_g = np.unique(counts_gk, axis=0, return_inverse=True)
    majority_g, gained, rng = counts_gk.argmax(axis=1), 0.0, np.random.default_rng(0)
    for _ in range(repeats):
        fold_g = rng.permutation(n_gold) % folds
        for fold in range(folds):
            taught, tested = fold_g != fold, np.flatnonzero((fold_g == fold) & untied_g)
            if by_matrix:
                votes_kl = 0.5 * (1 + np.eye(n_classes))
                np.add.at(votes_kl, class_g[taught], counts_gk[taught])
                share_k = np.bincount(class_g[taught], minlength=n_classes) + 0.5
                log_kl = np.log(votes_kl / votes_kl.sum(axis=1, keepdims=True))
                label = (np.log(share_k) + counts_gk[tested] @ log_kl.T).argmax(axis=1)
            else:
                seen_ck = np.zeros((cell_g.max() + 1, n_classes))
                np.add.at(seen_ck, (cell_g.ravel()[taught], class_g[taught]), 1)
                seen_ck[cell_g.ravel(), majority_g] += 1e-9 + 0.5 * (seen_ck[cell_g.ravel(), majority_g] % 1 == 0)
                label = seen_ck[cell_g.ravel()[tested]].argmax(axis=1)
            gained += float((label == class_g[tested]).sum() - (majority_g[tested] == class_g[tested]).sum())
    return gained / (repeats * n_gold)


def switched_gain(votes: Votes, optimality: Optimality) -> float:
    """What labelling by the fitted model gains over majority on untied gold items."""
    assert votes.gold_i is not None
    wrong = {one.counts: optimality.labels.index(one.best) for one in optimality.wrong}
    order = [votes.labels.index(label) for label in optimality.labels]
    known = np.flatnonzero((votes.gold_i >= 0) & (votes.votes_i > 0))
    gained = 0
    for counts_k, gold in zip(counts(votes)[known][:, order].tolist(), votes.gold_i[known].tolist(), strict=True):
        if (best := wrong.get(tuple(counts_k))) is not None:
            gained += (order[best] == gold) - (order[int(np.argmax(counts_k))] == gold)
    return gained / len(known)


def find(name: str, votes: Votes) -> Found | None:
    """What the certificate and gold say of a set; None if it has no gold, or no item with three votes."""
    certificate = mj.certify(replace(votes, gold_i=None))
    optimality = certificate.optimality
    if optimality is None or votes.gold_i is None:
        return None
    gold, n_classes = claim_from_cells(gold_cells(votes), level=0.95), len(votes.labels)
    gains = [learned_gain(votes, by_matrix=by_matrix) for by_matrix in ((False, True) if n_classes > 2 else (False,))]
    is_optimal = max(gains) <= GAIN if gold.verdict == Verdict.OPEN else gold.verdict == Verdict.OPTIMAL
    check = PublicCheck(
        name=name,
        family=family_of(name),
        panel=certificate.design is not None and certificate.design.kind == "panel",
        classes=n_classes,
        said=optimality.optimal,
        true=is_optimal,
        expected=round(certificate.anonymous.loss.value or 0.0, 4),
        loss=round(max(0.0, *gains), 4),
        switched=round(switched_gain(votes, optimality), 4),
    )
    return Found(check, certificate, optimality, max(gains))


def certainty_without(found: Found, every: list[Found]) -> Certainty:
    """The grade from the sets of other families."""
    check = found.check
    others = [one.check for one in every if one.check.family != check.family]
    record = check_record(check.said, panel=check.panel, n_classes=check.classes, checks=others)
    claim = found.certificate.anonymous
    agrees = str(claim.verdict) == ("optimal" if check.said else "not optimal")
    return grade(record, claim.certainty if agrees else None)


def row(found: Found, certainty: Certainty) -> list[str]:
    """A row of the table."""
    check, optimality = found.check, found.optimality
    common = max(optimality.by_votes, key=lambda one: one.share)
    bounds = common.window
    window = "" if bounds is None else f"{bounds.lower:.3g} < {bounds.value:.3g} < {bounds.upper:.3g}"
    tipping = optimality.tipping
    rho = "" if tipping is None else "none" if tipping.correlation is None else f"{tipping.correlation:.2f}"
    said, true = ("optimal" if one else "not optimal" for one in (check.said, check.true))
    kind = "panel" if check.panel else "crowd"
    margin = min(one.margin for one in optimality.by_votes)
    wrong = "" if check.said == check.true else "x"
    said_so = [check.name, f"{kind}, {check.classes}", said, str(certainty), f"{margin:+.2f}"]
    return [*said_so, f"{common.n_votes}: {window}" if window else "", rho, true, f"{100 * found.gain:+.1f}", wrong]


def main() -> None:
    """Print the table and, with --write, store it and the record."""
    warnings.simplefilter("ignore")
    sets = data_sets(Path(os.environ["MAJORANT_DATA"]))
    found = [one for name, votes in sets if name not in SAME_VOTES and (one := find(name, votes))]
    every = [one for one in found if one.check.name not in ONE_CLASS_VOTERS]
    certainties = [certainty_without(one, every) if one in every else Certainty.UNKNOWN for one in found]
    head = ["set", "kind, classes", "certify says", "grade", "margin", "window f < g < h", "overturned by"]
    head += ["by gold", "gain by gold", "wrong"]
    rows = [row(one, certainty) for one, certainty in zip(found, certainties, strict=True)]
    table = "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows])
    sure = [one.check for one, c in zip(found, certainties, strict=True) if c is not Certainty.UNKNOWN]
    right = sum(check.said == check.true for check in sure)
    strong = [
        one.check.name
        for one, c in zip(found, certainties, strict=True)
        if c in (Certainty.PROVED, Certainty.SUPPORTED) and one.check.said != one.check.true
    ]
    print(table)
    print(
        f"\nlikely or better on {len(sure)} sets, right on {right}; proved or supported and wrong: {strong or 'none'}"
    )
    if "--write" in sys.argv:
        record = {"made_by": "benchmarks/optimality.py", "sets": [asdict(one.check) for one in every]}
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        text = PAGE.read_text(encoding="utf-8")
        start, end = text.index("<!-- table -->"), text.index("<!-- end -->")
        PAGE.write_text(f"{text[:start]}<!-- table -->\n{table}\n{text[end:]}", encoding="utf-8")
    if len(sure) < 8 or right < 0.8 * len(sure) or strong:
        sys.exit(1)


if __name__ == "__main__":
    main()
