"""How often a promise may be broken by chance alone."""

from scipy.stats import beta


def lowest_rate(failures, runs, error=0.05):
    """The lower Clopper-Pearson limit of the rate of failures: above the promise only if the promise is broken."""
    return beta.ppf(error, failures, runs - failures + 1) if failures else 0.0
