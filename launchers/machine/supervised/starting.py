"""Starts a job's supervisor."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from launchers.core.catalogue import RULES
from launchers.core.model.problems import LaunchError
from launchers.core.paths import writing
from launchers.core.records.ledger import data_folder
from launchers.machine.supervised.folder import JobFolder
from launchers.machine.supervised.preflight import ELSEWHERE


def supervisor(
    module: str, name: str, folder: JobFolder, lifeline: int, hand_on: bool
) -> subprocess.Popen[bytes]:
    """A process of its own, which runs the job.

    Args:
        module: Dotted path of the one that it runs, with the job's folder as its argument.
        name: The job's.
        lifeline: The end of a pipe at which it hears whether it is to go on without this process.
        hand_on: Whether the job reads this process's standard input.

    Raises:
        LaunchError: It cannot be started, or its log not be written.
    """
    package_root = str(Path(__file__).resolve().parents[3])
    path = os.pathsep.join(filter(None, [package_root, os.environ.get("PYTHONPATH")]))
    with writing(folder.supervisor_log, ELSEWHERE):
        log = folder.supervisor_log.open("wb")
    try:
        with log:
            return subprocess.Popen(
                [sys.executable, "-m", module, str(folder.path)],
                stdin=None if hand_on else subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=(lifeline,),
                cwd="/",
                env={
                    **os.environ,
                    "LAUNCH_LIFELINE_FD": str(lifeline),
                    "LAUNCH_STDIN": "inherit" if hand_on else "",
                    "PYTHONPATH": path,
                    "LAUNCH_HOME": str(data_folder()),
                },
            )
    except OSError as error:  # the user may have no more of them, or the machine no memory
        raise LaunchError(RULES["process-start"].at(name, error.strerror or str(error))) from None
