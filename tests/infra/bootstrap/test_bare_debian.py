"""The built wheel on a bare Debian, in a container: the base system, its python3-venv, and no more.

As docs/install.md says; the package index, its certificates and proxies are this machine's.
"""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from infra.bootstrap import locks
from launchers.image.host_settings import HostSettings, host_settings
from tests.infra.bootstrap.wheels import built_wheel
from tests.places import ROOT
from tests.rehearsal.boxes import BASE

pytestmark = [pytest.mark.docker, pytest.mark.pip_network]

TRAIN = b"import horovod.tensorflow.keras as hvd\n\nhvd.init()\n"
INSTALL = """
set -e
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq && apt-get install -qq --yes --no-install-recommends python3-venv >/dev/null
python3 -m venv /opt/launch
/opt/launch/bin/pip install --quiet --require-hashes --no-deps -r /host/launcher.lock
/opt/launch/bin/pip install --quiet --no-deps --no-index /host/*.whl
"""


class Debian:
    """A container in which the lines of a test run, one after the other."""

    def __init__(self, container: Any):
        self._container = container

    def __call__(self, line: str) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of a shell's line."""
        words = ["/bin/sh", "-c", f"PATH=/opt/launch/bin:$PATH; cd /project; {line}"]
        ended = self._container.exec_run(words, demux=True)
        out, err = (part.decode() if part else "" for part in ended.output)
        return ended.exit_code, out, err


def _copied(container: Any, files: dict[str, bytes]) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    container.put_archive("/", stream.getvalue())


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from launchers.docker.engine import engine

    wheel: Path = built_wheel(tmp_path_factory.mktemp("wheel"))
    settings: HostSettings = host_settings()
    client = engine()
    container = client.containers.run(
        BASE,
        ["sleep", "600"],
        detach=True,
        network_mode=settings.network or "bridge",
        environment={**settings.proxies, "PIP_CONFIG_FILE": "/host/pip.conf"},
        init=True,
    )
    try:
        files = {
            "host/pip.conf": settings.pip_conf.encode(),
            "host/ca.pem": settings.ca_bundle,
            "host/launcher.lock": locks.file_of(ROOT, locks.LAUNCHER).read_bytes(),
            f"host/{wheel.name}": wheel.read_bytes(),
            "project/train.py": TRAIN,
        }
        _copied(container, files)
        made = Debian(container)
        code, out, err = made(INSTALL)
        assert code == 0, out + err
        yield made
    finally:
        container.remove(force=True, v=True)
        client.close()


def test_a_request_is_printed_and_checked(debian: Debian) -> None:
    code, out, err = debian("launch sagemaker train.py --instances 2 --gpus 4 --dry-run >job.json")
    assert (code, out) == (0, ""), err

    code, out, err = debian("launch check job.json --world-size 8 --json")
    assert code == 0, err
    assert json.loads(out)["world_size"] == 8


def test_what_the_system_lacks_is_said_with_its_fix(debian: Debian) -> None:
    code, _, err = debian("launch local train.py --instances 2")
    assert code == 2
    assert "Horovod" in err
    assert "Traceback" not in err

    code, out, err = debian("launch doctor local docker --json")
    assert code != 0
    wrong = {
        one["name"]: one["fix"] for one in json.loads(out)["findings"] if one["state"] == "error"
    }
    assert wrong
    assert all(wrong.values())


def test_both_commands_are_there(debian: Debian) -> None:
    assert debian("launch --version") == debian("launch-training --version")
    assert debian("launch machines --gpus 4")[0] == 0
