"""Keys: what looks for them in an image, and what makes a container's own."""

from __future__ import annotations

import ast
import importlib.util
import json
import stat
from pathlib import Path
from types import ModuleType

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from launchers.core.paths import images_folder
from launchers.image import probe

START = images_folder() / "start"
# Made on the spot, and of no use to anybody.
KEY = "-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n-----END PRIVATE KEY-----\n"


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def scanned(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    program = probe.private_keys_program().replace('os.walk("/")', f"os.walk({str(folder)!r})")
    ast.parse(program, feature_version=(3, 6))
    exec(compile(program, "program", "exec"), {"__name__": "__main__"})
    return capsys.readouterr().out.strip()


def test_whole_private_keys_are_found_in_files_and_in_no_library(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scanned(tmp_path, capsys) == "ANSWER private-keys none"
    (tmp_path / "names.py").write_text('HEADER = "-----BEGIN PRIVATE KEY-----"\n')
    (tmp_path / "lib.so").write_bytes(b"\x7fELF" + KEY.encode())
    (tmp_path / "large").write_text(KEY + "x" * 10**6)
    (tmp_path / "link").symlink_to("key.pem")
    assert scanned(tmp_path, capsys) == "ANSWER private-keys none"

    (tmp_path / "key.pem").write_text(KEY)
    assert scanned(tmp_path, capsys) == f"LACKS private-keys {tmp_path}/key.pem"
    for number in range(7):
        (tmp_path / f"{number}.pem").write_text(KEY)
    assert scanned(tmp_path, capsys).endswith("and 3 more")


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program of a container's start, in a folder of the test's own."""
    module = loaded(START / "ssh_keys.py")
    monkeypatch.setattr(module, "FOLDER", str(tmp_path / ".ssh"))
    monkeypatch.setattr(module, "HYPERPARAMETERS", str(tmp_path / "hyperparameters.json"))
    for name in module.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return module


def test_hosts_of_one_job_derive_the_same_pair_and_other_jobs_another(
    keys: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = []
    for nonce, arn, values in (
        ("n" * 32, "arn:1", {"a": "1", "b": "2"}),
        ("m" * 32, "arn:1", {"a": "1", "b": "2"}),
        ("n" * 32, "arn:2", {"a": "1", "b": "2"}),
        ("n" * 32, "arn:1", {"a": "1", "b": "3"}),
    ):
        monkeypatch.setenv("LAUNCH_NONCE", nonce)
        monkeypatch.setenv("TRAINING_JOB_ARN", arn)
        (tmp_path / "hyperparameters.json").write_text(json.dumps(values))
        seeds.append(keys.seed())
        backwards = dict(reversed(values.items()))
        (tmp_path / "hyperparameters.json").write_text(json.dumps(backwards))
        assert keys.seed() == seeds[-1], "their order is no part of it"

    assert len(set(seeds)) == 4


def test_a_container_of_no_job_has_a_pair_of_its_own(keys: ModuleType) -> None:
    assert keys.seed() != keys.seed()


def test_the_pair_is_its_owners_alone_and_lets_its_owner_in(
    keys: ModuleType, tmp_path: Path
) -> None:
    keys.root_pair(Ed25519PrivateKey.from_private_bytes(b"1" * 32))

    folder = tmp_path / ".ssh"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {"id_ed25519": 0o600, "id_ed25519.pub": 0o600, "authorized_keys": 0o600}
    public = (folder / "id_ed25519.pub").read_text()
    assert public == (folder / "authorized_keys").read_text()
    assert public.startswith("ssh-ed25519 ")
    assert public.endswith(" launch\n")
    assert "OPENSSH PRIVATE KEY" in (folder / "id_ed25519").read_text()
