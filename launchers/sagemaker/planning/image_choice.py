"""Which image a job gets: the user's own, or an AWS Deep Learning Container with what its ranks
train by."""

from __future__ import annotations

from dataclasses import dataclass

from launchers.core.analysis.keras_choice import Stack, stack_of_image
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.strategies import FIRST
from launchers.core.strategies.strategy import Strategy
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.options import SageMakerJob
from launchers.sagemaker.planning.account import Account
from launchers.sagemaker.planning.machine_choice import MachineChoice
from launchers.sagemaker.rules.images import image_problems
from launchers.sagemaker.tables import images
from launchers.sagemaker.tables.image_defaults import FRAMEWORKS, newest

# The last one that carries Horovod (images.json).
DEFAULT_FRAMEWORK = "tensorflow-2.12"
_TITLES = {"tensorflow": "TensorFlow", "pytorch": "PyTorch"}


@dataclass(frozen=True)
class ImageChoice:
    """The image's address, what is known of it, and where the choice came from."""

    uri: str
    origin: str
    found: images.Image | None = None
    problems: tuple[Problem, ...] = ()
    needs_horovod: bool = True

    def described(self) -> str:
        """What of it the job will run, in a line."""
        if self.found is None:
            return "an image of yours; `launch image check` looks into it" if self.uri else ""
        what = self.found.horovod_text if self.needs_horovod else _contents(self.found)
        parts = [what, self.found.end_of_patch_text]
        return "; ".join(part for part in parts if part)

    def stack(self) -> Stack:
        """What is known of its TensorFlow; nothing says whether AWS's newer ones have tf-keras."""
        if self.found is None:
            return stack_of_image(self.uri)
        if self.found.framework == "tensorflow":
            return Stack(self.found.version or None)
        return Stack("", "", "") if self.found.framework == "pytorch" else Stack()


def choose_image(
    job: SageMakerJob, machine: MachineChoice, account: Account, strategy: Strategy, package: str
) -> ImageChoice:
    """``--image`` as it is, else the address of ``--framework`` in the account's region, else the
    default for what the ranks train by.

    Args:
        package: The framework that the script needs, by the name of its Python package; empty
            where nothing says it.
    """
    horovod = strategy.name == FIRST
    if job.image is not None:
        clash = _clash(job)
        return ImageChoice(job.image, "--image", images.parse(job.image), clash, horovod)
    known = [machine.found] if machine.found else []
    framework = FRAMEWORKS.get(package)
    if horovod or job.options.framework:
        wanted = job.options.framework or DEFAULT_FRAMEWORK
        origin = "--framework" if job.options.framework else "default"
        try:
            image = images.lookup(wanted, machine.gpus > 0, account.region)
        except LaunchError as error:
            return ImageChoice("", origin, None, error.problems, horovod)
    else:
        found = newest(framework or "pytorch", known, account.region)
        if found is None or (package and framework is None):
            problem = _no_default(strategy, package, machine.name)
            return ImageChoice("", "", None, (problem,), horovod)
        image = found
        origin = f"default: the newest of AWS's for {_TITLES[image.framework]}"
    # The document's own rules say the same again; a dry run of a refused image has no document.
    problems = tuple(image_problems(image, known, horovod, framework=framework))
    return ImageChoice(image.uri, origin, image, problems, horovod)


def _contents(image: images.Image) -> str:
    parts = [f"{_TITLES.get(image.framework, image.framework)} {image.version}".strip()]
    parts += [f"Python {image.python}"] if image.python else []
    parts += [f"CUDA {image.cuda}"] if image.cuda else []
    return ", ".join(parts)


def _no_default(strategy: Strategy, package: str, machine: str) -> Problem:
    found = f"none, and no image of AWS's has {package}"
    if package in FRAMEWORKS:
        found = f"none, and no image of AWS's with {package} can drive {machine}"
    return RULES["image-default"].at("--image", found, f"an image with what {strategy.title} needs")


def _clash(job: SageMakerJob) -> tuple[Problem, ...]:
    if job.options.framework is None:
        return ()
    return (
        RULES["image-twice"].at("--framework", f"{job.options.framework} together with --image"),
    )
