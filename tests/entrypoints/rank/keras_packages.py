"""Packages with the names of TensorFlow, Keras 3 and tf-keras, so small that a test is quick."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from tests.entrypoints.simulated import STANDIN

_SAVING_LIB = """
import json, os, zipfile
def save_model(model, filepath, *rest, **named):
    with zipfile.ZipFile(filepath, "w") as file:
        file.writestr("metadata.json", json.dumps({{"keras_version": "{version}"}}))
"""
_SAVING_API = """
from {package}.src.saving import saving_lib
def load_model(filepath, *rest, **named):
    raise TypeError("could not deserialize")
"""
_MODULES = {
    "tensorflow": {"__init__.py": ""},
    "tf_keras": {
        "__init__.py": (
            "from tf_keras import backend, layers, utils\n"
            "from tf_keras.src.saving.saving_api import load_model\n__version__ = '2.18.0'\n"
        ),
        "backend/__init__.py": "def get_value(x): return x\n",
        "layers/__init__.py": "from tf_keras.src.core import Dense\n",
        "utils/__init__.py": "",
        "src/__init__.py": "",
        "src/core.py": "class Dense: pass\n",
        "src/saving/__init__.py": "",
        "src/saving/saving_lib.py": _SAVING_LIB.format(version="2.18.0"),
        "src/saving/saving_api.py": _SAVING_API.format(package="tf_keras"),
    },
    "keras": {
        "__init__.py": "from keras import backend, layers, ops\n__version__ = '3.15.1'\n",
        "backend/__init__.py": "",
        "layers/__init__.py": "class Dense: pass\n",
        "ops/__init__.py": "",
        "src/__init__.py": "",
        "src/saving/__init__.py": "",
        "src/saving/saving_lib.py": _SAVING_LIB.format(version="3.15.1"),
        "src/saving/saving_api.py": _SAVING_API.format(package="keras"),
    },
}


def install(folder: Path, **versions: str) -> dict[str, str]:
    """Puts packages into ``folder``.

    Args:
        versions: By module: ``tensorflow``, ``keras``, ``tf_keras``. One that is not named is not
            there, whatever is installed beside.

    Returns:
        The environment in which Python finds them.
    """
    for module, version in versions.items():
        for name, text in _MODULES[module].items():
            path = folder / module / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        package = module.replace("_", "-")
        information = folder / f"{module}-{version}.dist-info"
        information.mkdir()
        text = f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
        (information / "METADATA").write_text(text, encoding="utf-8")
    return {"PYTHONPATH": f"{folder}:{STANDIN}"}


def model_file(path: Path, version: str) -> None:
    """A file such as a Keras of that version writes."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("metadata.json", json.dumps({"keras_version": version}))
        file.writestr("config.json", "{}")
