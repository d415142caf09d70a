"""One rank that trains alone."""

from __future__ import annotations

from launchers.core.model.image_needs import ImageNeeds
from launchers.core.strategies.strategy import Strategy

STRATEGY = Strategy(
    name="none", title="nothing distributed", settles_keras=True, image=ImageNeeds((), (), {})
)
