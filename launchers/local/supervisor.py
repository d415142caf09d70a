"""The process that owns one local job: starts the hosts' agents, keeps their lines, and says how
it ended (see :mod:`launchers.machine.supervised.supervisor`).

    python -m launchers.local.supervisor JOB_FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from launchers.core.model.jobs import FAILED, SUCCEEDED
from launchers.core.proof import Expected, Said, expected_of
from launchers.local.agents import start_agents, start_pip
from launchers.local.job_folder import JobFolder
from launchers.machine.supervised.supervisor import Supervisor, ending_of


class LocalSupervisor(Supervisor):
    """Runs pip where the job has requirements, then one agent for each host."""

    provider = "local"
    folder: JobFolder

    def __init__(self, folder: JobFolder):
        super().__init__(folder)
        self._agents_started = False
        self._agent_failed = ""
        if self.document["requirements"]:
            self.ranks_started = None

    def expects(self, document: Mapping[str, Any]) -> Expected:
        """See :meth:`Supervisor.expects`."""
        return expected_of(document["environment"])

    def work(self) -> None:
        """See :meth:`Supervisor.work`."""
        self._install_requirements()
        if self.ending is None:
            self._agents_started = True
            if self.ranks_started is None:
                self.ranks_start()
            for process in start_agents(self.document, self.folder):
                self.follow(process, process.stdout, self.job_line)
        self.wait()

    def _install_requirements(self) -> None:
        file = self.document["requirements"]
        if not file:
            return
        self.own_line(f"installing {file} for this job")
        pip = start_pip(self.document, self.folder)
        self.follow(pip, pip.stdout, lambda text: self.own_line(f"pip: {text}"))
        self.wait()
        self.children.remove(pip)
        if pip.returncode and self.ending is None:
            self.ending = (FAILED, f"pip could not install {file}")

    def look_at_children(self) -> None:
        """An agent that failed: the others know it and end by themselves; what cannot is killed."""
        if not self._agents_started or self._agent_failed:
            return
        for name, code in self.exit_codes().items():
            if code:
                self._agent_failed = f"{name}'s agent ended with {ending_of(code)}"
                self.end_soon()
                return

    def said(self) -> Said:
        """See :meth:`Supervisor.said`."""
        if self._agent_failed:
            # A rank's own failure says more than its agent's exit code.
            return Said(FAILED, "" if self.watch.failure else self._agent_failed)
        return Said(SUCCEEDED, words="every agent ended with 0")

    def exit_codes(self) -> dict[str, int | None]:
        """Each host's agent's."""
        hosts = (host["name"] for host in self.document["hosts"])
        return {host: agent.poll() for host, agent in zip(hosts, self.children, strict=False)}


def main() -> None:
    """Entry of ``python -m launchers.local.supervisor``."""
    LocalSupervisor(JobFolder(Path(sys.argv[1]))).run()


if __name__ == "__main__":
    main()
