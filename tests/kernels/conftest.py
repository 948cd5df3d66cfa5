"""Settings of the property tests."""

from hypothesis import settings

# The first example of a kernel compiles it, which takes longer than any deadline would allow.
settings.register_profile("kernels", deadline=None)
settings.load_profile("kernels")
