"""Starting spark-submit from a job's document, exactly."""

from __future__ import annotations

import ctypes
import signal
import subprocess
from collections.abc import Mapping
from typing import Any

from launchers.machine.supervised.environment import inherited
from launchers.machine.supervised.folder import write_private
from launchers.spark.document import secret_conf, submit_environment, submit_words
from launchers.spark.job_folder import SparkFolder
from launchers.spark.service.users_conf import defaults

_PR_SET_PDEATHSIG = 1  # Linux, prctl(2): spark-submit's scripts keep it, since they exec java
# What the document says itself. Spark takes these before or beside its properties; of those of
# Spark Connect any makes spark-submit refuse a master (SparkSubmitArguments, pyspark.sql.connect).
_DECIDED = frozenset(
    {
        "MASTER",
        "PYSPARK_DRIVER_PYTHON",
        "PYSPARK_DRIVER_PYTHON_OPTS",
        "PYSPARK_PYTHON",
        "PYSPARK_SUBMIT_ARGS",
        "SPARK_CONNECT_MODE",
        "SPARK_CONNECT_MODE_ENABLED",
        "SPARK_HOME",
        "SPARK_LOCAL_REMOTE",
        "SPARK_REMOTE",
    }
)


def start(document: Mapping[str, Any], folder: SparkFolder) -> subprocess.Popen[bytes]:
    """spark-submit in a process group of its own, which ends when this process does.

    Nothing secret stands on its command line: what the document has of that goes by the driver's
    environment, or by a file of its owner's alone beside the user's spark-defaults.conf.

    Raises:
        OSError: It cannot be started, or that file cannot be written.
    """
    secret, properties = secret_conf(document), ""
    if secret:
        users = defaults(document["spark_home"]).rstrip("\n")
        write_private(folder.properties, (users and f"{users}\n\n") + _properties(secret))
        properties = str(folder.properties)
    libc = ctypes.CDLL(None)  # before the fork, after which nothing may be loaded

    def ends_with_us() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)

    return subprocess.Popen(
        submit_words(document, properties),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=inherited_environment(document),
        cwd=folder.path,
        start_new_session=True,
        preexec_fn=ends_with_us,
    )


def inherited_environment(document: Mapping[str, Any]) -> dict[str, str]:
    """The user's variables (JAVA_HOME, HADOOP_CONF_DIR and so on) with those of the document; the
    interpreters are those of its conf."""
    users = {name: value for name, value in inherited().items() if name not in _DECIDED}
    return {**users, "PYTHONUNBUFFERED": "1", **submit_environment(document)}


def _properties(conf: Mapping[str, str]) -> str:
    """Lines of java.util.Properties, in which a backslash begins an escape."""
    return "".join(
        "{}={}\n".format(name, value.replace("\\", "\\\\").replace("\n", "\\n"))
        for name, value in conf.items()
    )
