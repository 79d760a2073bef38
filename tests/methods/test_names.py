"""Methods are found by the names that other libraries use; an unknown name gets a suggestion."""

import numpy as np
import pytest

import majorant as mj
from crowds import random_votes
from majorant.errors import ConfigError
from majorant.methods import ESTIMATORS, METHOD_ALIASES, method_named

VOTES = [("a", "u", "x"), ("a", "v", "x"), ("a", "w", "y"), ("b", "u", "y"), ("b", "v", "y"), ("b", "w", "y")]


@pytest.mark.parametrize(
    ("written", "meant"),
    [("DawidSkene", "dawid-skene"), ("ds", "dawid-skene"), ("mv", "majority"), ("majority_vote", "majority"),
     ("MajorityVote", "majority"), ("GLAD", "glad"), ("OneCoinDawidSkene", "one-coin"), ("zbs", "zero-based-skill")],
)  # fmt: skip
def test_other_spellings_are_the_same_method(written, meant):
    assert method_named(written) == meant
    assert mj.aggregate(VOTES, written).method == meant


def test_the_former_name_of_a_method_still_works():
    assert method_named("weighted-majority") == "nitzan-paroush"


def test_every_name_resolves_to_one_method():
    assert set(METHOD_ALIASES.values()) <= set(ESTIMATORS)
    assert all(method_named(name) == name for name in ESTIMATORS)


def test_closest_method_name_is_suggested():
    with pytest.raises(mj.ConfigError, match=r"no method 'david-skene'\. Did you mean dawid-skene\?"):
        mj.aggregate(VOTES, "david-skene")
    with pytest.raises(mj.ConfigError, match=r"method must be text or a list of strings, not 3"):
        mj.aggregate(VOTES, 3)


@pytest.mark.parametrize("method", [name for name, model in ESTIMATORS.items() if hasattr(model(), "max_iter")])
@pytest.mark.parametrize("max_iter", [0, -1])
def test_at_least_one_step_is_needed(method, max_iter):
    votes = random_votes(np.random.default_rng(0), n_classes=2)
    with pytest.raises(ConfigError, match="max_iter must be at least 1"):
        ESTIMATORS[method](max_iter=max_iter).fit(votes)
