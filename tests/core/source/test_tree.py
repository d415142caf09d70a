"""Which files of a tree travel: keys, links, pipes, names."""

from __future__ import annotations

import io
import json
import os
import socket
import stat
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from launchers.core.model.problems import errors
from launchers.core.source.bundle import scan
from tests.core.source.trees import Scanned, left_out, plant, stream, user_files, why_left_out

PRIVATE_KEY = "-----BEGIN PRIVATE" + " KEY-----\n" + "MIIEvQIBADANBgkq" * 4 + "\n"
CERTIFICATE = "-----BEGIN CERTIFICATE-----\n" + "MIIEvQIBADANBgkq" * 4 + "\n"
SERVICE_ACCOUNT = json.dumps({"type": "service" + "_account", "project_id": "p"})

NEVER = [
    ".git/config",
    "sub/.git",
    ".hg/x",
    "__pycache__/a.cpython-311.pyc",
    "a.pyc",
    ".venv/pyvenv.cfg",
    "my-env/pyvenv.cfg",
    "conda/conda-meta/history",
    ".env",
    ".env.production",
    "config/.ENV",
    ".envrc",
    "deploy.key",
    "id_rsa",
    "id_rsa.pub",
    "id_ed25519",
    "cert.p12",
    ".aws/credentials",
    ".ssh/config",
    ".netrc",
    ".pypirc",
    ".git-credentials",
    "kaggle.json",
    "keys/credentials.json",
    ".DS_Store",
    ".ipynb_checkpoints/a.ipynb",
]
TRAVELS = [
    ".env.example",
    ".env.template",
    ".github/x.yml",
    ".gitignore",
    "environment.yml",
    "key.py",
]


def test_keys_environments_and_caches_stay_behind_whatever_their_folder(
    scanned: Scanned,
) -> None:
    bundle = scanned(dict.fromkeys([*NEVER, *TRAVELS], ""))
    assert set(user_files(bundle)) == set(TRAVELS)
    for path in NEVER:
        assert why_left_out(bundle, path), path
    assert errors(bundle.problems) == []


def test_key_files_are_known_by_their_content(scanned: Scanned) -> None:
    bundle = scanned(
        {
            "team-1234.json": SERVICE_ACCOUNT,
            "model.json": '{"type": "service"}',
            "server.pem": PRIVATE_KEY,
            "both.pem": CERTIFICATE + PRIVATE_KEY,
            "ca.pem": CERTIFICATE,
        }
    )
    assert user_files(bundle) == ["ca.pem", "model.json"]
    assert set(left_out(bundle)) == {"team-1234.json", "server.pem", "both.pem"}


def test_links_inside_the_tree_stay_links(tmp_path: Path, entrypoints: Path) -> None:
    source = plant(tmp_path / "source", {"pkg/real.py": "x", "pkg/deep/b.py": "y"})
    (source / "relative.py").symlink_to("pkg/real.py")
    (source / "absolute.py").symlink_to(source / "pkg" / "real.py")
    (source / "chain.py").symlink_to("relative.py")
    (source / "folder").symlink_to("pkg/deep")
    (source / "pkg" / "up").symlink_to("..")
    bundle = scan(source, entrypoints)
    links = {file.name: file.link for file in bundle.files if file.link}
    assert links == {
        "src/absolute.py": "pkg/real.py",
        "src/chain.py": "pkg/real.py",
        "src/folder": "pkg/deep",
        "src/relative.py": "pkg/real.py",
    }
    assert left_out(bundle) == {"pkg/up": "a link to what is not sent"}
    assert bundle.problems == ()


def test_links_that_lead_out_are_left_out_with_a_warning(tmp_path: Path, entrypoints: Path) -> None:
    plant(tmp_path / "shared", {"utils.py": "x"})
    source = plant(tmp_path / "source", {"train.py": "x"})
    (source / "utils.py").symlink_to("../shared/utils.py")
    (source / "everything").symlink_to("/")
    bundle = scan(source, entrypoints)
    assert user_files(bundle) == ["train.py"]
    assert [(p.path, p.severity, p.rule) for p in bundle.problems] == [
        ("everything", "warning", "source-link"),
        ("utils.py", "warning", "source-link"),
    ]


def test_links_that_lead_nowhere_round_or_to_what_stays_are_left_out(
    tmp_path: Path, entrypoints: Path
) -> None:
    source = plant(tmp_path / "source", {"train.py": "x", ".env": "x", "old/a.h5": "x"})
    plant(source, {".gitignore": "*.h5\n"})
    (source / "broken").symlink_to("missing")
    (source / "loop1").symlink_to("loop2")
    (source / "loop2").symlink_to("loop1")
    (source / "self").symlink_to("self")
    (source / "environment").symlink_to(".env")
    (source / "best").symlink_to("old/a.h5")
    bundle = scan(source, entrypoints)
    assert user_files(bundle) == [".gitignore", "train.py"]
    assert set(left_out(bundle)) == {
        *(".env", "old/a.h5", "broken", "loop1", "loop2", "self", "environment", "best")
    }
    assert bundle.problems == ()


def test_a_source_named_through_a_link_is_the_folder_itself(
    tmp_path: Path, entrypoints: Path
) -> None:
    source = plant(tmp_path / "source", {"train.py": "x", "a.py": "x"})
    (source / "b.py").symlink_to("a.py")
    (tmp_path / "link").symlink_to(source)
    assert scan(tmp_path / "link", entrypoints).sha256 == scan(source, entrypoints).sha256


def test_pipes_and_sockets_are_left_out(tmp_path: Path, entrypoints: Path) -> None:
    source = plant(tmp_path / "source", {"train.py": "x"})
    os.mkfifo(source / "pipe")
    here = os.getcwd()
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(source)  # a socket's path is short
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)
    bundle = scan(source, entrypoints)
    assert user_files(bundle) == ["train.py"]
    assert left_out(bundle) == dict.fromkeys(["pipe", "socket"], "neither a file nor a folder")


def test_a_name_that_is_not_utf8_is_a_problem(tmp_path: Path, entrypoints: Path) -> None:
    source = plant(tmp_path / "source", {"train.py": "x"})
    (source / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    (problem,) = scan(source, entrypoints).problems
    assert problem.rule == "source-name"
    str(problem).encode()


def test_what_cannot_be_read_is_a_problem_each(tmp_path: Path, entrypoints: Path) -> None:
    source = plant(tmp_path / "source", {"train.py": "x", "secret.txt": "x", "closed/a.py": "x"})
    (source / "secret.txt").chmod(0)
    (source / "closed").chmod(0)
    try:
        with _as_an_ordinary_user(tmp_path):
            bundle = scan(source, entrypoints)
    finally:
        (source / "closed").chmod(0o700)
    assert [(problem.path, problem.rule) for problem in errors(bundle.problems)] == [
        ("closed", "source-unreadable"),
        ("secret.txt", "source-unreadable"),
    ]
    assert user_files(bundle) == ["train.py"]


@contextmanager
def _as_an_ordinary_user(folder: Path) -> Iterator[None]:
    """Root may read everything: where the tests run as root, go on as nobody for a while."""
    if os.getuid() != 0:
        yield
        return
    closed = [
        (path, path.stat().st_mode)
        for path in (folder, *folder.parents)
        if not path.stat().st_mode & stat.S_IXOTH
    ]
    for path, mode in closed:
        path.chmod(mode | 0o055)
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
        for path, mode in closed:
            path.chmod(mode)


def test_a_deep_tree_travels(tmp_path: Path, entrypoints: Path) -> None:
    source = tmp_path / "source"
    folder = source
    for _ in range(400):
        folder.mkdir()
        folder /= "d"
    folder.mkdir()
    (folder / "a.py").write_text("x")
    path = str((folder / "a.py").relative_to(source))
    bundle = scan(source, entrypoints)
    assert user_files(bundle) == [path]
    with tarfile.open(fileobj=io.BytesIO(stream(bundle))) as archive:
        assert f"src/{path}" in archive.getnames()
