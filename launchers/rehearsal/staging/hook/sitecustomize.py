"""Asserts the world size in every rank of a document whose program is not our guard.

Python imports a module of this name at every start. The rehearsal mounts this folder read-only
and puts it on PYTHONPATH, which reaches every rank of every host; what must come out stands in
``expectation.json`` beside this file, because other variables do not reach them all. Nothing
happens in a process that never joins the world of its strategy. Any other sitecustomize is run as
ever.
"""

import importlib
import os
import sys
from typing import Any

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _watch() -> None:
    """Notice when the world is joined; the guard's own modules judge it."""
    # Python 3.7 runs in the oldest images; there is no ``launch`` for it.
    if sys.version_info < (3, 8):  # noqa: UP036
        raise RuntimeError("Python is older than 3.8")
    runtime = os.path.join(_FOLDER, "runtime")
    sys.path.insert(0, runtime)
    try:
        rank: Any = importlib.import_module("launch_runtime.rank.user_script")
        strategies: Any = importlib.import_module("launch_runtime.strategies")
        expected = _expectation()
        strategy = strategies.named(expected["strategy"])
        strategy.watch(_LateCheck(strategy, expected))
    finally:
        sys.path.remove(runtime)
    rank.hide_own_modules()


class _LateCheck:
    """The guard's check, made when this process first joins: most processes never do.

    Args:
        strategy: The document's.
        expected: What must come out.
    """

    def __init__(self, strategy: Any, expected: Any) -> None:
        names = ("identity", "world_check", "refusal", "reporter")
        self._modules: list[Any] = [
            importlib.import_module(f"launch_runtime.rank.{name}") for name in names
        ]
        self._strategy, self._expected = strategy, expected
        self._check: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._check is None:
            self._check = self._made()
        return getattr(self._check, name)

    def _made(self) -> Any:
        identity, world_check, refusal, reporters = self._modules
        place = self._strategy.place(os.environ, False)
        expected = self._expected
        promise = identity.Promise(expected["world_size"], expected["hosts"], expected["processes"])
        reporter = reporters.Reporter(_state_path(), rank=place.rank, host=place.host)
        reporter.script_runs = True
        try:
            identity.check(promise, place, os.environ)
        except refusal.RefusalError as error:
            if place.by == identity.NOBODY:
                error.fix = self._expected["fix"] or error.fix
            reporter.refuse(error)
            os._exit(1)
        variables = world_check.variables(self._strategy, os.environ)
        given = world_check.Given(promise, place, variables, os.getpid())
        return world_check.WorldCheck(given, reporter, self._strategy)


def _expectation() -> Any:
    import json

    with open(os.path.join(_FOLDER, "expectation.json"), encoding="utf-8") as file:
        return json.load(file)


def _state_path() -> str:
    import tempfile

    name = f"launch-rank-{os.getpid()}-{os.urandom(4).hex()}"
    return os.path.join(tempfile.gettempdir(), name)


def _run_the_other() -> None:
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    others = [entry for entry in sys.path if os.path.abspath(entry) != _FOLDER]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        sys.modules["sitecustomize"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


try:
    _watch()
except Exception as error:  # the process must start all the same
    sys.stderr.write(
        f"launch: warning: the ranks' joining is not watched in this process: {error!r}\n"
    )
_run_the_other()
