"""What containers are given before they start; no engine runs them here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from launchers.core.model.containers import Access, Conduct, Hardware, Sidecar
from launchers.core.model.jobs import JobDefinition
from launchers.rehearsal.engine import workplace as workplaces
from launchers.rehearsal.engine.labels import Labels
from launchers.rehearsal.engine.workplace import Workplace
from launchers.rehearsal.options import RehearsalOptions
from launchers.rehearsal.staging.stage import Stage, stage
from tests.refusals import refused
from tests.rehearsal.boxes import Boxes, Heard, box

SERVER = Sidecar("tokens", Path("/programs/tokens.py"), "/launch/token", "tokens.internal")
STORE = Sidecar("store", Path("/programs/store.py"), "/launch/objects")


def borrow(folder: Path) -> Path:
    (folder / "token").write_text("this machine's")
    return folder / "token"


BY_FILE = Access(borrow, "/launch/token", {"TOKEN": "/launch/token"}, "a file", None, b"nothing")
BY_SERVER = replace(BY_FILE, environment={"HOST": "tokens.internal"}, server=SERVER)


class Engine:
    """Has every image."""

    @property
    def api(self) -> Engine:
        return self

    def info(self) -> dict[str, Any]:
        return {}

    def inspect_image(self, image: str) -> None:
        """It is there."""


def staged(
    conduct: Conduct,
    tmp_path: Path,
    *,
    code: str = "",
    asked: bool = False,
    hardware: bool = False,
    **environment: str,
) -> Stage:
    machine = Hardware("ml.big", 96, 1152.0, 30) if hardware else None
    container = box(1, "", environment=environment, code=code, hardware=machine)
    source = tmp_path / "source"
    source.mkdir()
    workplace = Workplace(Labels.new("job"))
    workplace.make()
    options = RehearsalOptions(source=str(source), with_credentials=asked)
    try:
        definition = JobDefinition("boxes", "job", 1, "{}\n", {})
        boxes = Boxes([container], conduct)
        return stage(boxes, definition, None, options, Engine(), workplace, Heard())
    finally:
        workplace.remove()


@pytest.mark.parametrize("access", [None, BY_FILE, BY_SERVER], ids=["none", "file", "server"])
def test_credentials_reach_containers_only_on_request(
    access: Access | None, home: Path, tmp_path: Path
) -> None:
    found = staged(Conduct(access=access), tmp_path, LAUNCH_SECRETS="{}")
    (one,) = found.containers
    assert (one.mounts, found.sidecars) == ({}, ())
    assert set(one.environment) == {"LAUNCH_SECRETS"}
    assert one.names == ({"tokens.internal": "127.0.0.1"} if access is BY_SERVER else {})
    assert "its secrets cannot be read without --with-credentials" in found.deviations


def test_a_file_with_credentials_is_mounted_and_takes_the_place_of_the_documents(
    home: Path, tmp_path: Path
) -> None:
    found = staged(Conduct(access=BY_FILE), tmp_path, asked=True, TOKEN="own", LAUNCH_SECRETS="{}")
    (one,) = found.containers
    assert Path(one.mounts["/launch/token"]).name == "token"
    assert one.environment["TOKEN"] == "/launch/token"
    assert found.deviations[-1] == "a file"


def test_credentials_never_go_to_a_disk_where_no_folder_is_in_memory(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(folder: Path) -> Path:
        raise AssertionError("the credentials were read")

    monkeypatch.setattr(workplaces, "MEMORY", tmp_path / "absent")
    with refused("memory-folder", "--with-credentials: .*/absent: No such file or directory"):
        staged(Conduct(access=replace(BY_FILE, borrow=read)), tmp_path, asked=True)


def test_a_server_has_the_credentials_instead_and_the_documents_own_server_stays(
    home: Path, tmp_path: Path
) -> None:
    found = staged(Conduct(access=BY_SERVER), tmp_path, asked=True)
    (one,), (server,) = found.containers, found.sidecars
    assert (one.mounts, one.names) == ({}, {})
    assert one.environment == {"HOST": "tokens.internal"}
    assert list(server.mounts) == ["/launch/token"]
    assert (server.name, server.address, server.image) == ("tokens", "tokens.internal", one.image)
    assert server.entrypoint == ("python3", "/launch/tokens.py", "/launch/token")
    (tmp_path / "other").mkdir()
    own = staged(Conduct(access=BY_SERVER), tmp_path / "other", asked=True, HOST="own")
    assert own.containers[0].environment["HOST"] == "own"


def test_code_at_an_address_is_served_with_credentials_that_open_nothing(
    home: Path, tmp_path: Path
) -> None:
    conduct = Conduct(access=BY_FILE, store=STORE)
    found = staged(conduct, tmp_path, code="s3://bucket/code.tar.gz")
    (one,), (store,) = found.containers, found.sidecars
    assert "/launch/objects/bucket/code.tar.gz" in store.files
    assert one.files["/launch/token"] == b"nothing"
    assert one.environment["TOKEN"] == "/launch/token"
    assert "s3://bucket/code.tar.gz is served beside the containers" in found.deviations


def test_what_of_machine_network_and_folders_is_unlike_the_services_is_told(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Engine, "info", lambda self: {"NCPU": 2, "DockerRootDir": str(tmp_path)})
    found = staged(Conduct(unlike=("every port is open",)), tmp_path, hardware=True)
    cpu, disk, network = found.deviations[-3:]
    assert cpu == "2 CPU cores here for 1 host; ml.big has 96, and 1152 GiB of memory"
    assert "GB of disk are free here for 1 host; the job has 30 GB a host" in disk
    assert network == "every port is open"
    monkeypatch.setattr(Engine, "info", lambda self: {"NCPU": 2, "DockerRootDir": "/none"})
    (tmp_path / "far").mkdir()
    far = staged(Conduct(), tmp_path / "far", hardware=True)
    assert far.deviations[-1].startswith("this machine's disk serves for 1 host; ")
