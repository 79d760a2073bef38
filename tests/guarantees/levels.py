"""How often a promise may be broken by chance alone, and the claims on many panels of one model."""

import numpy as np
from scipy.stats import beta

from majorant.evidence.certificate.bootstrap_claims import named_claim
from panels import all_patterns, case_of, fit_panel, pattern_joint, seen

ALPHA = 0.05


def lowest_rate(failures, runs, error=0.05):
    """The lower Clopper-Pearson limit of the rate of failures: above the promise only if the promise is broken."""
    return beta.ppf(error, failures, runs - failures + 1) if failures else 0.0


def claims(rng, prior, crew, n_items, runs, claim=named_claim):
    """The claims on `runs` panels drawn from one model."""
    patterns, chance_p = all_patterns(len(crew), len(prior)), pattern_joint(prior, crew).sum(axis=1)
    chance_p = chance_p / np.sum(chance_p)  # sums of many classes round
    for _ in range(runs):
        votes, copies = seen(patterns, rng.multinomial(n_items, chance_p))
        yield claim(case_of(votes, fit_panel(votes, copies), copies), level=1 - ALPHA, rng=rng)


def verdict_counts(found):
    """The verdicts apart from ties: at a boundary of untied votes a draw on ties may well lose."""
    verdicts = [claim.untied for claim in found]
    return {verdict: verdicts.count(verdict) for verdict in ("supported", "refuted", "undecided")}


def assert_rarely_decided(name, found):
    """At a boundary both verdicts are wrong: of these claims, each at most at the level."""
    count = verdict_counts(found)
    print(f"{name}: {count}")
    assert lowest_rate(count["supported"], len(found)) <= ALPHA
    assert lowest_rate(count["refuted"], len(found)) <= ALPHA


def assert_loss_covered(name, found, truth):
    """The intervals of these claims' loss miss the true one at most at the level."""
    missed = sum(not claim.loss.low - 1e-9 <= truth <= claim.loss.high + 1e-9 for claim in found)
    print(f"{name}: {missed} of {len(found)} intervals of the loss miss {truth:.4f}")
    assert lowest_rate(missed, len(found)) <= ALPHA
