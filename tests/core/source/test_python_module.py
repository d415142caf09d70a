"""Which file `-m` means, and what a name that means none is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from launchers.core.source.python_module import find_module, module_file
from launchers.core.source.script import locate
from launchers.core.spec.job import JobSpec

FILES = (
    "train.py",
    "pkg/__init__.py",
    "pkg/train.py",
    "pkg/model.py",
    "app/__init__.py",
    "app/__main__.py",
    "app/sub/__main__.py",
    "ns/train.py",
    "ns/deep/__init__.py",
    "ns/deep/run.py",
    "both.py",
    "both/other.py",
    "won/__init__.py",
    "won.py",
    "my-train.py",
    "src/inner/train.py",
    "notes.txt",
)
FOUND = {
    "train": "train.py",
    "pkg.train": "pkg/train.py",
    "app": "app/__main__.py",
    "app.__main__": "app/__main__.py",
    "app.sub": "app/sub/__main__.py",
    "ns.train": "ns/train.py",
    "ns.deep.run": "ns/deep/run.py",
    "both": "both.py",
    "both.other": "both/other.py",
    "my-train": "my-train.py",
}
# Name -> what is found, and what is said to do.
REFUSED = {
    "pkg/train.py": ("a path", "write -m pkg.train; or, as a script: launch vertex pkg/train.py"),
    "train.py": ("a path", "write -m train;"),
    "./ns/deep/run.py": ("a path", "write -m ns.deep.run;"),
    "app/__main__.py": ("a path", "write -m app.__main__;"),
    "/elsewhere/train.py": ("a path", "as a script: launch vertex /elsewhere/train.py"),
    ".train": ("not a module's whole name", "-m train"),
    "pkg.": ("not a module's whole name", "-m pkg"),
    "": ("not a module's whole name", ""),
    "pkg": ("a package without __main__.py", "-m pkg.model, -m pkg.train"),
    "won": ("a package without __main__.py", ""),
    "pkg.trian": ("no such module", "did you mean pkg.train?"),
    "trian": ("no such module", "did you mean train?"),
    "inner.train": ("no such module", "--source src"),
    "json.tool": ("no such module", "--source DIR"),
}


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "project"
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("module", FOUND)
def test_a_module_is_the_file_that_python_would_run(source: Path, module: str):
    assert find_module(source, module, "local") == (FOUND[module], None)


@pytest.mark.parametrize("module", REFUSED)
def test_what_is_no_module_of_the_source_is_told_what_to_write(source: Path, module: str):
    found, fix = REFUSED[module]
    _, problem = find_module(source, module, "vertex")
    assert problem is not None
    assert problem.rule == "module-missing"
    assert found in problem.found
    assert fix in problem.fix


def test_a_module_that_the_folder_around_has_names_that_folder(source: Path, monkeypatch):
    monkeypatch.chdir(source / "pkg")
    _, problem = find_module(source / "pkg", "pkg.train", "local")
    assert problem is not None
    assert problem.fix == "it is found with --source .."


@pytest.mark.parametrize("module", [*FOUND, *REFUSED])
def test_launcher_and_rank_find_the_same_file(source: Path, module: str, monkeypatch):
    from launchers.core.paths import entrypoints_folder

    monkeypatch.syspath_prepend(str(entrypoints_folder()))
    from launch_runtime import program
    from launch_runtime.environment import SettingError

    try:
        found = Path(program.module_path(str(source), module)).relative_to(source).as_posix()
    except SettingError:
        found = ""
    assert found == module_file(source, module)


def test_the_source_of_a_module_is_the_working_folder_or_the_one_that_is_named(source: Path):
    here, none = locate(JobSpec(module="pkg.train"))
    assert (here.folder, here.script, none) == (source, "pkg/train.py", [])
    assert here.program == ("-m", "pkg.train")
    named, none = locate(JobSpec(module="inner.train", source="src"))
    assert (named.folder, named.script, none) == (source / "src", "inner/train.py", [])
    assert locate(JobSpec(script="pkg/train.py"))[0].program == ("train.py",)


def test_a_source_that_is_not_there_is_told_before_the_module(source: Path):
    _, problems = locate(JobSpec(module="pkg.train", source="absent"))
    assert [problem.rule for problem in problems] == ["source-missing"]


def test_script_and_module_together_are_refused(source: Path):
    _, problems = locate(JobSpec(script="train.py", module="pkg.train"))
    assert [problem.rule for problem in problems] == ["script-and-module"]
