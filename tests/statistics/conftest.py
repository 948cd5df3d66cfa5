"""Settings of the property tests."""

from hypothesis import settings

# The first example imports SciPy and statsmodels, which takes longer than any deadline would allow.
settings.register_profile("statistics", deadline=None)
settings.load_profile("statistics")
