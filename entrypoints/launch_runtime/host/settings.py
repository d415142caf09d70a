"""What an agent is told about its job, from its environment."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from launch_runtime import strategies
from launch_runtime.environment import SettingError, choice, number, seconds
from launch_runtime.evidence.records import EXCHANGE, MODES
from launch_runtime.strategies.strategy import Strategy

HANG_AFTER, HANG_ACTION = "LAUNCH_HANG_AFTER", "LAUNCH_HANG_ACTION"
WAIT, END = HANG_ACTIONS = ("wait", "end")

BEAT_SECONDS = 0.5  # between two reports of a host to the first one while its ranks run
IDLE_BEAT_SECONDS = 0.2  # and while it has none, and waits for the others
ABORT_GRACE_SECONDS = 2.0  # between SIGTERM and SIGKILL after a failure
# Between SIGTERM and SIGKILL when an agent is asked to end: a laptop's user waits for it, a
# service gives notice to save a checkpoint (Google's for Spot machines is 30 s).
LOCAL_STOP_SECONDS, MANAGED_STOP_SECONDS = 2.0, 20.0


class Settings(NamedTuple):
    """All times in seconds.

    Attributes:
        job: The job's name; agents of different jobs do not speak with each other.
        world_size: The number of ranks that the job definition promises; of replicas where the
            strategy has several in a rank.
        instances: The number of hosts it promises; 0 where it says nothing.
        processes: Ranks on this host.
        log_folder: Where each rank's raw output goes, or "".
        join_timeout: How long to wait for all hosts.
        host_timeout: A host that is silent for this long is lost.
        reminder: Between two lines that name who is missing.
        init_warning: After this without the ranks having met there is one warning.
        stop_grace: What ranks get between SIGTERM and SIGKILL when the agent is asked to end.
        proof: What the job's proof rests on, of ``MODES``.
        stamp: On the lines for the launcher, or "".
        strategy: How ranks are told their places, and what is asked of them.
        hang_after: After this without progress of any rank the job hangs; 0 is never.
        hang_action: What is done then, of ``HANG_ACTIONS``.
    """

    job: str
    world_size: int
    instances: int
    processes: int
    log_folder: str
    join_timeout: float
    host_timeout: float
    reminder: float
    init_warning: float
    stop_grace: float
    proof: str = EXCHANGE
    stamp: str = ""
    strategy: Strategy = strategies.named(strategies.DEFAULT)
    hang_after: float = 0.0
    hang_action: str = WAIT

    @property
    def ranks(self) -> int:
        """Processes of the job, which is another number where a rank has several replicas."""
        if not self.strategy.replicated:
            return self.world_size
        return (self.instances or 1) * self.processes


def read(environment: Mapping[str, str], managed: bool, stamp: str = "") -> Settings:
    """The settings, with defaults.

    Raises:
        SettingError: A variable is missing or wrong, or the numbers do not fit each other.
    """
    settings = Settings(
        job=environment.get("LAUNCH_JOB", ""),
        world_size=number(environment, "LAUNCH_WORLD_SIZE"),
        instances=number(environment, "LAUNCH_INSTANCES", default=0),
        processes=number(environment, "LAUNCH_PROCESSES"),
        log_folder=environment.get("LAUNCH_LOG_DIR", ""),
        join_timeout=seconds(environment, "LAUNCH_JOIN_TIMEOUT", 1800.0),
        host_timeout=seconds(environment, "LAUNCH_HOST_TIMEOUT", 30.0),
        reminder=seconds(environment, "LAUNCH_REMINDER_SECONDS", 20.0),
        init_warning=seconds(environment, "LAUNCH_INIT_WARNING_SECONDS", 300.0),
        stop_grace=seconds(
            environment,
            "LAUNCH_STOP_SECONDS",
            MANAGED_STOP_SECONDS if managed else LOCAL_STOP_SECONDS,
        ),
        proof=choice(environment, "LAUNCH_PROOF", MODES, default=EXCHANGE),
        stamp=stamp,
        strategy=strategies.of(environment),
        hang_after=seconds(environment, HANG_AFTER, 0.0),
        hang_action=choice(environment, HANG_ACTION, HANG_ACTIONS, default=WAIT),
    )
    problem = settings.strategy.problem(settings.world_size)
    if problem:
        raise SettingError(f"LAUNCH_WORLD_SIZE: {problem}")
    pin = environment.get("LAUNCH_PIN_GPU", "none")
    if pin not in ("guard", "script", "none"):
        raise SettingError(f"LAUNCH_PIN_GPU: found {pin!r}; expected guard, script or none")
    return settings
