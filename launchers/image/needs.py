"""What each provider needs of an image, as a table over the facts that the probe found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from launchers.core.model.image_needs import ImageNeeds, Part

Facts = Mapping[str, Any]

SAGEMAKER, VERTEX = "sagemaker", "vertex"
PROVIDERS = (SAGEMAKER, VERTEX)
TITLES = {SAGEMAKER: "SageMaker", VERTEX: "Vertex AI"}
OLDEST_PYTHON = (3, 8)  # agent.py and guard.py keep to it
KERAS_3 = (2, 16)  # TensorFlow's first release with Keras 3
# Versions that Horovod 0.28.1 was seen to compile and run with.
TENSORFLOW_RANGE = "2.8 to 2.18"


@dataclass(frozen=True)
class Need:
    """One row of the table.

    Attributes:
        name: A stable identifier, for ``--json``.
        title: The row's words.
        providers: Who needs it.
        found: What the image has, for a person; empty where it lacks it.
        good: Whether that is enough.
        fix: What to add to the image.
        applies: Whether this kind of image needs it at all.
        rule: Which of rules.json it is; ``image-`` and its name where empty.
        is_advice: An image without it runs all the same.
    """

    name: str
    title: str
    providers: tuple[str, ...]
    found: Callable[[Facts], str]
    good: Callable[[Facts], bool]
    fix: str
    applies: Callable[[Facts], bool] = lambda facts: True
    rule: str = ""
    is_advice: bool = False


def version(text: str) -> tuple[int, ...]:
    """The first two numbers of a version, ``(0, 0)`` where there are none."""
    numbers = [part for part in text.replace("-", ".").split(".")[:2] if part.isdecimal()]
    return tuple(int(part) for part in numbers) if len(numbers) == 2 else (0, 0)


def _package(name: str) -> Callable[[Facts], str]:
    return lambda facts: str(facts["versions"].get(name) or "")


def _frameworks(facts: Facts) -> str:
    names = {"tensorflow": "TensorFlow", "torch": "PyTorch"}
    found = {title: facts["versions"].get(name) for name, title in names.items()}
    return ", ".join(f"{title} {number}" for title, number in found.items() if number)


def _horovod(facts: Facts) -> str:
    number = facts["versions"].get("horovod")
    if not number:
        return ""
    bindings = [name for name, parts in facts["horovod"].items() if "error" not in parts]
    broken = [parts["error"] for parts in facts["horovod"].values() if "error" in parts]
    return f"{number} for {', '.join(bindings)}" if bindings else f"{number}: {'; '.join(broken)}"


def _has(part: str) -> Callable[[Facts], bool]:
    return lambda facts: any(parts.get(part) for parts in facts["horovod"].values())


def _built(part: str) -> Callable[[Facts], str]:
    has = _has(part)
    return lambda facts: "built in" if has(facts) else ""


def _reason_or(good: str, reason: Callable[[Facts], str]) -> Callable[[Facts], str]:
    return lambda facts: reason(facts) or good


_HOROVOD_BUILD = (
    "build Horovod after the framework, with HOROVOD_WITH_TENSORFLOW=1 (or HOROVOD_WITH_PYTORCH=1)"
)

KEYS = "private-keys"
_NO_KEYS = Need(
    KEYS,
    "no private key in a file",
    PROVIDERS,
    lambda facts: str(facts["answers"].get(KEYS) or facts["errors"].get(KEYS)),
    lambda facts: KEYS in facts["answers"],
    "who can pull the image has them: take them out in the layer that brings them, and make keys "
    "of ssh when a container starts",
    is_advice=True,
)

NEEDS = (
    Need(
        "architecture",
        "built for amd64",
        PROVIDERS,
        lambda facts: str(facts["architecture"]),
        lambda facts: facts["architecture"] == "amd64",
        "build it with --platform linux/amd64: the clouds' GPU machines run nothing else",
    ),
    Need(
        "python",
        "Python 3.8 or newer",
        PROVIDERS,
        lambda facts: str(facts["python"]),
        lambda facts: version(facts["python"]) >= OLDEST_PYTHON,
        "take a base with a newer Python, as python3 or python on PATH",
    ),
    Need(
        "framework",
        "TensorFlow or PyTorch",
        PROVIDERS,
        _frameworks,
        lambda facts: bool(_frameworks(facts)),
        f"pip install tensorflow (Horovod 0.28.1 runs with {TENSORFLOW_RANGE}), before Horovod",
    ),
    Need(
        "tf-keras",
        "tf-keras, from TensorFlow 2.16 on",
        PROVIDERS,
        _package("tf-keras"),
        lambda facts: bool(facts["versions"].get("tf-keras")),
        "pip install tf-keras of TensorFlow's minor version: the Keras 2 that Horovod needs",
        applies=lambda facts: version(facts["versions"].get("tensorflow") or "") >= KERAS_3,
    ),
    Need(
        "horovod",
        "Horovod with that framework",
        PROVIDERS,
        _horovod,
        lambda facts: any("error" not in parts for parts in facts["horovod"].values()),
        _HOROVOD_BUILD,
    ),
    Need(
        "horovod-gloo",
        "Horovod's Gloo controller",
        (VERTEX,),
        _built("gloo"),
        _has("gloo"),
        f"{_HOROVOD_BUILD} and HOROVOD_WITH_GLOO=1",
    ),
    Need(
        "horovod-mpi",
        "Horovod's MPI controller",
        (SAGEMAKER,),
        _built("mpi"),
        _has("mpi"),
        f"{_HOROVOD_BUILD} and HOROVOD_WITH_MPI=1, with libopenmpi-dev installed",
    ),
    Need(
        "mpirun",
        "mpirun of Open MPI",
        (SAGEMAKER,),
        lambda facts: (
            f"{facts['mpirun']['version']} at {facts['mpirun']['path']}"
            if facts["mpirun"]["path"]
            else ""
        ),
        lambda facts: "Open MPI" in facts["mpirun"]["name"],
        "apt-get install openmpi-bin",
    ),
    Need(
        "mpi4py",
        "mpi4py",
        (SAGEMAKER,),
        lambda facts: " ".join(filter(None, (facts["versions"].get("mpi4py"), facts["mpi4py"]))),
        lambda facts: bool(facts["versions"].get("mpi4py")) and not facts["mpi4py"],
        "pip install mpi4py: the toolkit starts ranks through it",
    ),
    Need(
        "ranks",
        "two ranks find each other under mpirun",
        (SAGEMAKER,),
        _reason_or("world size 2", lambda facts: str(facts["ranks"])),
        lambda facts: not facts["ranks"],
        "see what `mpirun -np 2` of a script with hvd.init() says in the image",
        applies=lambda facts: _has("mpi")(facts) and bool(facts["mpirun"]["path"]),
    ),
    Need(
        "sshd",
        "sshd",
        (SAGEMAKER,),
        lambda facts: str(facts["sshd"]["path"]),
        lambda facts: bool(facts["sshd"]["path"]),
        "apt-get install openssh-server openssh-client, and mkdir -p /run/sshd",
    ),
    Need(
        "host-keys",
        "sshd's host keys",
        (SAGEMAKER,),
        lambda facts: ", ".join(facts["sshd"]["keys"]),
        lambda facts: bool(facts["sshd"]["keys"]),
        "RUN ssh-keygen -A",
        applies=lambda facts: bool(facts["sshd"]["path"]),
    ),
    Need(
        "root-login",
        "root reaches the other hosts by its key",
        (SAGEMAKER,),
        _reason_or("yes", lambda facts: str(facts["sshd"]["login"])),
        lambda facts: not facts["sshd"]["login"],
        "one key pair in /root/.ssh with its public key in authorized_keys (mode 600), "
        "`StrictHostKeyChecking no` in /etc/ssh/ssh_config, pam_loginuid optional in "
        "/etc/pam.d/sshd, user root",
        applies=lambda facts: bool(facts["sshd"]["path"]),
    ),
    Need(
        "pam",
        "sshd hands on /etc/environment (PAM)",
        (SAGEMAKER,),
        lambda facts: (
            "yes"
            if facts["sshd"]["environment"]
            else "UsePAM yes, but the variables do not arrive"
            if facts["sshd"]["pam"]
            else ""
        ),
        lambda facts: bool(facts["sshd"]["environment"]),
        "`UsePAM yes` in /etc/ssh/sshd_config and pam_env in /etc/pam.d/sshd: the toolkit hands "
        "the job's environment to other hosts' ranks that way",
        applies=lambda facts: bool(facts["sshd"]["path"]) and not facts["sshd"]["login"],
    ),
    Need(
        "toolkit",
        "sagemaker-training, with `train`",
        (SAGEMAKER,),
        lambda facts: " at ".join(
            filter(None, (facts["versions"].get("sagemaker-training"), facts["train"]))
        ),
        lambda facts: bool(facts["versions"].get("sagemaker-training") and facts["train"]),
        "pip install sagemaker-training (needs gcc and python3-dev; 5.1 for protobuf 5, else 4.9)",
    ),
    Need(
        "shim",
        "the toolkit's hostname shim",
        (SAGEMAKER,),
        _reason_or("works", lambda facts: str(facts["shim"])),
        lambda facts: not facts["shim"],
        "install sagemaker-training again in this image, with gcc and python3-dev",
        applies=lambda facts: bool(facts["versions"].get("sagemaker-training")),
    ),
    Need(
        "code",
        "/opt/ml/code empty",
        (SAGEMAKER,),
        lambda facts: "holds " + ", ".join(facts["code"]) if facts["code"] else "yes",
        lambda facts: not facts["code"],
        "RUN rm -rf /opt/ml/code/*: with files there the toolkit ignores the job's own source",
    ),
    _NO_KEYS,
)

# Whatever the ranks train by, agent and guard want this.
_OF_ALL = tuple(need for need in NEEDS if need.name in ("architecture", "python"))


def needs_of(strategy: ImageNeeds | None) -> tuple[Need, ...]:
    """The table of a strategy; Horovod's where it declares none of its own.

    Our agent starts the ranks of the others, on SageMaker too: no image needs a toolkit for it.
    """
    if strategy is None:
        return NEEDS
    return (*_OF_ALL, *(_row(part, strategy.packages) for part in strategy.parts), _NO_KEYS)


def _row(part: Part, packages: Sequence[str]) -> Need:
    """A part's row; what needs a package says nothing where that one is missing."""

    def found(facts: Facts) -> str:
        return str(facts["answers"].get(part.name) or facts["errors"].get(part.name) or "")

    def good(facts: Facts) -> bool:
        return bool(facts["answers"].get(part.name))

    def applies(facts: Facts) -> bool:
        return part.name in packages or all(name in facts["answers"] for name in packages)

    return Need(
        part.name, part.title, PROVIDERS, found, good, part.fix, applies, rule="image-strategy"
    )
