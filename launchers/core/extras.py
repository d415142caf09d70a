"""The extras of our own distribution: what brings the SDK of a provider's service."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from launchers import DISTRIBUTION
from launchers.core.catalogue import RULES
from launchers.core.model.problems import EXIT_SDK, LaunchError


@dataclass(frozen=True)
class Extra:
    """One extra.

    Attributes:
        name: As in pyproject.toml.
        modules: What is imported of each of its packages.
    """

    name: str
    modules: Mapping[str, str]

    @property
    def install_line(self) -> str:
        """The command that installs it beside this launcher."""
        return shlex.join([*installer(), f"{DISTRIBUTION}[{self.name}]"])

    def require(self) -> None:
        """Call it before a module of it is imported.

        Raises:
            LaunchError: With exit code 3, a package of it is not installed.
        """
        missing = [name for name, module in self.modules.items() if not _is_there(module)]
        if missing:
            expected = f"{' and '.join(self.modules)}, the SDK that asks the service"
            problem = RULES["sdk-version"].at(
                missing[0], "not installed", expected, self.install_line
            )
            raise LaunchError(problem, EXIT_SDK)


def installer() -> list[str]:
    """The words that install into this environment: those that uv makes have no pip."""
    if _is_there("pip"):
        return [sys.executable, "-m", "pip", "install"]
    return ["uv", "pip", "install", "--python", sys.executable]


def _is_there(module: str) -> bool:
    """Whether it could be imported; the packages around it are, which are namespaces here."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
