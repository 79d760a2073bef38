"""How often a guarantee may fail by chance alone, and the claims on many panels of one model."""

import numpy as np
from scipy.stats import beta

from majorant.evidence.certificate.bootstrap import bootstrap
from majorant.evidence.certificate.bootstrap_claims import named_claim
from panels import all_patterns, case_of, fit_panel, pattern_joint, seen

ALPHA = 0.05


def lowest_rate(failures, runs, error=0.05):
    """The lower Clopper-Pearson limit of the rate of failures: above the promise only if the promise is broken."""
    return beta.ppf(error, failures, runs - failures + 1) if failures else 0.0


def claims(rng, prior, crew, n_items, runs, claim=named_claim):
    """The claims on `runs` panels drawn from one model, before their assumptions are looked at."""
    patterns, chance_p = all_patterns(len(crew), len(prior)), pattern_joint(prior, crew).sum(axis=1)
    chance_p = chance_p / np.sum(chance_p)  # sums of many classes round
    for _ in range(runs):
        votes, copies = seen(patterns, rng.multinomial(n_items, chance_p))
        case = case_of(votes, fit_panel(votes, copies), copies)
        yield claim(case, bootstrap(case, rng=rng), level=1 - ALPHA)


def verdict_counts(found):
    """How often each verdict was given."""
    verdicts = [claim.verdict for claim in found]
    return {verdict: verdicts.count(verdict) for verdict in ("optimal", "not optimal", "open")}


def untied_gap(prior, crew):
    """What majority gives away to the best rule on untied votes, by writing out all votes."""
    joint_pk = pattern_joint(prior, crew)
    label_ph = all_patterns(len(crew), len(prior)).label_n.reshape(len(joint_pk), -1)
    count_pk = (label_ph[:, :, None] == np.arange(len(prior))).sum(axis=1)
    top_pk = count_pk == count_pk.max(axis=1, keepdims=True)
    untied = top_pk.sum(axis=1) == 1
    return float((joint_pk.max(axis=1) - (joint_pk * top_pk).sum(axis=1))[untied].sum())


def assert_rarely_decided(name, found):
    """At a boundary both verdicts are wrong: of these claims, each at most at the level."""
    count = verdict_counts(found)
    print(f"{name}: {count}")
    assert lowest_rate(count["optimal"], len(found)) <= ALPHA
    assert lowest_rate(count["not optimal"], len(found)) <= ALPHA


def assert_loss_covered(name, found, truth):
    """The intervals of these claims' loss miss the true one at most at the level."""
    missed = sum(not claim.loss.low - 1e-9 <= truth <= claim.loss.high + 1e-9 for claim in found)
    print(f"{name}: {missed} of {len(found)} intervals of the loss miss {truth:.4f}")
    assert lowest_rate(missed, len(found)) <= ALPHA
