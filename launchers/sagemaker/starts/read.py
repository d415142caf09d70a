"""What a request starts."""

from __future__ import annotations

from launchers.sagemaker.document import starts_agent
from launchers.sagemaker.starts import agent
from launchers.sagemaker.starts.command import start_by_command, starts_toolkit
from launchers.sagemaker.starts.start import Start
from launchers.sagemaker.starts.toolkit import start_by_toolkit


def start_of(document: object) -> Start:
    """What ``document`` starts, as far as it says. Pure."""
    if starts_agent(document):
        return agent.start(document)
    return start_by_toolkit(document) if starts_toolkit(document) else start_by_command(document)
