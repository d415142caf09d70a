"""What a local job starts: pip for its requirements, and one agent for each simulated host."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

from launchers.core.paths import entrypoints_folder
from launchers.local.job_folder import JobFolder
from launchers.machine.supervised.environment import inherited

_JOIN_SECONDS = "120"


def start_pip(document: Mapping[str, Any], folder: JobFolder) -> subprocess.Popen[bytes]:
    """A pip that installs the job's requirements into its own folder.

    Raises:
        OSError: It cannot be started.
    """
    command = [document["python"], "-m", "pip", "install", "--disable-pip-version-check"]
    command += ["--no-input", "--target", str(folder.packages), "-r", document["requirements"]]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=_inherited(document, folder),
        cwd=os.path.dirname(document["requirements"]),
    )


def start_agents(
    document: Mapping[str, Any], folder: JobFolder
) -> Iterator[subprocess.Popen[bytes]]:
    """The agents, one after another; each ends with this process, however that ends.

    Raises:
        OSError: One cannot be started.
    """
    port = document["port"] or _free_port()
    hand_on = os.environ.get("LAUNCH_STDIN") == "inherit"
    cluster = [{"name": host["name"], "address": "127.0.0.1"} for host in document["hosts"]]
    program = ["-m", document["module"]] if "module" in document else [document["script"]]
    agent = str(entrypoints_folder() / "agent.py")
    for index, host in enumerate(document["hosts"]):
        environment = {
            **_inherited(document, folder),
            "LAUNCH_JOIN_TIMEOUT": _JOIN_SECONDS,
            **document["environment"],
            **host["environment"],
            "LAUNCH_CLUSTER": json.dumps({"hosts": cluster, "index": index, "port": port}),
            "LAUNCH_SOURCE_DIR": document["source"],
            "LAUNCH_LOG_DIR": str(folder.logs),
            "LAUNCH_STDIN": "inherit" if hand_on else "",
        }
        read_end, write_end = os.pipe()
        process = subprocess.Popen(
            [document["python"], agent, *program, *document["arguments"]],
            stdin=None if hand_on else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**environment, "LAUNCH_LIFELINE_FD": str(read_end)},
            pass_fds=(read_end,),
            cwd=document["source"],
            start_new_session=True,
        )
        # The write end stays open here, and closes with this process however it ends.
        os.close(read_end)
        os.set_inheritable(write_end, False)
        yield process


def _inherited(document: Mapping[str, Any], folder: JobFolder) -> dict[str, str]:
    kept = inherited()
    if document["requirements"]:
        paths = [str(folder.packages), *filter(None, [kept.get("PYTHONPATH")])]
        kept["PYTHONPATH"] = os.pathsep.join(paths)
    kept["PYTHONUNBUFFERED"] = "1"
    return kept


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
