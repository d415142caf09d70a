"""Reads what is in each AWS Deep Learning Container, from the Dockerfiles it came from: which
Horovod, and which scripts run before anything else.

The repository github.com/aws/deep-learning-containers tags every release, `v1.4-tf-sagemaker-2.12.0
-tr-gpu-py310`; the Dockerfile at the tag says what is in the image. `--repository` is a clone with
its tags. The result is sagemaker_dockerfiles.json, from which sagemaker_images makes images.json.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from infra.refresh.files import Document, main

FILE = Path(__file__).with_name("sagemaker_dockerfiles.json")
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("--repository", {"required": True, "help": "a clone of aws/deep-learning-containers"}),
]

# The oldest whose Dockerfiles are read; older images are refused for their Python.
OLDEST = {"tensorflow": (2, 4), "pytorch": (1, 4)}
_FRAMEWORKS = {"tf": "tensorflow", "pt": "pytorch"}
_TAG = re.compile(
    r"v(\d+)\.(\d+)-(tf|pt)-(?:sagemaker-)?(\d+\.\d+\.\d+)(?:-tr)?(?:-(cpu|gpu))?-py(\d)(\d+)"
    r"(?:-(cpu|gpu))?"
)
_COPIED = re.compile(r"COPY (?:\S+ )*\S*?([\w-]+\.(?:sh|py)) /usr/local/bin/\S*$")


class Release(NamedTuple):
    """A release tag: the image that it made."""

    number: tuple[int, int]
    tag: str
    framework: str
    version: str
    python: str


def make(options: argparse.Namespace, old: Document) -> Document:
    """One row for each framework version, from its newest release tag of each processor."""
    repository = Path(options.repository)
    newest: dict[tuple[str, str], dict[str, Release]] = {}
    for tag in _git(repository, "tag").split():
        for processor, release in _releases(tag):
            of_version = newest.setdefault((release.framework, release.version), {})
            if processor not in of_version or release.number > of_version[processor].number:
                of_version[processor] = release
    images = [
        _row(repository, of_version)
        for _, of_version in sorted(newest.items(), key=lambda item: _order(item[0]))
    ]
    known = {(image["framework"], image["version"]) for image in images}
    images += _documented(repository, known)
    return {
        "about": "What AWS's Dockerfiles put into its training images. Generated; do not edit.",
        "sources": {
            "repository": "github.com/aws/deep-learning-containers",
            "images": "the Dockerfile at the release tag in read_from",
            "end_of_patch": f"docs/src at commit {_git(repository, 'rev-parse', 'HEAD').strip()}",
        },
        "date": "",
        "end_of_patch": _end_of_patch(repository),
        "images": images,
    }


def _git(repository: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(repository), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


def _show(repository: Path, tag: str, path: str) -> str:
    try:
        return _git(repository, "show", f"{tag}:{path}")
    except subprocess.CalledProcessError:
        return ""


def _order(key: tuple[str, str]) -> tuple[str, list[int]]:
    framework, version = key
    return framework, [int(part) for part in version.split(".")]


def _releases(tag: str) -> Iterator[tuple[str, Release]]:
    match = _TAG.fullmatch(tag)
    if match is None:
        return
    major, minor, short, version, before, python_major, python_minor, after = match.groups()
    framework = _FRAMEWORKS[short]
    if tuple(int(part) for part in version.split("."))[:2] < OLDEST[framework]:
        return
    for processor in [before or after] if before or after else ["gpu", "cpu"]:
        number = (int(major), int(minor))
        yield processor, Release(number, tag, framework, version, f"{python_major}.{python_minor}")


def _row(repository: Path, releases: dict[str, Release]) -> Document:
    release = releases.get("gpu") or releases["cpu"]
    cuda = _cuda(repository, release)
    processor = "gpu" if "gpu" in releases else "cpu"
    return {
        "framework": release.framework,
        "version": release.version,
        "python": release.python,
        "cuda": f"{cuda[2:-1]}.{cuda[-1]}",
        "horovod": {
            kind: horovod_in(_dockerfile(repository, releases[kind], kind, cuda))
            for kind in ("gpu", "cpu")
            if kind in releases
        },
        **starts_in(_dockerfile(repository, release, processor, cuda)),
        "last_release": _git(repository, "log", "-1", "--format=%cs", release.tag).strip(),
        "read_from": release.tag,
    }


def _files(repository: Path, release: Release) -> list[str]:
    """The training Dockerfiles of the release's framework version."""
    folder = f"{release.framework}/training/docker"
    short = release.version.rsplit(".", 1)[0]
    listing = _git(repository, "ls-tree", "-r", "--name-only", release.tag, "--", folder).split()
    versioned = rf"{folder}/(?:{re.escape(release.version)}|{re.escape(short)})/py3"
    return [
        file
        for file in listing
        if re.fullmatch(rf"{versioned}(?:/cu\d+)?/Dockerfile(?:\.\w+)?\.(?:cpu|gpu)", file)
    ]


def _cuda(repository: Path, release: Release) -> str:
    """``cu118``: what the release was built with, where its version has several folders."""
    for listing in ("release_images_training.yml", "release_images.yml"):
        content = yaml.safe_load(_show(repository, release.tag, listing)) or {}
        for entry in content.get("release_images", {}).values():
            if (
                entry.get("framework") == release.framework
                and str(entry.get("version")) == release.version
                and entry.get("customer_type") in (None, "sagemaker")
                and "gpu" in entry.get("training", {}).get("device_types", ())
            ):
                return str(entry["training"]["cuda_version"])
    folders = {
        match[1] for file in _files(repository, release) if (match := re.search(r"/(cu\d+)/", file))
    }
    return max(folders, key=lambda folder: int(folder[2:]))


def _dockerfile(repository: Path, release: Release, processor: str, cuda: str) -> str:
    """The SageMaker image's Dockerfile, behind the one that it builds upon where these are two."""
    end = f"/{cuda}/Dockerfile" if processor == "gpu" else "/py3/Dockerfile"
    files = {
        file.rsplit("/Dockerfile", 1)[1]: file
        for file in _files(repository, release)
        if f"{file.rsplit('/Dockerfile', 1)[0]}/Dockerfile".endswith(end)
    }
    whole = files.get(f".{processor}")
    if whole is not None:
        return _show(repository, release.tag, whole)
    own = _show(repository, release.tag, files[f".sagemaker.{processor}"])
    base = next(files[kind] for kind in (f".ec2.{processor}", f".e3.{processor}") if kind in files)
    return _show(repository, release.tag, base) + "\n" + own


def starts_in(dockerfile: str) -> Document:
    """What the SageMaker image runs before the command of a request: its entry point, and the
    scripts that it has in /usr/local/bin."""
    lines = [line.strip() for line in _sagemaker_stage(dockerfile)]
    entries = [line.partition(" ")[2] for line in lines if line.startswith("ENTRYPOINT ")]
    copied = (re.match(_COPIED, line) for line in lines)
    return {
        "entry": " ".join(yaml.safe_load(entries[-1])) if entries else "",
        "scripts": sorted({match[1] for match in copied if match}),
    }


def horovod_in(dockerfile: str) -> str | None:
    """The version of Horovod that a Dockerfile installs into its SageMaker image, or None."""
    lines = _sagemaker_stage(dockerfile)
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    installed = re.findall(r"horovod(?:\[[^\]]*\])?==(\$\{?\w+\}?|[\d.]+)", text)
    if not installed:
        return None
    version = str(installed[-1])
    if version.startswith("$"):
        name = version.strip("${}")
        (version,) = set(re.findall(rf"{name}=([\d.]+)", text))
    return version


def _sagemaker_stage(dockerfile: str) -> list[str]:
    """The lines of the stage `sagemaker` and of those that it builds upon; all without it."""
    stages: dict[str, tuple[str, list[str]]] = {}
    lines: list[str] = []
    for line in dockerfile.splitlines():
        match = re.match(r"FROM\s+(\S+)(?:\s+AS\s+(\S+))?", line, re.IGNORECASE)
        if match:
            lines = []
            stages[match[2] or match[1]] = (match[1], lines)
        lines.append(line)
    if "sagemaker" not in stages:
        return dockerfile.splitlines()
    chain: list[str] = []
    stage = "sagemaker"
    while stage in stages:
        stage, lines = stages[stage]
        chain = lines + chain
    return chain


def _documentation(repository: Path) -> Iterator[Document]:
    """The entries of the images that the repository's documentation lists today."""
    paths = _git(repository, "ls-tree", "-r", "--name-only", "HEAD", "--", "docs/src/data").split()
    for path in paths:
        folder = path.split("/")[-2]
        listed = folder in ("tensorflow-training", "pytorch-training", "pytorch")
        if listed and path.endswith("-sagemaker.yml"):
            entry: Document = yaml.safe_load(_show(repository, "HEAD", path))
            yield {"repository": folder, **entry}


def _documented(repository: Path, known: set[tuple[str, str]]) -> Iterator[Document]:
    """Rows of images that are documented and built without the old Dockerfiles and tags, which
    the ``known`` ones have.

    None of what builds them installs Horovod; that is checked here.
    """
    builders = _git(repository, "ls-tree", "-r", "--name-only", "HEAD", "--", "docker").split()
    for file in builders:
        if re.search(r"/(?:tensorflow|pytorch)/", file):
            assert "horovod" not in _show(repository, "HEAD", file).lower(), file
    for entry in _documentation(repository):
        if entry["accelerator"] != "gpu":
            continue
        framework, version = str(entry["framework"]).lower(), str(entry["tags"][0]).split("-")[0]
        if (framework, version) in known:
            continue
        python = str(entry["python"])
        cuda = str(entry["cuda"])
        row = {
            "framework": framework,
            "version": version,
            "python": f"{python[2]}.{python[3:]}",
            "cuda": f"{cuda[2:-1]}.{cuda[-1]}",
            "horovod": {"gpu": None, "cpu": None},
            **starts_in(_built_by(repository, framework, version)),
            "read_from": f"docs/src/data/{entry['repository']}",
        }
        if entry["repository"] == "pytorch":
            # Tags without processor and Python: 2.11.0-cu130-amzn2023-sagemaker.
            row["repository"] = "pytorch"
        yield row


def _built_by(repository: Path, framework: str, version: str) -> str:
    """The Dockerfile of a documented image: one of its own minor version, or one for all."""
    for folder in (f"{framework}/{version.rpartition('.')[0]}", framework):
        found = _show(repository, "HEAD", f"docker/{folder}/Dockerfile.cuda")
        if found:
            return found
    raise FileNotFoundError(f"{framework} {version}: no Dockerfile below docker/")


def _end_of_patch(repository: Path) -> dict[str, str]:
    """``tensorflow 2.18``: the day, for every version that AWS's support policy still names."""
    days: dict[tuple[str, str], str] = {}
    legacy = yaml.safe_load(_show(repository, "HEAD", "docs/src/legacy/legacy_support.yml"))
    for framework in OLDEST:
        days.update({(framework, row["version"]): row["eop"] for row in legacy[framework]})
    for entry in _documentation(repository):
        days[str(entry["framework"]).lower(), entry["version"]] = str(entry["eop"])
    return {" ".join(key): days[key] for key in sorted(days, key=_order)}


if __name__ == "__main__":
    raise SystemExit(main("infra.refresh.sagemaker_dockerfiles", FILE, make, OPTIONS))
