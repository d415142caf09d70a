"""What agent.py does: read what the job says, and run this host's part of it."""

from __future__ import annotations

import os
from typing import Callable, Mapping, Sequence

from launch_runtime import failures, lines, stamps
from launch_runtime.environment import SettingError
from launch_runtime.failures import Failure
from launch_runtime.host import own_environment
from launch_runtime.host.agent import BAD_REQUEST, FLUSH_SECONDS, HostAgent
from launch_runtime.host.cluster import Cluster, LoneReplicaError
from launch_runtime.host.cluster import read as read_cluster
from launch_runtime.host.console import Console
from launch_runtime.host.job import PortError
from launch_runtime.host.peers.door import NO_THREADS
from launch_runtime.host.peers.signatures import Key
from launch_runtime.host.preparation import prepare, requirements_file
from launch_runtime.host.sagemaker import start as sagemaker
from launch_runtime.host.sagemaker.start import End
from launch_runtime.host.settings import read as read_settings


def main(arguments: Sequence[str], entrypoints: str) -> int:
    """Runs this host's part of the job; blocks until all hosts know its end.

    Args:
        arguments: SCRIPT and its own arguments; on SageMaker a flag and the service's folder.
        entrypoints: The folder of agent.py and guard.py.

    Returns:
        The exit code: 0 when all ranks of all hosts ended well.
    """
    try:
        if arguments[:1] == [sagemaker.FLAG]:
            return sagemaker.main(arguments[1:], entrypoints, run)
        return run(arguments, entrypoints, read_cluster).code
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        # Not by the console, which has a thread of its own.
        print(lines.message(f"{NO_THREADS}, so the agent ends"), flush=True)
        return 1


def run(
    arguments: Sequence[str], entrypoints: str, find: Callable[[Mapping[str, str]], Cluster]
) -> End:
    """The same for any service.

    Args:
        arguments: SCRIPT and its own arguments.
        find: Who the hosts are, from the environment.
    """
    console, name = Console("?"), "?"
    nonce = own_environment.take_nonce()
    stamp = stamps.of(nonce)
    try:
        cluster = find(os.environ)
        name = cluster.own.name
        console = Console(name)
        settings = read_settings(os.environ, cluster.managed, stamp)
        agent = HostAgent(cluster, settings, console, Key(nonce))
    except (SettingError, PortError) as error:
        teller = _teller(error, Key(nonce), stamp)
        if teller:
            return End(teller.refuse(str(error)), teller.verdict)
        failure = Failure(name, str(error), failures.JOINING, code=BAD_REQUEST)
        # On this machine the launcher has the agent's own words; of a service's it reads the line.
        ours = os.environ.get("LAUNCH_CLUSTER")
        console.say(lines.message(str(error)) if ours else failure.line(stamp))
        console.flush(FLUSH_SECONDS)
        return End(BAD_REQUEST, failure)
    try:
        source, command = prepare(arguments, entrypoints, cluster, settings)
    except SettingError as error:
        return End(agent.refuse(str(error)), agent.verdict)
    code = agent.run(command, source, requirements_file(entrypoints, cluster))
    return End(code, agent.verdict)


def _teller(error: Exception, key: Key, stamp: str) -> HostAgent | None:
    """An agent that can tell the first host of ``error``, which would else wait for this one."""
    cluster = error.cluster if isinstance(error, LoneReplicaError) else None
    if cluster is None:
        return None
    try:
        settings = read_settings(os.environ, cluster.managed, stamp)
        return HostAgent(cluster, settings, Console(cluster.own.name), key)
    except (SettingError, PortError):
        return None
