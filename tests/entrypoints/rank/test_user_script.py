"""Under the guard a script sees what ``python SCRIPT`` shows it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.entrypoints.rank.guard_runs import ONE_HOST, TWO_HOSTS, run_guard, under_mpirun
from tests.entrypoints.simulated import clean_environment, write_script
from tests.places import ENTRYPOINTS

pytestmark = pytest.mark.processes

LOOK = '''
"""What a script can see of how it was started."""
import json, os, signal, sys, threading
seen = {
    "argv": sys.argv, "path": sys.path, "file": __file__, "name": __name__, "doc": __doc__,
    "package": __package__, "spec": __spec__, "builtins": type(__builtins__).__name__,
    "loader": [type(__loader__).__name__, __loader__.name, __loader__.path],
    "names": sorted(name for name in globals() if name != "seen"), "cwd": os.getcwd(),
    "main": sys.modules["__main__"].__dict__ is globals(), "flags": list(sys.flags),
    "threads": threading.active_count(), "code": (lambda: 0).__code__.co_filename,
    "future": (lambda: 0).__code__.co_flags, "sigint": signal.getsignal(signal.SIGINT) is not None,
    "ours": sorted(name for name in sys.modules if "launch" in name or name == "guard"),
    "annotations": __annotations__, "hook": sys.excepthook is sys.__excepthook__,
}
print("SEEN", json.dumps(seen))
'''


def seen(text: str) -> dict:
    found = [line for line in text.splitlines() if line.startswith("SEEN ")]
    value: dict = json.loads(found[0][5:])
    return value


@pytest.mark.parametrize("script", ["train.py", "sub/folder/train.py", "./train.py", "link.py"])
@pytest.mark.parametrize("pythonpath", [False, True])
def test_a_script_sees_what_python_would_show_it(
    script: str, pythonpath: bool, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    if script == "link.py":
        write_script(source, LOOK, "real/train.py")
        (source / script).symlink_to("real/train.py")
    else:
        write_script(source, LOOK, script)
    arguments = ["--epochs", "3", "--", "a b", "--x=1", ""]
    environment = clean_environment()
    if pythonpath:
        environment["PYTHONPATH"] = f"{tmp_path}/one:{ENTRYPOINTS}:{tmp_path}/two"
    else:
        del environment["PYTHONPATH"]
    plain = subprocess.run(
        [sys.executable, script, *arguments], cwd=source, capture_output=True, text=True,
        env=environment, check=True,
    )  # fmt: skip
    guarded = subprocess.run(
        [sys.executable, str(ENTRYPOINTS / "guard.py"), script, *arguments],
        cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**environment, **ONE_HOST, "LAUNCH_SOURCE_DIR": str(source)},
    )  # fmt: skip
    expected = seen(plain.stdout)
    # The only thing of ours that a PYTHONPATH may hold is taken out.
    expected["path"] = [entry for entry in expected["path"] if entry != str(ENTRYPOINTS)]
    assert seen(guarded.stdout) == expected


def test_modules_of_the_user_win_over_ours_of_the_same_name(tmp_path: Path) -> None:
    for name in ("guard", "agent", "launch_runtime", "lines"):
        write_script(tmp_path / "source", f"WHO = 'user {name}'", f"{name}.py")
    text = "import guard, agent, launch_runtime, lines\n" + "".join(
        f"print({name}.WHO)\n" for name in ("guard", "agent", "launch_runtime", "lines")
    )
    ended = run_guard(tmp_path, text, **ONE_HOST)
    assert ended.printed == ["user guard", "user agent", "user launch_runtime", "user lines"]


@pytest.mark.parametrize(
    "name", ["guard", "agent", "launch_runtime", "launch_runtime.lines", "secret_references"]
)
def test_our_modules_cannot_be_imported(name: str, tmp_path: Path) -> None:
    # As mpi4py and the container toolkit start it: our folder on PYTHONPATH and as `python -m`.
    ended = run_guard(tmp_path, f"import {name}", **ONE_HOST, PYTHONPATH=str(ENTRYPOINTS))
    assert ended.code == 1
    assert "ModuleNotFoundError" in ended.stderr


def test_a_guard_that_another_module_runs_gives_the_script_the_same_view(tmp_path: Path) -> None:
    source = tmp_path / "source"
    write_script(source, LOOK)
    runner = (
        "import runpy, sys; sys.argv[:] = sys.argv[1:]; "
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    ended = subprocess.run(
        [sys.executable, "-c", runner, str(ENTRYPOINTS / "guard.py"), "train.py", "--x"],
        cwd=ENTRYPOINTS, capture_output=True, text=True, check=True,
        env={**clean_environment(), **ONE_HOST, "LAUNCH_SOURCE_DIR": str(source)},
    )  # fmt: skip
    view = seen(ended.stdout)
    assert view["argv"] == ["train.py", "--x"]
    assert view["path"][0] == str(source)
    assert str(ENTRYPOINTS) not in view["path"]
    assert "" not in view["path"]
    assert view["main"]
    assert "Horovod not used" in ended.stdout


def test_pickles_of_the_scripts_own_classes_work(tmp_path: Path) -> None:
    text = """
import pickle
class Point:
    pass
print(type(pickle.loads(pickle.dumps(Point()))) is Point, Point.__module__)
"""
    assert run_guard(tmp_path, text, **ONE_HOST).printed == ["True __main__"]


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_multiprocessing_works(method: str, tmp_path: Path) -> None:
    text = f"""
import multiprocessing, os, sys
def work(number):
    return number * number, os.path.basename(sys.argv[0]), sys.path[0] == os.getcwd()
if __name__ == "__main__":
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        print(pool.map(work, range(3)))
"""
    ended = run_guard(tmp_path, text, **ONE_HOST)
    assert ended.printed == [
        "[(0, 'train.py', True), (1, 'train.py', True), (4, 'train.py', True)]"
    ]


def both(tmp_path: Path, text: str, **environment: str) -> tuple[object, object]:
    """Code and stderr of a script alone and under the guard."""
    source = tmp_path / "source"
    write_script(source, text)
    plain = subprocess.run(
        [sys.executable, "train.py"], cwd=source, capture_output=True, text=True,
        env=clean_environment(), stdin=subprocess.DEVNULL,
    )  # fmt: skip
    ended = run_guard(tmp_path, text, **{**ONE_HOST, **environment})
    address = re.compile("0x[0-9a-f]+")
    return (
        (plain.returncode, address.sub("0x", plain.stderr)),
        (ended.code, address.sub("0x", ended.stderr)),
    )


ENDS = {
    "an exception": "def f():\n    raise ValueError('boom')\nf()\n",
    "a chain": "try:\n    1 / 0\nexcept Exception as e:\n    raise ValueError('boom') from e\n",
    "a context": "try:\n    1 / 0\nexcept Exception:\n    raise ValueError('boom')\n",
    "no syntax": "if True print(1)\n",
    "a bad encoding": "# -*- coding: nonsense -*-\n",
    "a group": "import builtins\ngroup = getattr(builtins, 'ExceptionGroup', BaseException)\n"
    "raise group('g', [ValueError(1)])\n",
    "a text": "import sys\nsys.exit('no data found')\n",
    "a number": "import sys\nsys.exit(3)\n",
    "a number above 255": "import sys\nsys.exit(259)\n",
    "a negative number": "import sys\nsys.exit(-1)\n",
    "True": "import sys\nsys.exit(True)\n",
    "an object": "import sys\nsys.exit((1, 2))\n",
    "an interrupt": "raise KeyboardInterrupt\n",
    "a hook of its own": (
        "import sys\nsys.excepthook = lambda *a: print('HOOK', file=sys.stderr)\n1/0\n"
    ),
    "a hook that fails": "import sys\ndef hook(*a): raise OSError\nsys.excepthook = hook\n1/0\n",
    "a signal": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n",
    "an exit past everything": "import os\nos._exit(7)\n",
    "an error in a handler": "import atexit\natexit.register(lambda: 1 / 0)\n",
    "an error in a thread": "import threading\nthreading.Thread(target=lambda: 1 / 0).start()\n",
    "a base exception": "class Stop(BaseException): pass\nraise Stop('x')\n",
}


# Python shows the hook's error too, and reads the encoding elsewhere.
WITH_OTHER_WORDS = {"a hook that fails": "ZeroDivisionError", "a bad encoding": "SyntaxError"}


@pytest.mark.parametrize("end", ENDS)
def test_a_script_ends_as_it_would_alone(end: str, tmp_path: Path) -> None:
    plain, guarded = both(tmp_path, ENDS[end])
    if end in WITH_OTHER_WORDS:
        assert plain[0] == guarded[0] == 1  # type: ignore[index]
        assert WITH_OTHER_WORDS[end] in guarded[1]  # type: ignore[index]
        return
    assert guarded == plain


def test_a_traceback_has_no_frame_of_ours_when_init_itself_fails(tmp_path: Path) -> None:
    text = "import horovod.anyframework as hvd\nhvd.init(comm=5)\n"
    plain, guarded = both(tmp_path, text)
    assert guarded == plain
    assert "TypeError" in guarded[1]  # type: ignore[index]


def test_the_failure_without_an_agent_names_the_error(tmp_path: Path) -> None:
    ended = run_guard(tmp_path, "raise ValueError('boom')", **TWO_HOSTS, **under_mpirun(2, rank=1))
    failure = ended.failure()
    assert failure["reason"] == "ValueError: boom"
    assert (failure["rank"], failure["phase"]) == (1, "starting")
    assert set(failure) == {"rank", "host", "phase", "reason"}


def test_a_rank_that_only_follows_another_does_not_claim_to_be_the_failure(tmp_path: Path) -> None:
    text = """
import horovod.anyframework as hvd
raise hvd.HorovodInternalError("Connection closed by peer")
"""
    ended = run_guard(tmp_path, text, **TWO_HOSTS, **under_mpirun(2))
    assert ended.code == 1
    assert "launch: failure" not in ended.stdout
    assert "HorovodInternalError" in ended.stderr


NO_SCRIPT = {
    "none": ((), "no script given"),
    "a missing one": (("other.py",), "script other.py: no such file"),
    "a folder": ((".",), "outside of the source folder"),
    "one outside": (("../outside.py",), "outside of the source folder"),
    "an absolute one": (("/etc/passwd",), "outside of the source folder"),
    "a folder inside": (("sub",), "script sub: a folder"),
}


@pytest.mark.parametrize("case", NO_SCRIPT)
def test_a_script_that_is_not_in_the_source_folder_is_named(case: str, tmp_path: Path) -> None:
    arguments, words = NO_SCRIPT[case]
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (tmp_path / "outside.py").write_text("print('ran')")
    ended = subprocess.run(
        [sys.executable, str(ENTRYPOINTS / "guard.py"), *arguments],
        capture_output=True, text=True,
        env={**clean_environment(), **ONE_HOST, "LAUNCH_SOURCE_DIR": str(source)},
    )  # fmt: skip
    assert ended.returncode == 1
    assert f"launch: {words}" in ended.stdout or words in ended.stdout
    assert ended.stderr == ""


def test_an_absolute_path_inside_the_source_folder_is_fine(tmp_path: Path) -> None:
    text = "print('ran')"
    path = str(tmp_path / "source" / "train.py")
    write_script(tmp_path / "source", text)
    ended = subprocess.run(
        [sys.executable, str(ENTRYPOINTS / "guard.py"), path], capture_output=True, text=True,
        env={**clean_environment(), **ONE_HOST, "LAUNCH_SOURCE_DIR": str(tmp_path / "source")},
    )  # fmt: skip
    assert ended.stdout.startswith("ran")


SAGEMAKER = {
    "a list": ["--epochs", "3", "--rate", "1e3", "a b", ""],
    "a JSON string": json.dumps(["--epochs", "3", "--rate", "1e3", "a b", ""]),
}


@pytest.mark.parametrize("form", SAGEMAKER)
def test_sagemakers_parameters_name_script_and_arguments(form: str, tmp_path: Path) -> None:
    parameters = {
        "sagemaker_program": "guard.py",
        "sagemaker_launch_script": "sub/train.py",
        "sagemaker_launch_args": SAGEMAKER[form],
    }
    text = "import sys; print(sys.argv)"
    write_script(tmp_path / "source", text, "sub/train.py")
    ended = run_guard(
        tmp_path, "raise SystemExit('the wrong script')", "--epochs", "4", "--rate", "1000.0",
        **ONE_HOST, SM_FRAMEWORK_PARAMS=json.dumps(parameters),
    )  # fmt: skip
    assert ended.printed == [str(["sub/train.py", "--epochs", "3", "--rate", "1e3", "a b", ""])]


ARGUMENTS_NO_JSON = '{"sagemaker_launch_script": "a", "sagemaker_launch_args": "x"}'


@pytest.mark.parametrize("parameters", ["{", "[]", ARGUMENTS_NO_JSON])
def test_parameters_that_are_no_json_are_named(parameters: str, tmp_path: Path) -> None:
    ended = run_guard(tmp_path, "", **ONE_HOST, SM_FRAMEWORK_PARAMS=parameters)
    assert ended.code == 1
    assert "SM_FRAMEWORK_PARAMS" in ended.stdout


def test_the_source_folder_beside_the_guard_is_the_default(tmp_path: Path) -> None:
    (tmp_path / "guard.py").write_bytes((ENTRYPOINTS / "guard.py").read_bytes())
    os.symlink(ENTRYPOINTS / "launch_runtime", tmp_path / "launch_runtime")
    write_script(tmp_path / "src", "import os; print(os.getcwd())")
    ended = subprocess.run(
        [sys.executable, str(tmp_path / "guard.py"), "train.py"], capture_output=True, text=True,
        env={**clean_environment(), **ONE_HOST}, cwd="/",
    )  # fmt: skip
    assert ended.stdout.splitlines()[0] == str(tmp_path / "src")
