import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from scripted import Script, scripts


@pytest.fixture(scope="session")
def ten() -> list[Script]:
    """Ten scripted episodes: the same in every format."""
    return scripts()
