"""Settings that every test shares."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=100,
    stateful_step_count=30,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("dev", deadline=None, max_examples=30, stateful_step_count=20)
# "ci" repeats the same examples for ever; this one looks for new ones, by hand or at night.
settings.register_profile(
    "deep",
    deadline=None,
    max_examples=2000,
    stateful_step_count=50,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# Always loaded by name: where CI is set, Hypothesis would otherwise load a "ci" profile of its own.
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))
