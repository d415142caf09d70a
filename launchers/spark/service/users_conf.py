"""What a Spark installation's own ``conf`` says: spark-submit reads it beside a job's document."""

from __future__ import annotations

import os
import re
from pathlib import Path

ENV_SCRIPT = "spark-env.sh"


def conf_folder(spark_home: str) -> Path:
    """Where spark-submit looks for it."""
    return Path(os.environ.get("SPARK_CONF_DIR") or os.path.join(spark_home, "conf"))


def defaults(spark_home: str) -> str:
    """Its spark-defaults.conf, which spark-submit doesn't read beside another file; empty where
    there is none.

    Raises:
        OSError: It is there and cannot be read.
    """
    try:
        file = conf_folder(spark_home) / "spark-defaults.conf"
        return file.read_text("utf-8", "surrogateescape")
    except FileNotFoundError:
        return ""


def sets_variable(spark_home: str, *names: str) -> bool:
    """Whether its spark-env.sh, which spark-submit's scripts run first, assigns one of these. To
    what, only a shell could say."""
    try:
        text = (conf_folder(spark_home) / ENV_SCRIPT).read_text("utf-8", "replace")
    except OSError:
        return False
    either = "|".join(map(re.escape, names))
    return bool(re.search(rf"^[ \t]*(?:export[ \t]+)?(?:{either})=", text, re.MULTILINE))
