"""The files that SageMaker puts into a container, and the one that says why a job failed.

Source: the SageMaker developer guide, "How Amazon SageMaker provides training information" and
"How Amazon SageMaker processes training output".
"""

from __future__ import annotations

import json
import os
from typing import Any

from launch_runtime.environment import SettingError
from launch_runtime.host.cluster import DEFAULT_PORT, Cluster, Host

ROOT = "/opt/ml"
# DescribeTrainingJob's FailureReason has so many characters of the file (developer guide).
_REASON_LIMIT = 1024
_LAUNCH = "sagemaker_launch_"


class Tree:
    """The folders of one container.

    Args:
        root: ``/opt/ml``.

    Raises:
        SettingError: A file is not there, or is not what the service writes.
    """

    def __init__(self, root: str):
        self.root = root
        self.resources = self._read("resourceconfig")
        self.hyperparameters = {
            name: _decoded(value) for name, value in self._read("hyperparameters").items()
        }
        self.inputs = self._read("inputdataconfig", needed=False)
        hosts, own = self.resources.get("hosts"), self.resources.get("current_host")
        names = [str(host) for host in hosts] if isinstance(hosts, list) else []
        if str(own) not in names:
            raise SettingError(
                f"{self._config('resourceconfig')}: found hosts {hosts!r:.200} and current_host "
                f"{own!r:.60}; expected a list of names, and one of them"
            )
        self.hosts = sorted(names)
        self.own = str(own)

    @property
    def interface(self) -> str:
        """The network interface between the hosts."""
        return str(self.resources.get("network_interface_name") or "eth0")

    def path(self, *names: str) -> str:
        """A path below the root."""
        return os.path.join(self.root, *names)

    def cluster(self) -> Cluster:
        """The hosts in the service's own order, which is that of their names as texts."""
        if len(self.hosts) == 1:
            return Cluster([Host(self.own, "127.0.0.1")], 0, 0, managed=True)
        hosts = [Host(name, name) for name in self.hosts]
        return Cluster(hosts, self.hosts.index(self.own), DEFAULT_PORT, managed=True)

    def words(self) -> list[str]:
        """The script, or ``-m`` and a module, with its exact arguments.

        Raises:
            SettingError: The request names none.
        """
        script, module = (self.hyperparameters.get(_LAUNCH + name) for name in ("script", "module"))
        arguments = self.hyperparameters.get(_LAUNCH + "args", [])
        if not isinstance(arguments, list):
            raise SettingError(
                f"{_LAUNCH}args: found {arguments!r:.200}; expected a JSON list of texts"
            )
        start = ["-m", str(module)] if module else [str(script)] if script else []
        if not start:
            raise SettingError(
                f"hyperparameters: neither {_LAUNCH}script nor {_LAUNCH}module; expected one"
            )
        return [*start, *(str(argument) for argument in arguments)]

    def _config(self, name: str) -> str:
        return self.path("input", "config", f"{name}.json")

    def _read(self, name: str, needed: bool = True) -> dict[str, Any]:
        path = self._config(name)
        try:
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
        except FileNotFoundError:
            if not needed:
                return {}  # a job without channels may have none
            raise SettingError(f"{path}: not there; expected SageMaker's own file") from None
        except (OSError, ValueError) as error:
            raise SettingError(f"{path}: {error}; expected SageMaker's JSON") from None
        if not isinstance(found, dict):
            raise SettingError(f"{path}: found {found!r:.200}; expected a JSON object")
        return found


def write_failure(root: str, text: str) -> None:
    """Tells the service why the job failed; the log alone has it where that cannot be written."""
    folder = os.path.join(root, "output")
    try:
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "failure"), "w", encoding="utf-8") as file:
            file.write(text[:_REASON_LIMIT])
    except OSError:
        pass


def _decoded(value: Any) -> Any:
    """A hyperparameter as the toolkit reads it: JSON, else the text itself."""
    try:
        return json.loads(value)
    except (ValueError, TypeError):
        return value
