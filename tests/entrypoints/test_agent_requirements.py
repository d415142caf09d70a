"""The bundle's requirements.txt on a cloud's replicas: once a host, before any rank."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from launch_runtime.host.requirements import why

from tests.entrypoints.simulated import HVD, SimulatedJob
from tests.entrypoints.test_older_pythons import find_python
from tests.places import ENTRYPOINTS
from tests.waiting import processes_with, until

MakeJob = Callable[..., SimulatedJob]

SCRIPT = HVD + "import made_up\nhvd.init()\nprint('has', made_up.__file__)\n"


def wheel(folder: Path, name: str = "made-up", *needs: str, body: str = "") -> Path:
    """A package without code to build: a module of its name."""
    module = name.replace("-", "_")
    folder.mkdir(exist_ok=True)
    path = folder / f"{module}-1.0-py3-none-any.whl"
    told = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    told += "".join(f"Requires-Dist: {need}\n" for need in needs)
    with zipfile.ZipFile(path, "w") as packed:
        info = f"{module}-1.0.dist-info"
        packed.writestr(f"{module}.py", body)
        packed.writestr(f"{info}/METADATA", told)
        packed.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        packed.writestr(f"{info}/RECORD", "")
    return path


class Replicas:
    """Two replicas of a custom job on this machine, with an unpacked bundle of their own."""

    def __init__(self, job: SimulatedJob):
        self.job = job
        job.entrypoints = job.folder / "bundle"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ENTRYPOINTS, job.entrypoints, ignore=ignored)
        self.temporary = job.folder / "tmp"
        self.temporary.mkdir()

    def require(self, *lines: str) -> None:
        (self.job.entrypoints / "requirements.txt").write_text("\n".join(lines) + "\n")

    def start(self, *indices: int, **environment: str) -> None:
        own = [f"127.0.0.1:{self.job.port}"]
        for index in indices:
            spec = {
                "cluster": {"workerpool0": own, "workerpool1": own},
                "task": {"type": f"workerpool{index}", "index": 0},
            }
            self.job.start(
                index,
                LAUNCH_CLUSTER="",
                CLUSTER_SPEC=json.dumps(spec),
                TMPDIR=str(self.temporary),
                **environment,
            )


@pytest.fixture
def replicas(make_job: MakeJob) -> Callable[..., Replicas]:
    def make(**how: Any) -> Replicas:
        two = Replicas(make_job(**{"hosts": 2, **how}))
        two.job.script(SCRIPT)
        return two

    return make


@pytest.mark.parametrize("version", ["", "3.8"])
def test_packages_are_installed_once_a_host_for_its_ranks_alone(
    version: str, replicas: Callable[..., Replicas], tmp_path: Path
) -> None:
    two = replicas(processes=2)
    two.job.python = find_python(version) if version else sys.executable
    wheel(tmp_path / "wheels")
    two.require("# ours", "--no-index", f"--find-links {tmp_path / 'wheels'}", "made-up >= 1.0")
    two.start(0, 1)
    assert two.job.wait() == [0, 0], two.job.text()
    assert len(two.job.said(r"/agent\] launch: requirements.txt: installing for the ranks")) == 2
    assert len(two.job.said(r"/agent\] launch: requirements.txt: installed made-up 1.0 in ")) == 2
    places = {line.partition("has ")[2] for line in two.job.said(r"/\d\] has ")}
    assert len(places) == 2, "a folder a host"
    assert all(place.startswith(str(two.temporary)) for place in places)
    assert not list(two.temporary.iterdir()), "gone with the job"
    proof = "[workerpool0-0/0] launch: proof: world size 4: 2 hosts x 2 ranks, Gloo"
    assert two.job.said("proof") == [proof, f"{proof}; no training seen"]


def test_what_the_image_has_is_not_installed_a_second_time(
    replicas: Callable[..., Replicas], tmp_path: Path
) -> None:
    two = replicas()
    wheel(tmp_path / "wheels", "made-up", "pip")  # an index without pip, which is installed
    two.require("--no-index", f"--find-links {tmp_path / 'wheels'}", "made-up")
    two.start(0, 1)
    assert two.job.wait() == [0, 0], two.job.text()
    assert len(two.job.said("installed made-up 1.0 in ")) == 2


def test_a_file_that_names_nothing_new_installs_nothing(replicas: Callable[..., Replicas]) -> None:
    two = replicas()
    two.job.script(HVD + "hvd.init()")
    two.require("pip")
    two.start(0, 1)
    assert two.job.wait() == [0, 0], two.job.text()
    assert len(two.job.said("the image has it all")) == 2


def test_a_package_by_its_path_is_installed(
    replicas: Callable[..., Replicas], tmp_path: Path
) -> None:
    two = replicas()
    two.require("--no-index", f"made-up @ {wheel(tmp_path / 'wheels').as_uri()}")
    two.start(0, 1)
    assert two.job.wait() == [0, 0], two.job.text()


# requirements; words of the reason
FAILURES = {
    "no such package": (["--no-index", "nosuch==9.9"], "nosuch==9.9: No matching distribution"),
    "a package of two": (
        ["--no-index", "--find-links {wheels}", "made-up", "other-one"], "other-one: No matching",
    ),
    "a dependency": (["--no-index", "--find-links {wheels}", "needy"], "not-there: No matching"),
    "no requirement": (["made up"], "'made up'"),
    "no way to the index": (
        ["--index-url http://127.0.0.1:9/simple", "made-up"],
        "made-up: No matching distribution found for made-up; this replica cannot reach",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILURES)
def test_a_package_that_cannot_be_had_ends_the_job_before_any_rank(
    case: str, replicas: Callable[..., Replicas], tmp_path: Path
) -> None:
    required, words = FAILURES[case]
    two = replicas()
    wheel(tmp_path / "wheels")
    wheel(tmp_path / "wheels", "needy", "not-there")
    two.job.script("print('the script ran')")
    two.require(*(line.format(wheels=tmp_path / "wheels") for line in required))
    # A first host that fails does not wait for one that has not come yet.
    two.start(1, PIP_RETRIES="1")
    two.job.until_said("requirements.txt: installing")
    two.start(0, PIP_RETRIES="1")
    # Not one of the codes that the service takes for transient.
    assert two.job.wait() == [1, 1], two.job.text()
    failure = two.job.failure()
    assert (failure["rank"], failure["phase"]) == (None, "starting")
    assert failure["reason"].startswith("requirements.txt cannot be installed: ")
    assert words in failure["reason"]
    assert not two.job.said("the script ran")
    assert not list(two.temporary.iterdir())


def test_a_failure_waits_for_the_first_host_to_hear_of_it(
    replicas: Callable[..., Replicas],
) -> None:
    two = replicas()
    two.require("--no-index", "nosuch")
    two.start(1)
    two.job.until_said("pip: ERROR: No matching distribution")
    (two.job.entrypoints / "requirements.txt").write_text("pip\n")
    two.start(0)
    assert two.job.wait() == [1, 1], two.job.text()
    assert two.job.failure()["host"] == "workerpool1-0"
    assert "nosuch" in two.job.failure()["reason"]


def test_an_image_without_pip_says_so(replicas: Callable[..., Replicas]) -> None:
    two = replicas()
    two.require("pip")
    two.start(1, PYTHONPATH=str(blind(two.job.folder)))
    two.start(0)
    assert two.job.wait() == [1, 1], two.job.text()
    assert two.job.failure()["host"] == "workerpool1-0"
    assert two.job.failure()["reason"].endswith("this image's Python has no pip")


def blind(folder: Path) -> Path:
    """A folder in whose presence no installed package is found."""
    place = folder / "blind"
    place.mkdir()
    text = "import importlib.metadata as m\nm.MetadataPathFinder.find_distributions = "
    text += "classmethod(lambda *_, **__: iter(()))\n"
    (place / "sitecustomize.py").write_text(text)
    return place


class Index:
    """A package index that answers when it is told to."""

    def __init__(self, folder: Path):
        self.open = threading.Event()
        opened = self.open

        class Handler(SimpleHTTPRequestHandler):
            def do_GET(self) -> None:
                opened.wait()
                super().do_GET()

            def log_message(self, *_: object) -> None:
                pass

        def handler(*words: Any) -> Handler:
            return Handler(*words, directory=str(folder))

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.lines = ("--no-index", f"--find-links http://127.0.0.1:{self.server.server_port}/")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    wheel(tmp_path / "wheels")
    made = Index(tmp_path / "wheels")
    yield made
    made.open.set()
    made.server.shutdown()
    made.server.server_close()


def test_hosts_that_install_are_no_hosts_that_never_came(
    index: Index, replicas: Callable[..., Replicas]
) -> None:
    two = replicas(LAUNCH_JOIN_TIMEOUT="1", LAUNCH_REMINDER_SECONDS="0.4")
    two.require(*index.lines, "made-up")
    two.start(0, 1)
    # Five reminders take longer than the time that a missing host is given.
    who = "workerpool0-0 and workerpool1-0"
    two.job.until_said(f"waiting for {who} to install packages", count=10)
    assert not two.job.said(r"/\d\]"), "no rank yet"
    index.open.set()
    assert two.job.wait() == [0, 0], two.job.text()


def test_a_stop_ends_pip_too(index: Index, replicas: Callable[..., Replicas]) -> None:
    two = replicas(LAUNCH_REMINDER_SECONDS="0.4")
    two.require(*index.lines, "made-up")
    two.start(0, 1)
    two.job.until_said("to install packages")
    two.job.agents[0].terminate()
    assert two.job.wait() == [143, 143], two.job.text()
    until(lambda: not processes_with(f"LAUNCH_JOB={two.job.name}"), "the end of pip")
    assert not list(two.temporary.iterdir())


def test_a_local_job_leaves_the_file_to_its_launcher(make_job: MakeJob) -> None:
    two = Replicas(make_job(hosts=2))
    two.require("--no-index", "nosuch")
    two.job.script(HVD + "hvd.init()")
    assert two.job.run() == [0, 0], two.job.text()


# What pip 26.3 prints, shortened; the package and its reason.
OUTPUTS = {
    "a build": (
        ["Collecting horrible", "  error: subprocess-exited-with-error", "  error: g++ is missing",
         "  ERROR: Failed building wheel for horrible", "error: failed-wheel-build-for-install"],
        "horrible: failed-wheel-build-for-install",
    ),
    "a conflict": (
        ["ERROR: Cannot install a==1 and b==2 because they conflict.", "ERROR: no way: ask"],
        "a==1 and b==2: no way: ask",
    ),
    "a full disk": (
        ["Collecting large", "ERROR: Could not install packages: [Errno 28] disk full"],
        "large: Could not install packages: [Errno 28] disk full",
    ),
    "silence": ([], "pip: it said nothing"),
}  # fmt: skip


@pytest.mark.parametrize("case", OUTPUTS)
def test_the_package_and_the_reason_are_found_in_pips_output(case: str) -> None:
    said, told = OUTPUTS[case]
    assert why(said) == told
