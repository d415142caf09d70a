"""Spark's own log, which spark-submit writes beside the job's output."""

from __future__ import annotations

import re
from collections import deque

# log4j's default layout of Spark: 24/05/01 12:00:00 WARN TaskSetManager: Lost task ...
_LEVEL = re.compile(
    r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) (\S+): ?(.*)"
)
_ERRORS = re.compile(r"Exception in thread \"[^\"]*\" (.+)|(?:Error|Caused by): (.+)")
_YARN_JOB = re.compile(r"\b(application_\d+_\d+)\b")
_POD = re.compile(r"\bpod name: (\S+)")
_NAMESPACE = re.compile(r"\bnamespace: (\S+)")
_KEPT_LINES = 30
_MOST_CHARACTERS = 300


class SparkLog:
    """What is remembered of the log while it goes by into its file.

    Attributes:
        last: Its newest lines, for a failure that nothing else explains.
        error: The newest line that tells of an error, without level and logger; or empty.
        application: YARN's id of the application, or ``NAMESPACE:POD`` of Kubernetes' driver; empty
            until the log says so.
    """

    def __init__(self) -> None:
        self.last: deque[str] = deque(maxlen=_KEPT_LINES)
        self.error = ""
        self.application = ""
        self._pod = ""

    def see(self, text: str) -> None:
        """One line of it."""
        if text.strip():
            self.last.append(text)
        level = _LEVEL.match(text)
        if level:
            found = level[3] if level[1] in ("ERROR", "FATAL") else ""
        else:
            match = _ERRORS.match(text)
            found = next(filter(None, match.groups())) if match else ""
        if found.strip():
            self.error = found.strip()[:_MOST_CHARACTERS]
        self._look_for_application(text)

    def _look_for_application(self, text: str) -> None:
        if match := _YARN_JOB.search(text):
            self.application = match[1]
        elif match := _POD.search(text):
            self._pod = match[1]
        elif self._pod and (match := _NAMESPACE.search(text)):
            self.application = f"{match[1]}:{self._pod}"
