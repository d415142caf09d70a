"""``keras`` as another name of tf_keras, Keras 2, for the script and inside Horovod.

Horovod's ``horovod.tensorflow.keras.callbacks`` imports ``keras`` itself, whatever
TF_USE_LEGACY_KERAS says. Nothing is imported before the script does: ``keras.x`` becomes the very
module ``tf_keras.x``, so that there is one of each class. Classes keep their own names in pickles,
and ``importlib.metadata`` still speaks of the installed packages.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from typing import Any, Callable, Mapping, Sequence

from launch_runtime.rank.import_hook import OnImport, find_behind, when_imported

NEW, OLD = "keras", "tf_keras"
# Where TensorFlow finds ``tensorflow.keras`` when it is Keras 2.
_PLACES = (OLD, f"{OLD}.api._v2.keras", "tensorflow.keras")


def install(new_names: Mapping[str, Sequence[str]]) -> None:
    """From now on ``import keras`` gives tf_keras.

    Args:
        new_names: What only Keras 3 has, by the module below ``keras`` that has it. Asking for it
            is an error as in any Keras 2, and says what to do.
    """
    watchers: dict[str, OnImport] = {}
    missing: dict[str, str] = {}
    for parent, names in new_names.items():
        for place in _PLACES:
            module = f"{place}.{parent}".rstrip(".")
            watchers[module] = _teller(parent, frozenset(names))
            missing.update((f"{module}.{name}", f"{NEW}.{parent}.{name}") for name in names)
        alias = f"{NEW}.{parent}".rstrip(".")
        missing.update((f"{alias}.{name}", f"{NEW}.{parent}.{name}") for name in names)
    when_imported(watchers)
    shown = {name: told.replace("..", ".") for name, told in missing.items()}
    sys.meta_path.insert(0, _Finder(shown))


def missing_text(name: str) -> str:
    """What is said to who asks for ``name``, ``keras.ops``."""
    return f"{name} is of Keras 3, and keras is tf_keras (Keras 2) in this job; --keras 3 keeps it"


class _Finder:
    def __init__(self, missing: Mapping[str, str]):
        self._missing = dict(missing)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name in self._missing and find_behind(self, name, path) is None:
            raise ImportError(missing_text(self._missing[name]), name=name)
        if name != NEW and not name.startswith(NEW + "."):
            return None
        real = OLD + name[len(NEW) :]
        found = find_behind(self, real, path)
        if found is None:
            if name == NEW:
                return None  # no tf_keras after all
            text = f"No module named {name!r} (keras is tf_keras in this job)"
            raise ModuleNotFoundError(text, name=name)
        loader: Any = _Loader(real)
        spec = ModuleSpec(name, loader, origin=found.origin)
        spec.submodule_search_locations = found.submodule_search_locations
        return spec


class _Loader:
    """Gives the module of another name itself, not a copy of it."""

    def __init__(self, real: str):
        self._real = real
        self._spec: Any = None

    def create_module(self, spec: ModuleSpec) -> Any:
        module = importlib.import_module(self._real)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: Any) -> None:
        # The import system has just written the other name's spec there.
        module.__spec__ = self._spec

    def get_code(self, name: str) -> Any:
        """For ``python -m keras.x`` and :mod:`pkgutil`."""
        found = importlib.util.find_spec(self._real)
        loader: Any = found.loader if found else None
        return loader.get_code(self._real) if hasattr(loader, "get_code") else None


def _teller(parent: str, names: frozenset[str]) -> OnImport:
    """Lets a module say why it lacks a name of Keras 3, where it would say only that."""

    def tell(module: Any) -> None:
        before: Callable[[str], Any] | None = module.__dict__.get("__getattr__")
        own = module.__name__

        def getattribute(name: str) -> Any:
            if before is not None:
                return before(name)
            text = f"module {own!r} has no attribute {name!r}"
            if name in names:
                text += ": " + missing_text(f"{NEW}.{parent}.{name}".replace("..", "."))
            raise AttributeError(text)

        module.__getattr__ = getattribute

    return tell
