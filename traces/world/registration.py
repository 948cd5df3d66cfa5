"""The worlds' ids: importing this module makes them known to Gymnasium.

>>> gymnasium.make("mnistpro/Glimpse-L2-v0").action_space
Discrete(104)
"""

from __future__ import annotations

from typing import Any

import gymnasium

WORLDS: dict[str, dict[str, Any]] = {
    "mnistpro/Glimpse-L1-v0": {"n_panels": 1},
    "mnistpro/Glimpse-L2-v0": {"n_panels": 2},
    "mnistpro/Glimpse-v0": {},
}
"""Id to settings; `Glimpse-v0` takes the number of digits as `n_panels`."""


def register_envs() -> None:
    """Make the ids known; calling it again changes nothing."""
    package = __name__.rpartition(".")[0]
    for name, settings in WORLDS.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                id=name,
                entry_point=f"{package}.env:GlimpseEnv",
                vector_entry_point=f"{package}.vector:GlimpseVectorEnv",
                kwargs=settings,
            )


register_envs()
