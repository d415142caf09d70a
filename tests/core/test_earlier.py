"""What the plan says of a job that is another one than the last of the same command."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from launchers.core import earlier
from launchers.core.differences import files
from launchers.core.pipeline import prepare, submit
from launchers.core.provider import Provider
from launchers.core.records import commands
from launchers.core.records.ledger import Ledger
from launchers.core.spec.job import JobSpec
from tests.core.in_memory import memory_provider, script

LEDGERS = Path(__file__).with_name("records") / "ledgers"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def source(home: Path) -> Path:
    folder = script(home / "source").parent
    (folder / "model.py").write_text("layers = 2\n")
    return folder


@pytest.fixture
def job(source: Path) -> JobSpec:
    return JobSpec(script=str(source / "train.py"), bucket="b", arguments=("--lr", "0.1"))


@pytest.fixture
def provider() -> Provider:
    return memory_provider()


def run(provider: Provider, job: JobSpec) -> str:
    """Starts ``job`` and gives its name."""
    return submit(provider, prepare(provider, job, online=True)).name


def said(provider: Provider, job: JobSpec, online: bool = False) -> list[str]:
    """The plan's rows about the difference, without the first, which names the job before."""
    rows = [row.text for row in prepare(provider, job, online=online).plan.rows]
    starts = [at for at, row in enumerate(rows) if row.startswith("from ")]
    return rows[starts[0] + 1 :] if starts else []


def edit(source: Path) -> None:
    (source / "model.py").write_text("layers = 3\n")


def add(source: Path) -> None:
    (source / "lib").mkdir()
    (source / "lib" / "data.py").write_text("")


def remove(source: Path) -> None:
    (source / "model.py").unlink()


def make_executable(source: Path) -> None:
    (source / "model.py").chmod(0o755)


def link(source: Path) -> None:
    (source / "model.py").unlink()
    (source / "model.py").symlink_to("train.py")


def edit_many(source: Path) -> None:
    for number in range(5):
        (source / f"part{number}.py").write_text("")
    edit(source)


@pytest.mark.parametrize("online", [False, True])
@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (edit, ["changed: model.py"]),
        (add, ["added: lib/data.py"]),
        (remove, ["removed: model.py"]),
        (make_executable, ["changed: model.py"]),
        (link, ["changed: model.py"]),
        (edit_many, ["changed: model.py", "added: part0.py, part1.py, part2.py and 2 more"]),
    ],
)
def test_a_changed_source_is_told_by_its_files(
    provider: Provider,
    job: JobSpec,
    source: Path,
    change: Callable[[Path], None],
    lines: list[str],
    online: bool,
):
    first = run(provider, job)
    change(source)
    assert said(provider, job, online) == lines
    rows = [row.text for row in prepare(provider, job).plan.rows if row.label == "differs"]
    assert rows == [f"from {first}, the last job of this command"]
    run(provider, job)
    assert said(provider, job) == []


@pytest.mark.parametrize("ended", ["", "failed", "succeeded"])
def test_nothing_is_said_where_the_name_is_kept(provider: Provider, job: JobSpec, ended: str):
    assert said(provider, job) == []
    name = run(provider, job)
    if ended:
        entry = Ledger().get("memory", name)
        assert entry is not None
        Ledger().update(entry, state=ended)
    assert said(provider, job) == said(provider, job, online=True) == []
    assert said(provider, replace(job, name="other", bucket="c")) == []


def test_a_changed_argument_is_told_by_its_field(provider: Provider, job: JobSpec):
    first = run(provider, job)
    changed = replace(job, arguments=("--lr", "0.2"))
    assert said(provider, changed) == ["$.arguments: '--lr 0.2', was '--lr 0.1'"]
    (row,) = (row.text for row in prepare(provider, changed).plan.rows if row.label == "differs")
    assert row == f"from {first}, the last job of this script"


def test_a_changed_value_of_the_file_is_the_same_command(provider: Provider, job: JobSpec):
    job = replace(job, origins={"arguments": "launch.yaml"})
    run(provider, job)
    changed = replace(job, arguments=("--lr", "0.2"))
    (row,) = (row.text for row in prepare(provider, changed).plan.rows if row.label == "differs")
    assert row.endswith("the last job of this command")


@pytest.mark.parametrize("origins", [{}, {"arguments": "sweep.yaml"}])
def test_of_several_commands_of_a_script_each_has_its_own_last_job(
    provider: Provider, job: JobSpec, source: Path, origins: dict[str, str]
):
    job = replace(job, origins=origins)
    jobs = [replace(job, arguments=("--lr", rate)) for rate in ("0.1", "0.2")]
    names = [run(provider, one) for one in jobs]
    edit(source)
    for one, name in zip(jobs, names, strict=True):
        rows = [row.text for row in prepare(provider, one).plan.rows]
        assert f"from {name}, the last job of this command" in rows
        assert rows[-1] == "changed: model.py"


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({"name": "x", "region": "eu-west-1", "bucket": "c", "allow_values": ("A",)}, 3),
        ({"script": "./train.py"}, 3),
        ({"origins": {"instances": "launch.yaml"}}, 2),
        ({"instances": 2}, 1),
        ({"provider": "other"}, 0),
    ],
)
def test_a_command_is_the_same_by_what_was_asked(job: JobSpec, changes: dict[str, Any], kept: int):
    def told(one: JobSpec) -> tuple[str, ...]:
        return commands.commands_of(one, "/source", ["train.py"])

    pairs = zip(told(job), told(replace(job, **changes)), strict=True)
    assert sum(before == now for before, now in pairs) == kept


def test_another_folder_is_another_command(provider: Provider, job: JobSpec, home: Path):
    run(provider, job)
    other = script(home / "elsewhere", "import horovod.torch as hvd\n")
    assert said(provider, replace(job, script=str(other))) == []


def test_a_change_of_the_launcher_is_named(
    provider: Provider, job: JobSpec, monkeypatch: pytest.MonkeyPatch
):
    digest = files._digest
    with monkeypatch.context() as patched:
        patched.setattr(files, "_digest", lambda file: "old" if file.ours else digest(file))
        prepared = prepare(provider, job)
        before = prepared.plan.source.bundle
        old = replace(before, sha256="0" * 64)
        plan = replace(prepared.plan, source=replace(prepared.plan.source, bundle=old))
        run(provider, job)
        entry = replace(Ledger().jobs()[0], name="train-00000000-1", base="train-00000000")
        Ledger().add(entry)
        earlier.note_command(provider, plan, entry)
    assert said(provider, job) == ["launch itself: another version of its own files"]


def test_another_way_of_naming_jobs_is_the_launchers_own(provider: Provider, job: JobSpec):
    run(provider, job)
    prepared = prepare(provider, job)
    lines = earlier.unlike_last(
        provider, prepared.plan, "train-00000000", {"arguments": ["--lr", "0.1"]}
    )
    assert lines[1:] == ("launch itself: another version, which names jobs in another way",)


def test_a_shared_script_is_the_launchers_own():
    before = files.Digests("a", "x", {"train_image_classifier.py": "1"})
    now = files.Digests("b", "x", {"train_image_classifier.py": "2"})
    lines = list(files.differing_files(before, now, shared=True))
    assert lines == ["launch itself: another version of its own files"]


@pytest.mark.parametrize("limit", ["MOST_FILES", "MOST_BYTES"])
def test_of_a_large_source_it_is_only_said_that_it_differs(
    provider: Provider, job: JobSpec, source: Path, monkeypatch: pytest.MonkeyPatch, limit: str
):
    monkeypatch.setattr(files, limit, 1)
    run(provider, job)
    edit(source)
    assert said(provider, job) == ["the source (too many files or bytes to say which)"]


def test_a_dry_run_writes_nothing(provider: Provider, job: JobSpec, source: Path):
    said(provider, job)
    assert not Ledger().path.exists()
    run(provider, job)
    edit(source)
    before = Ledger().path.read_bytes()
    assert said(provider, job)
    assert Ledger().path.read_bytes() == before


def test_a_job_that_costs_nothing_is_not_compared(job: JobSpec, source: Path):
    free = memory_provider(paid=False)
    run(free, job)
    edit(source)
    assert said(free, job) == []


@pytest.mark.parametrize("schema", ["1", "2", "3"])
def test_a_ledger_from_before_says_nothing_and_learns(
    provider: Provider, job: JobSpec, source: Path, schema: str
):
    with sqlite3.connect(Ledger().path) as connection:
        connection.executescript((LEDGERS / f"{schema}.sql").read_text())
    connection.close()
    assert said(provider, job) == []
    run(provider, job)
    edit(source)
    assert said(provider, job) == ["changed: model.py"]


@pytest.mark.parametrize(
    ("statement", "lines"),
    [
        ("UPDATE commands SET files = x'00'", []),
        ("UPDATE commands SET files = 'text'", []),
        ("UPDATE jobs SET definition = '{'", ["changed: model.py"]),
        ("UPDATE jobs SET definition = '[]'", ["changed: model.py"]),
        ("UPDATE jobs SET definition = x'00'", []),
        ("DELETE FROM jobs", []),
    ],
)
def test_a_damaged_row_costs_only_what_it_would_say(
    provider: Provider, job: JobSpec, source: Path, statement: str, lines: list[str]
):
    run(provider, job)
    edit(source)
    with sqlite3.connect(Ledger().path) as connection:
        connection.execute(statement)
    connection.close()
    assert said(provider, job) == lines


def test_the_commands_that_were_used_last_are_kept(
    provider: Provider, job: JobSpec, source: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(commands, "_KEPT", 3)
    run(provider, job)
    run(provider, replace(job, arguments=("--lr", "0.3")))
    with sqlite3.connect(Ledger().path) as connection:
        assert connection.execute("SELECT count(*) FROM commands").fetchone() == (3,)
    connection.close()
    edit(source)
    assert "changed: model.py" in said(provider, replace(job, arguments=("--lr", "0.3")))
