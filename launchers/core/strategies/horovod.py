"""Horovod: the strategy that jobs are run with."""

from __future__ import annotations

import re

from launchers.core.strategies import Strategy

NAME = "horovod"
STRATEGIES = [Strategy("Horovod", (r"horovod",))]
# Any mention counts: HorovodRunner, strategy="horovod", HOROVOD_TIMELINE.
MENTION = re.compile(rb"horovod", re.IGNORECASE)
