"""Every test here asks a local server, quickly and with a planted key."""

from fake_server import quick  # noqa: F401
