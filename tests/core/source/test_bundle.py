"""Which bytes a bundle has, and what is refused as a whole."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from launchers.core.model.problems import LaunchError, errors
from launchers.core.source.bundle import scan
from launchers.core.source.tree import Tree, read_tree
from tests.core.source.trees import Scanned, left_out, plant, stream, user_files, why_left_out
from tests.places import ROOT

AWS_KEY_ID = "AKIA" + "IOSFODNN7" + "EXAMPLE"

# --- layout and bytes


def test_our_runtime_lies_at_the_root_and_the_users_tree_under_src(
    scanned: Scanned, tmp_path: Path
) -> None:
    requirements = plant(tmp_path, {"wanted.txt": "numpy==1.26\n"}) / "wanted.txt"
    tree = {"train.py": "x", "pkg/a.py": "y", "setup.py": "z", "requirements.txt": "other"}
    bundle = scanned(tree, requirements=requirements)
    assert [file.name for file in bundle.files] == [
        "agent.py",
        "guard.py",
        "launch_runtime/__init__.py",
        "launch_runtime/phase.py",
        "requirements.txt",
        "src/pkg/a.py",
        "src/requirements.txt",
        "src/setup.py",
        "src/train.py",
    ]
    with tarfile.open(fileobj=io.BytesIO(stream(bundle))) as archive:
        content = archive.extractfile("requirements.txt")
        assert content is not None
        assert content.read() == b"numpy==1.26\n"
    assert bundle.problems == ()


def test_the_shared_scripts_travel_under_src_and_the_runtime_only_once(entrypoints: Path) -> None:
    plant(entrypoints, {"secret_references.py": "refs"})
    bundle = scan(entrypoints, entrypoints)
    assert [file.name for file in bundle.files] == [
        "agent.py",
        "guard.py",
        "launch_runtime/__init__.py",
        "launch_runtime/phase.py",
        "secret_references.py",
        "src/lib/data.py",
        "src/train_digits.py",
    ]


def test_the_hash_is_that_of_the_uncompressed_stream(scanned: Scanned, tmp_path: Path) -> None:
    bundle = scanned({"train.py": "x" * 5000, "empty": ""})
    data = stream(bundle)
    assert hashlib.sha256(data).hexdigest() == bundle.sha256
    bundle.write_tar_gz(tmp_path / "one.tar.gz")
    bundle.write_tar_gz(tmp_path / "another-name.tar.gz")
    packed = (tmp_path / "one.tar.gz").read_bytes()
    assert gzip.decompress(packed) == data
    assert packed == (tmp_path / "another-name.tar.gz").read_bytes()
    assert packed[4:8] == b"\0\0\0\0"  # no time
    assert not packed[3]  # no name
    assert stat.S_IMODE((tmp_path / "one.tar.gz").stat().st_mode) == 0o600


def test_the_hash_of_a_known_tree_never_changes(tmp_path: Path) -> None:
    """A job's name depends on it: a new Python or tar format must not rename every job."""
    ours = plant(tmp_path / "ours", {"agent.py": "a\n", "guard.py": "g\n"})
    long_name = "deep/" * 24 + "module.py"
    tree = {
        "train.py": "print('hi')\n",
        "größe 大.txt": "ü",
        long_name: "x",
        "run.sh": "#!/bin/sh\n",
    }
    source = plant(tmp_path / "source", tree)
    (source / "run.sh").chmod(0o700)
    (source / "latest").symlink_to("train.py")
    assert scan(source, ours).sha256 == KNOWN_HASH


KNOWN_HASH = "84bb112a8f2bddf5925ee0b62b98bf90aa0492095d3c4ccfaf42353c843717a0"


@pytest.mark.processes
def test_time_owner_umask_order_and_locale_leave_no_trace(
    tmp_path: Path, entrypoints: Path
) -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "os.umask(int(sys.argv[1], 8))\n"
        "folder = Path(sys.argv[2])\n"
        "names = ['.gitignore', 'a.py', 'b/c.py', 'b/ü.txt', 'z']\n"
        "names = names[::-1] if sys.argv[3] == 'backwards' else names\n"
        "for name in names:\n"
        "    (folder / name).parent.mkdir(parents=True, exist_ok=True)\n"
        "    (folder / name).write_text(name if name != '.gitignore' else 'z\\n')\n"
        "from launchers.core.source.bundle import scan\n"
        "bundle = scan(folder, Path(sys.argv[4]))\n"
        "bundle.write_tar_gz(Path(sys.argv[5]))\n"
        "print(bundle.sha256)\n"
    )
    variants = [
        ("022", "forwards", {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1"}),
        ("077", "backwards", {"TZ": "Pacific/Auckland", "LC_ALL": "C", "PYTHONHASHSEED": "2"}),
        ("000", "backwards", {"TZ": "America/St_Johns", "LC_ALL": "POSIX", "PYTHONUTF8": "1"}),
    ]
    hashes, archives = set(), set()
    for number, (umask, order, environment) in enumerate(variants):
        folder, archive = tmp_path / f"tree{number}", tmp_path / f"{number}.tar.gz"
        command = [sys.executable, "-c", script, umask, str(folder), order]
        done = subprocess.run(
            [*command, str(entrypoints), str(archive)],
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        os.utime(folder / "a.py", (1, 1))
        hashes.add(done.stdout)
        archives.add(archive.read_bytes())
    assert len(hashes) == 1
    assert len(archives) == 1


def test_only_the_owners_executable_bit_makes_a_mode(scanned: Scanned, tmp_path: Path) -> None:
    plant(tmp_path / "source", {"a": "a", "b": "b", "c": "c"})
    for name, mode in {"a": 0o600, "b": 0o711, "c": 0o666}.items():
        (tmp_path / "source" / name).chmod(mode)
    with tarfile.open(fileobj=io.BytesIO(stream(scanned({})))) as archive:
        members = {member.name: member for member in archive.getmembers()}
    assert [members[f"src/{name}"].mode for name in "abc"] == [0o644, 0o755, 0o644]
    assert {(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in members.values()} == {
        (0, 0, "", "", 0)
    }


NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="/\0", exclude_categories=["Cs"]),
    min_size=1,
    max_size=60,
).filter(
    lambda name: name not in (".", "..", "pyvenv.cfg", "conda-meta") and len(name.encode()) < 200
)
TREES = st.dictionaries(
    st.lists(NAMES, min_size=1, max_size=4).map("/".join), st.binary(max_size=2000), max_size=8
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(tree=TREES)
def test_any_tree_survives_the_archive_byte_for_byte(
    tree: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory, entrypoints: Path
) -> None:
    # A path that is another's folder cannot be a file as well.
    tree = {p: c for p, c in tree.items() if not any(q.startswith(p + "/") for q in tree)}
    one = plant(tmp_path_factory.mktemp("one"), tree)
    other = plant(tmp_path_factory.mktemp("two"), dict(reversed(tree.items())))
    bundle = scan(one, entrypoints)
    assert bundle.sha256 == scan(other, entrypoints).sha256
    travelled = set(user_files(bundle))
    behind = left_out(bundle)
    for path in tree:
        assert (path in travelled) != bool(why_left_out(bundle, path)), (path, behind)
    if errors(bundle.problems):  # bytes that happen to look like a credential
        return
    with tarfile.open(fileobj=io.BytesIO(stream(bundle))) as archive:
        names = archive.getnames()
        assert names == sorted(names, key=lambda name: name.encode())
        for path in travelled:
            member = archive.extractfile(f"src/{path}")
            assert member is not None
            assert member.read() == tree[path]


def test_gnu_tar_and_the_strict_filter_of_python_extract_it(
    scanned: Scanned, tmp_path: Path
) -> None:
    tree = {"train.py": "x", "größe 大/" + "n" * 180: "y", "d" * 90 + "/" + "e" * 90 + "/f": "z"}
    plant(tmp_path / "source", tree)
    (tmp_path / "source" / "link").symlink_to("train.py")
    bundle = scanned({})
    archive = tmp_path / "bundle.tar.gz"
    bundle.write_tar_gz(archive)
    by_tar, by_python = tmp_path / "by_tar", tmp_path / "by_python"
    by_tar.mkdir()
    subprocess.run(["tar", "-xzf", str(archive), "-C", str(by_tar)], check=True)
    with tarfile.open(archive) as opened:
        # Debian 12's Python 3.11.2 has no filters yet.
        safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        opened.extractall(by_python, **safe)
    for folder in (by_tar, by_python):
        for path, content in tree.items():
            assert (folder / "src" / path).read_text() == content
        assert os.readlink(folder / "src" / "link") == "train.py"
        assert (folder / "guard.py").read_text() == "guard"


def test_a_scan_writes_nothing(tmp_path: Path, entrypoints: Path) -> None:
    source = plant(tmp_path / "source", {"a/b.py": "x", ".gitignore": "*.h5\n"})

    def state() -> list[tuple[str, int]]:
        return [(str(path), path.lstat().st_mtime_ns) for path in sorted(tmp_path.rglob("*"))]

    before = state()
    scan(source, entrypoints)
    assert state() == before


# --- credentials


def test_a_credential_in_source_is_an_error_with_file_and_line_and_without_its_value(
    scanned: Scanned,
) -> None:
    tree = {
        "pkg/config.py": f'\n\nKEY = "{AWS_KEY_ID}"\n',
        "settings.yaml": "db:\n  password: hunter2\n",
        ".mlflow/credentials": "[mlflow]\nmlflow_tracking_password = hunter2\n",
        "deploy/env": "DB_PASSWORD=hunter2\n",
        "bin/env": "#!/usr/bin/env python3\npassword = input()\n",
        "fine.py": 'password = os.environ["DB_PASSWORD"]\n',
        "weights.bin": b"\0" + AWS_KEY_ID.encode(),
    }
    bundle = scanned(tree)
    assert [problem.path for problem in errors(bundle.problems)] == [
        ".mlflow/credentials:2",
        "deploy/env:1",
        "pkg/config.py:3",
        "settings.yaml:2",
        "weights.bin at byte 1",
    ]
    text = "\n".join(map(str, bundle.problems))
    assert AWS_KEY_ID not in text
    assert "hunter2" not in text
    assert "--secret" in text
    assert ".launchignore" in text
    with pytest.raises(LaunchError):
        bundle.write_tar(io.BytesIO())


def test_a_file_with_a_credential_passes_when_it_is_ignored_or_allowed_by_name(
    scanned: Scanned,
) -> None:
    tree = {"pkg/config.py": f'KEY = "{AWS_KEY_ID}"\n', "train.py": ""}
    allowed = scanned(tree, allowed=["./pkg/config.py"])
    assert allowed.problems == ()
    assert allowed.allowed == ("pkg/config.py",)
    assert "pkg/config.py" in user_files(allowed)
    ignored = scanned({".launchignore": "config.py\n"})
    assert ignored.problems == ()
    assert ignored.allowed == ()
    assert "pkg/config.py" not in user_files(ignored)


def test_a_credential_in_the_requirements_is_found_too(scanned: Scanned, tmp_path: Path) -> None:
    line = "--extra-index-url https://me:" + "s3same@packages.internal/simple\n"
    requirements = plant(tmp_path, {"r.txt": "numpy\n" + line}) / "r.txt"
    bundle = scanned({"train.py": ""}, requirements=requirements)
    assert [problem.path for problem in bundle.problems] == ["requirements.txt:2"]


# --- refusals


def test_a_source_that_is_no_folder_of_its_own_is_refused(
    tmp_path: Path, entrypoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = plant(tmp_path / "homes" / "me", {"train.py": "x", "project/train.py": "x"})
    monkeypatch.setenv("HOME", str(home))
    (tmp_path / "link").symlink_to(home)
    refused = {
        home: "home folder",
        tmp_path / "link": "home folder",
        home.parent: "holds the home folder",
        Path("/"): "",
        tmp_path / "missing": "does not exist",
        home / "train.py": "not a folder",
        plant(tmp_path / "env", {"pyvenv.cfg": ""}): "virtual environment",
    }
    for source, found in refused.items():
        bundle = scan(source, entrypoints)
        (problem,) = bundle.problems
        assert problem.severity == "error"
        assert found in problem.found
        assert problem.fix
        assert bundle.sha256 == ""
        assert bundle.files == ()
    assert scan(home / "project", entrypoints).problems == ()


def test_above_500_megabytes_it_is_refused_unread_with_the_largest_files(
    scanned: Scanned, tmp_path: Path
) -> None:
    source = plant(tmp_path / "source", {"train.py": "x", "data/a.bin": "", "b.bin": ""})
    os.truncate(source / "data" / "a.bin", 490_000_000)  # sparse: takes no disk
    os.truncate(source / "b.bin", 10_000_001)
    bundle = scanned({})
    (problem,) = bundle.problems
    assert problem.rule == "source-size"
    assert "500 MB" in problem.found
    assert "data/a.bin 490.0 MB, b.bin 10.0 MB" in problem.found
    assert ".launchignore" in problem.fix
    assert bundle.sha256 == ""
    assert scanned({".launchignore": "data/\n"}).sha256


def test_an_installation_without_guard_is_a_problem(tmp_path: Path, entrypoints: Path) -> None:
    (entrypoints / "guard.py").unlink()
    bundle = scan(plant(tmp_path / "source", {"train.py": ""}), entrypoints)
    (problem,) = bundle.problems
    assert problem.rule == "source-runtime"
    assert problem.path.endswith("guard.py")


# --- a source that changes


CHANGES: dict[str, Callable[[Path], object]] = {
    "longer": lambda path: path.write_text("xxxx"),
    "shorter": lambda path: path.write_text(""),
    "same size": lambda path: path.write_text("yyy"),
    "gone": lambda path: path.unlink(),
    "a link": lambda path: subprocess.run(["ln", "-sf", "/etc/hostname", path], check=True),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_changed_since_the_scan_stops_the_archive_and_leaves_nothing(
    scanned: Scanned, tmp_path: Path, change: Callable[[Path], object]
) -> None:
    bundle = scanned({"train.py": "xxx"})
    change(tmp_path / "source" / "train.py")
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(LaunchError, match="changed while it was being read"):
        bundle.write_tar_gz(out / "bundle.tar.gz")
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("change", ["longer", "shorter", "gone", "a link"])
def test_a_file_that_changes_during_the_scan_is_noticed(
    scanned: Scanned,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: str,
) -> None:
    def read_then_change(root: Path, without: frozenset[str]) -> Tree:
        tree = read_tree(root, without)
        CHANGES[change](tmp_path / "source" / "train.py")
        return tree

    monkeypatch.setattr("launchers.core.source.bundle.read_tree", read_then_change)
    with pytest.raises(LaunchError, match="changed while it was being read"):
        scanned({"train.py": "xxx"})


def test_an_archive_that_cannot_be_put_in_place_leaves_nothing(
    scanned: Scanned, tmp_path: Path
) -> None:
    bundle = scanned({"train.py": "xxx"})
    target = tmp_path / "out" / "bundle.tar.gz"
    plant(target, {"in-the-way": ""})
    with pytest.raises(OSError, match=r"bundle\.tar\.gz"):
        bundle.write_tar_gz(target)
    assert [path.name for path in target.parent.iterdir()] == ["bundle.tar.gz"]


# --- questions of the plan


def test_the_summary_has_a_line_a_reason_and_no_noise(scanned: Scanned) -> None:
    tree = dict.fromkeys([f"{number}.h5" for number in range(6)], "x")
    bundle = scanned({**tree, ".gitignore": "*.h5\n", ".env": "", "a.pyc": "", ".git/HEAD": ""})
    assert bundle.left_out_summary() == [
        "an environment file, which holds credentials: .env",
        "by .gitignore: 0.h5, 1.h5, 2.h5 and 3 more",
    ]


def test_a_large_source_tells_how_much_of_it_is_read_and_compressed(tmp_path: Path):
    heard: list[tuple[int, int]] = []
    entrypoints = plant(tmp_path / "entry", {"agent.py": "", "guard.py": ""})
    source = plant(tmp_path / "source", {"train.py": ""})
    with (source / "data.bin").open("wb") as file:
        file.truncate(50_000_000)
    bundle = scan(source, entrypoints, told=lambda done, total: heard.append((done, total)))
    assert len(heard) == 4
    assert heard == sorted(heard)
    assert heard[-1] == (bundle.size, bundle.size)
    assert all(done < total == bundle.size for done, total in heard[:-1])
    read = [*heard]
    heard.clear()
    bundle.write_tar_gz(tmp_path / "a.tar.gz", lambda done, total: heard.append((done, total)))
    assert heard == read
    heard.clear()
    (source / "data.bin").unlink()
    small = scan(source, entrypoints, told=lambda done, total: heard.append((done, total)))
    small.write_tar_gz(tmp_path / "b.tar.gz", lambda done, total: heard.append((done, total)))
    assert heard == []
