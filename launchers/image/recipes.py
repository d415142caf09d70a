"""What `launch image build --with NAME` builds from: the files of each recipe, and their digest."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from launchers.core.paths import images_folder

HOROVOD = "horovod"
SPARK = "spark"
# The part of the recipe that the host's own settings replace, so no part of its digest.
HOST_FOLDER = "host"
# Where the user's own file lies in the context; no part of the digest either.
OWN_REQUIREMENTS = "own/requirements.txt"
# The recipe of the images without Horovod, and what they share with it.
_FRAMEWORKS = "frameworks"
_OF_ALL = (HOST_FOLDER, "sbom")


@dataclass(frozen=True)
class Recipe:
    """One image that we build.

    Attributes:
        title: What it has, for a person.
        pins: The file of the framework's pins, in the recipes' folder; empty for Horovod's image,
            whose Dockerfile names its own.
        gpu_extra: A further requirement for machines with GPUs.
        gpu_base: The GPU variant needs a base with CUDA.
        warning: What is said before a build without GPUs from our own base.
        room: Bytes that a first build wants free, and with the framework's CUDA packages.
        begins_with: The recipe of our image that it is a layer over, unless a base is named; its
            files then lie in a folder of its name. Empty for one that has all by itself.
    """

    title: str
    pins: str = ""
    gpu_extra: str = ""
    gpu_base: bool = False
    warning: str = ""
    room: tuple[int, int] = (8 * 10**9, 8 * 10**9)
    begins_with: str = ""


# Room: both stages of Horovod's took 5.2 GB, and while the packages are copied from the one to
# the other, they lie there once more. An environment of PyTorch with its CUDA packages took 5.4 GB,
# and lies there three times meanwhile.
RECIPES: Mapping[str, Recipe] = {
    HOROVOD: Recipe("Horovod with TensorFlow", gpu_base=True),
    "torch": Recipe(
        "PyTorch",
        f"{_FRAMEWORKS}/pins/torch.txt",
        warning="PyPI's wheels of PyTorch bring CUDA, 5 GB: PIP_INDEX_URL or PIP_EXTRA_INDEX_URL "
        "may name an index that has CPU wheels of that version",
        room=(18 * 10**9, 18 * 10**9),
    ),
    "jax": Recipe(
        "JAX", f"{_FRAMEWORKS}/pins/jax.txt", "jax[cuda12]", room=(4 * 10**9, 14 * 10**9)
    ),
    "tensorflow": Recipe(
        "TensorFlow", "pins/tensorflow.txt", "tensorflow[and-cuda]", room=(6 * 10**9, 18 * 10**9)
    ),
    SPARK: Recipe(
        "Spark beside the ranks' framework", begins_with=HOROVOD, room=(3 * 10**9, 3 * 10**9)
    ),
}


def recipe_files(folder: Path, recipe: str = HOROVOD) -> dict[str, bytes]:
    """The files that a build reads, by their path in its context, sorted.

    Not what Python compiles beside them, as pip does where it installs a package: the digest would
    be another one for each Python.
    """
    every = {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.parent.name != "__pycache__"
    }
    if recipe == HOROVOD:
        others = {_FRAMEWORKS, *(name for name, one in RECIPES.items() if one.begins_with)}
        chosen = {name: path for name, path in every.items() if _part(name) not in others}
    elif RECIPES[recipe].begins_with:
        own = {
            name.partition("/")[2]: path for name, path in every.items() if _part(name) == recipe
        }
        chosen = {name: path for name, path in every.items() if _part(name) in _OF_ALL} | own
    else:
        chosen = {name: path for name, path in every.items() if _part(name) in _OF_ALL}
        for name in ("Dockerfile", "pins/pictures.txt", "pins/secrets.txt", OWN_REQUIREMENTS):
            chosen[name] = folder / _FRAMEWORKS / name
        chosen["pins/framework.txt"] = folder / RECIPES[recipe].pins
    return {name: chosen[name].read_bytes() for name in sorted(chosen)}


def recipe_digest(folder: Path | None = None, recipe: str = HOROVOD) -> str:
    """A digest of the recipe: an image whose label differs is stale."""
    total = hashlib.sha256()
    for name, content in recipe_files(folder or images_folder(), recipe).items():
        if _part(name) != HOST_FOLDER:
            total.update(f"{name}\0{len(content)}\0".encode() + content)
    return total.hexdigest()[:16]


def _part(name: str) -> str:
    """The folder of the recipes' folder that a file lies in."""
    return name.partition("/")[0]
