"""The rules of this room, and core's; their texts lie in rules.json."""

from launchers.core.catalogue import RULES as SHARED
from launchers.core.model.rules import Rules

RULES = Rules(__file__, SHARED)
