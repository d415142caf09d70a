"""The rules of this room, those that it shares with other Spark services, and core's."""

from launchers.core.model.rules import Rules
from launchers.core.spark.catalogue import RULES as SHARED

RULES = Rules(__file__, SHARED)
