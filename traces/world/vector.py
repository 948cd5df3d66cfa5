"""Many worlds at once."""

from __future__ import annotations

from functools import partial
from typing import Any

from gymnasium.vector import AutoresetMode, SyncVectorEnv

from .env import GlimpseEnv


class GlimpseVectorEnv(SyncVectorEnv):
    """`num_envs` copies of `GlimpseEnv`, stepped together; unseeded they walk through the episodes together.

    Args:
        num_envs: number of copies.
        autoreset_mode: `NextStep` (the step after an end begins the next episode and its action is ignored),
            `SameStep` (the end comes as `final_obs` and `final_info`), or `Disabled` (reset the ended ones
            with `reset(options={"reset_mask": mask})`).
        **kwargs: of `GlimpseEnv`.
    """

    def __init__(
        self, num_envs: int = 1, *, autoreset_mode: str | AutoresetMode = "NextStep", **kwargs: Any
    ) -> None:
        super().__init__([partial(GlimpseEnv, **kwargs)] * num_envs, autoreset_mode=autoreset_mode)
        self.set_attr("order", [self.get_attr("order")[0]] * num_envs)
