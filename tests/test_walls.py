"""The walls of the house that import-linter cannot see, over the syntax tree or the text."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.places import ROOT

ENTRYPOINTS, LAUNCHERS = ROOT / "entrypoints", ROOT / "launchers"
# What runs beside the user's script, in images of any age.
RUNTIME = [
    ENTRYPOINTS / "agent.py",
    ENTRYPOINTS / "guard.py",
    *sorted((ENTRYPOINTS / "launch_runtime").rglob("*.py")),
]
OURS = ("launch_runtime", "secret_references")
FRAMEWORKS = {"tensorflow", "torch", "horovod", "keras", "tf_keras"}
PROVIDERS = re.compile(r"sagemaker|vertex", re.IGNORECASE)
CLOUDS = re.compile(r"sagemaker|vertex|google|gcs|\bgs:|aws|amazon|\bs3|algo-\d", re.IGNORECASE)
STRATEGIES = re.compile("horovod|torch|tensorflow|jax", re.IGNORECASE)
# Agent, coordinator, guard and verdict, which ask the job's strategy.
OF_EVERY_STRATEGY = [
    *(ENTRYPOINTS / name for name in ("agent.py", "guard.py")),
    *sorted((ENTRYPOINTS / "launch_runtime" / "host").rglob("*.py")),
    *sorted((ENTRYPOINTS / "launch_runtime" / "evidence").rglob("*.py")),
    *(ENTRYPOINTS / "launch_runtime" / "rank" / f"{name}.py" for name in ("guard", "world_check")),
    LAUNCHERS / "core" / "proof.py",
]
# launch_runtime/words.py names the words of messages so that stand where a caller gives none.
DEFAULT_WORDS = "HOROVOD"
# Files of core that may name a provider in code: the table of providers, and a library that other
# strategies are recognised by.
NAMES_PROVIDERS = {"registry.py", "strategies/others.py"}
DOTTED = re.compile(r"\blaunchers((?:\.[A-Za-z_]\w*)+)(?::(\w+))?")
SHIPPED = re.compile(r"\b(runtime|library)\(\"([\w.]+)\"\)")
SHIPPED_FOLDERS = {"runtime": "launch_runtime", "library": "lib"}


CLUSTER = {"pyspark", "horovod"}


def is_on_spark(path: Path) -> bool:
    """Whether it is the driver's or an executor's, and no part of a rank."""
    return path.name == "spark_driver.py" or path.parent == ENTRYPOINTS / "launch_runtime" / "spark"


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def modules_of(tree: ast.AST) -> Iterator[str]:
    """The modules that are imported anywhere in it, in functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


@cache
def modules_in(path: Path) -> list[str]:
    """The same of a file."""
    return list(modules_of(parsed(path)))


def importing(files: list[Path], forbidden: set[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in modules_in(path)
        if name.partition(".")[0] in forbidden
    ]


def test_what_runs_in_a_replica_is_written_in_the_language_of_python_3_8() -> None:
    for path in RUNTIME:
        ast.parse(path.read_text("utf-8"), str(path), feature_version=(3, 8))


def test_what_runs_in_a_replica_imports_the_standard_library_alone() -> None:
    allowed = {*OURS, *sys.stdlib_module_names}
    # A relative import needs a package that the script cannot see: its first part is empty.
    assert [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in RUNTIME
        for name in modules_in(path)
        if name.partition(".")[0] not in {*allowed, *(CLUSTER if is_on_spark(path) else ())}
    ] == []


def test_spark_and_horovod_are_imported_by_what_uses_them_and_not_with_their_modules() -> None:
    for path in (path for path in RUNTIME if is_on_spark(path)):
        heads = [one for one in parsed(path).body if isinstance(one, ast.Import | ast.ImportFrom)]
        names = {name.partition(".")[0] for one in heads for name in modules_of(one)}
        assert not names & CLUSTER, path


def test_nothing_beside_the_script_needs_what_runs_on_spark() -> None:
    assert [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in RUNTIME
        if not is_on_spark(path)
        for name in modules_in(path)
        if name.startswith("launch_runtime.spark")
    ] == []


def test_what_a_rank_needs_of_ours_is_imported_before_the_script_runs() -> None:
    late = []
    # A driver runs no script, nor does what starts a rank's guard on an executor.
    beside = [path for path in RUNTIME if "child_hook" not in path.parts and not is_on_spark(path)]
    for path in beside:
        for function in ast.walk(parsed(path)):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                late += [f"{path.name} {function.name}: {name}" for name in modules_of(function)]
    # Named secrets alone need it, and are resolved before the script runs.
    assert [text for text in late if not text.endswith(": secret_references")] == []


def test_what_runs_in_a_replica_knows_neither_the_launcher_nor_the_shared_scripts() -> None:
    assert importing(sorted(ENTRYPOINTS.rglob("*.py")), {"launchers"}) == []
    assert importing(RUNTIME, {"lib"}) == []


def test_the_launcher_imports_no_training_framework() -> None:
    assert importing(sorted(LAUNCHERS.rglob("*.py")), FRAMEWORKS) == []


def words_of(tree: ast.Module) -> Iterator[str]:
    """Names and texts of the code; docstrings and comments may have examples."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        for field in ("id", "attr", "name", "arg", "module", "asname"):
            yield str(getattr(node, field, None) or "")


def test_agent_coordinator_guard_and_verdict_name_no_strategy_in_their_code() -> None:
    assert [
        f"{path.relative_to(ROOT)}: {word}"
        for path in OF_EVERY_STRATEGY
        for word in words_of(parsed(path))
        if STRATEGIES.search(word) and word != DEFAULT_WORDS
    ] == []


def test_no_template_of_a_job_names_a_strategy() -> None:
    jobs = [one for one in (ROOT / "templates").rglob("*") if one.is_file()]
    jobs = [one for one in jobs if "init" not in one.parts]  # the users' own
    assert len(jobs) >= 3
    assert [one for one in jobs if STRATEGIES.search(one.read_text("utf-8"))] == []


def test_core_names_no_provider_in_its_code() -> None:
    core = LAUNCHERS / "core"
    found = [
        f"{name}: {word}"
        for name, path in ((str(one.relative_to(core)), one) for one in sorted(core.rglob("*.py")))
        for word in words_of(parsed(path))
        if name not in NAMES_PROVIDERS and PROVIDERS.search(word)
    ]
    assert found == []


def test_the_rehearsal_names_no_cloud_anywhere() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((LAUNCHERS / "rehearsal").rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if CLOUDS.search(line)
    ]
    assert found == []


def is_there(dotted: str, attribute: str) -> bool:
    """Whether ``.core.registry`` is a module of ours, or names something in one."""
    place, names = LAUNCHERS, [*dotted.strip(".").split("."), *filter(None, [attribute])]
    while names and (place / names[0]).is_dir():
        place /= names.pop(0)
    if names and (place / f"{names[0]}.py").is_file():
        place /= f"{names.pop(0)}.py"
    else:
        place /= "__init__.py"
    return not names or names[0] in bound_in(place)


@cache
def bound_in(path: Path) -> set[str]:
    """The names that a module gives a meaning, in functions too."""
    found = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


@pytest.mark.parametrize("folder", ["launchers", "entrypoints", "infra", "tests", "docs", "."])
def test_every_dotted_name_of_ours_leads_somewhere(folder: str) -> None:
    files = (ROOT / folder).glob("*") if folder == "." else (ROOT / folder).rglob("*")
    for path in files:
        if path.suffix not in (".py", ".md", ".toml", ".j2") or path == Path(__file__):
            continue
        text = path.read_text("utf-8")
        lost = {found[0] for found in DOTTED.finditer(text) if not is_there(found[1], found[2])}
        lost |= {
            found[2]
            for found in SHIPPED.finditer(text)
            if not (
                ENTRYPOINTS / SHIPPED_FOLDERS[found[1]] / f"{found[2].replace('.', '/')}.py"
            ).is_file()
        }
        assert lost == set(), path


def test_every_file_of_ours_that_a_text_names_is_there() -> None:
    tops = "launchers|entrypoints|infra|templates"
    named = re.compile(rf"(?<![\w/.-])(?:{tops})/[\w./-]+\.(?:py|json|j2|md)\b")
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    files += [path for top in tops.split("|") for path in (ROOT / top).rglob("*.py")]
    lost = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in files
        for name in named.findall(path.read_text("utf-8"))
        if not (ROOT / name).exists()
    }
    # What a user calls a file of their own.
    assert lost == {"docs/sagemaker.md: infra/training-job.json"}
