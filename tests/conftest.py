"""Settings for every test."""

import os

from hypothesis import settings

# The same cases on every run, and no time limit per case: speed is measured in benchmarks/, never by a unit test.
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
