"""Under the guard a module sees what ``python -m MODULE`` shows it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.entrypoints.rank.guard_runs import ONE_HOST, TWO_HOSTS, under_mpirun
from tests.entrypoints.simulated import HVD, SimulatedJob, clean_environment, write_script
from tests.places import ENTRYPOINTS

pytestmark = pytest.mark.processes

LOOK = '''
"""What a module can see of how it was started."""
import json, os, sys
seen = {
    "argv": sys.argv, "path": sys.path, "file": __file__, "name": __name__, "doc": __doc__,
    "package": __package__, "cached": __cached__, "builtins": type(__builtins__).__name__,
    "spec": [__spec__.name, __spec__.origin, __spec__.parent, __spec__.has_location],
    "loader": [type(__loader__).__name__, __loader__.name, __loader__.path],
    "names": sorted(name for name in globals() if name != "seen"), "cwd": os.getcwd(),
    "main": sys.modules["__main__"].__dict__ is globals(),
    "code": (lambda: 0).__code__.co_filename, "annotations": __annotations__,
    "own": sorted(name for name in sys.modules if name.partition(".")[0] in ("pkg", "ns")),
}
print("SEEN", json.dumps(seen))
'''
# The module's name -> the files of its source.
MODULES = {
    "train": {"train.py": LOOK},
    "pkg.train": {"pkg/__init__.py": "", "pkg/train.py": LOOK},
    "pkg": {"pkg/__init__.py": "", "pkg/__main__.py": LOOK},
    "pkg.__main__": {"pkg/__init__.py": "", "pkg/__main__.py": LOOK},
    "pkg.sub": {"pkg/__init__.py": "", "pkg/sub/__init__.py": "", "pkg/sub/__main__.py": LOOK},
    "ns.train": {"ns/train.py": LOOK},
    "ns.deep": {"ns/deep/__main__.py": LOOK},
    "both": {"both.py": LOOK, "both/other.py": ""},
    "my-train": {"my-train.py": LOOK},
}


def write(source: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        write_script(source, text, name)


def plain(source: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=source, capture_output=True, text=True,
        env=clean_environment(), stdin=subprocess.DEVNULL,
    )  # fmt: skip


def guarded(source: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ENTRYPOINTS / "guard.py"), "-m", *words], cwd=source.parent,
        capture_output=True, text=True, stdin=subprocess.DEVNULL,
        env={
            **clean_environment(), **ONE_HOST, "LAUNCH_SOURCE_DIR": str(source), **environment
        },
    )  # fmt: skip


def printed(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("launch: ")]


def seen(text: str) -> dict:
    found = [line for line in text.splitlines() if line.startswith("SEEN ")]
    value: dict = json.loads(found[0][5:])
    return value


@pytest.mark.parametrize("module", MODULES)
def test_a_module_sees_what_python_would_show_it(module: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    write(source, MODULES[module])
    arguments = ["--epochs", "3", "--", "a b", "-m", ""]
    alone, under = plain(source, module, *arguments), guarded(source, module, *arguments)
    assert under.returncode == 0, under.stderr
    assert seen(under.stdout) == seen(alone.stdout)


PACKAGE = {
    "pkg/__init__.py": "import sys\nprint('package', sys.argv, __name__, flush=True)\n",
    "pkg/model.py": "NAME = 'linear'\n",
    "beside.py": "NAME = 'beside'\n",
}
# What a module does, each with the same outcome as under Python alone.
DOES = {
    "relative imports": "from . import model\nfrom .model import NAME\nprint(NAME, model)\n",
    "imports from the working folder": "import beside, pkg.model\nprint(beside.NAME)\n",
    "the module once more by its name": (
        "import pkg.train, sys\nif __name__ == '__main__':\n"
        "    print(pkg.train is sys.modules['__main__'])\n"
    ),
    "pickles of its own classes": (
        "import pickle\nclass Point:\n    pass\n"
        "print(type(pickle.loads(pickle.dumps(Point()))) is Point, Point.__module__)\n"
    ),
    "functions in spawned children": (
        "import multiprocessing, sys\nfrom .model import NAME\n"
        "def work(number):\n    return number * number, NAME, __name__, __package__\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(work, range(3)))\n"
    ),
    "its globals at the end": (
        "import atexit, sys\nWORD = 'still here'\n"
        "atexit.register(lambda: print(WORD, sys.modules['__main__'].WORD))\n"
    ),
    "sys.exit with a number": "import sys\nsys.exit(3)\n",
    "sys.exit with a text": "import sys\nsys.exit('no data found')\n",
}


@pytest.mark.parametrize("deed", DOES)
def test_a_module_does_what_it_does_alone(deed: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    write(source, {**PACKAGE, "pkg/train.py": DOES[deed]})
    alone, under = plain(source, "pkg.train", "--x"), guarded(source, "pkg.train", "--x")
    assert (under.returncode, printed(under.stdout), under.stderr) == (
        alone.returncode,
        printed(alone.stdout),
        alone.stderr,
    )


def test_a_package_that_has_imported_the_module_is_warned_of_two_copies(tmp_path: Path) -> None:
    source = tmp_path / "source"
    write(source, {"pkg/__init__.py": "from . import train\n", "pkg/train.py": "print('ran')\n"})
    under = guarded(source, "pkg.train")
    assert printed(under.stdout) == ["ran", "ran"]
    assert "RuntimeWarning" in under.stderr


# What goes wrong -> (file that raises, its text).
RAISES = {
    "in the module": ("pkg/train.py", "def f():\n    raise ValueError('boom')\nf()\n"),
    "in its package": ("pkg/__init__.py", "raise ValueError('boom')\n"),
    "in an import": ("pkg/train.py", "from . import absent\n"),
    "in its syntax": ("pkg/train.py", "if True print(1)\n"),
}


@pytest.mark.parametrize("place", RAISES)
def test_a_traceback_holds_the_users_frames_alone(place: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    name, text = RAISES[place]
    write(source, {"pkg/__init__.py": "", "pkg/train.py": "", name: text})
    alone, under = plain(source, "pkg.train"), guarded(source, "pkg.train")
    frames = re.compile(r'  File "(?!<frozen runpy>)[^"]*", line \d+')
    assert under.returncode == alone.returncode == 1
    assert frames.findall(under.stderr) == [
        frame for frame in frames.findall(alone.stderr) if str(source) in frame
    ]
    assert under.stderr.splitlines()[-1] == alone.stderr.splitlines()[-1]
    assert "launch_runtime" not in under.stderr


def test_the_failure_of_a_module_names_the_error(tmp_path: Path) -> None:
    source = tmp_path / "source"
    write(source, {"pkg/train.py": "raise ValueError('boom')\n"})
    under = guarded(source, "pkg.train", **TWO_HOSTS, **under_mpirun(2, rank=1))
    assert '"reason": "ValueError: boom"' in under.stdout


def test_the_agents_of_two_hosts_run_a_module(make_job: Callable[..., SimulatedJob]) -> None:
    job = make_job(hosts=2)
    job.script("NAME = 'linear'\n", "pkg/model.py")
    job.script(
        "import sys\nfrom .model import NAME\n"
        f"{HVD}hvd.init()\nprint('trained', NAME, hvd.size(), sys.argv[1:])\n",
        "pkg/train.py",
    )
    job.start_all("pkg.train", "--epochs", "3", script="-m")
    assert job.wait() == [0, 0], job.text()
    assert len(job.said(r"trained linear 2 \['--epochs', '3'\]")) == 2
    assert job.said("proof: world size 2")


def test_an_agent_says_that_its_module_is_not_there(make_job: Callable[..., SimulatedJob]) -> None:
    job = make_job(hosts=1)
    job.start_all("pkg.train", script="-m")
    assert job.wait() != [0]
    assert job.said("module pkg.train: no such module in ")


NO_MODULE = {
    "none": ((), "no module given behind -m"),
    "a missing one": (("pkg.other",), "module pkg.other: no such module"),
    "a package without __main__": (("pkg",), "module pkg: a package without __main__.py"),
    "a path": (("pkg/train.py",), "module pkg/train.py: expected a name such as pkg.train"),
    "one of Python's own": (("json.tool",), "module json.tool: no such module"),
}


@pytest.mark.parametrize("case", NO_MODULE)
def test_a_module_that_is_not_in_the_source_folder_is_named(case: str, tmp_path: Path) -> None:
    words, text = NO_MODULE[case]
    write(tmp_path / "source", {"pkg/__init__.py": "", "pkg/train.py": "print('ran')"})
    ended = guarded(tmp_path / "source", *words)
    assert ended.returncode == 1
    assert text in ended.stdout
    assert ended.stderr == ""


def test_sagemakers_parameters_name_module_and_arguments(tmp_path: Path) -> None:
    parameters = {
        "sagemaker_program": "guard.py",
        "sagemaker_launch_module": "pkg.train",
        "sagemaker_launch_args": ["--epochs", "3", "a b", ""],
    }
    source = tmp_path / "source"
    write(source, {"pkg/train.py": "import sys; print(sys.argv)", "wrong.py": "print('wrong')"})
    ended = subprocess.run(
        [sys.executable, str(ENTRYPOINTS / "guard.py"), "--epochs", "3"], capture_output=True,
        text=True, env={
            **clean_environment(), **ONE_HOST, "LAUNCH_SOURCE_DIR": str(source),
            "SM_FRAMEWORK_PARAMS": json.dumps(parameters),
        },
    )  # fmt: skip
    assert printed(ended.stdout) == [
        str([str(source / "pkg/train.py"), "--epochs", "3", "a b", ""])
    ]
