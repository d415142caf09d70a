"""Which image a job gets: the user's own, or an AWS Deep Learning Container with Horovod."""

from __future__ import annotations

from dataclasses import dataclass

from launchers.core.analysis.keras_choice import Stack, stack_of_image
from launchers.core.model.problems import LaunchError, Problem
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.options import SageMakerJob
from launchers.sagemaker.planning.account import Account
from launchers.sagemaker.planning.machine_choice import MachineChoice
from launchers.sagemaker.rules.machines import image_problems
from launchers.sagemaker.tables import images

# The last one that carries Horovod (images.json).
DEFAULT_FRAMEWORK = "tensorflow-2.12"


@dataclass(frozen=True)
class ImageChoice:
    """The image's address, what is known of it, and where the choice came from."""

    uri: str
    origin: str
    found: images.Image | None = None
    problems: tuple[Problem, ...] = ()

    def described(self) -> str:
        """What of Horovod the job will run, in a line."""
        if self.found is None:
            return "an image of yours; `launch image check` looks into it"
        parts = [self.found.horovod_text, self.found.end_of_patch_text]
        return "; ".join(part for part in parts if part)

    def stack(self) -> Stack:
        """What is known of its TensorFlow; nothing says whether AWS's newer ones have tf-keras."""
        if self.found is None:
            return stack_of_image(self.uri)
        if self.found.framework == "tensorflow":
            return Stack(self.found.version or None)
        return Stack("", "", "") if self.found.framework == "pytorch" else Stack()


def choose_image(job: SageMakerJob, machine: MachineChoice, account: Account) -> ImageChoice:
    """``--image`` as it is, else the address of ``--framework`` in the account's region."""
    if job.image is not None:
        clash = _clash(job)
        return ImageChoice(job.image, "--image", images.parse(job.image), clash)
    wanted = job.options.framework or DEFAULT_FRAMEWORK
    origin = "--framework" if job.options.framework else "default"
    try:
        image = images.lookup(wanted, machine.gpus > 0, account.region)
    except LaunchError as error:
        return ImageChoice("", origin, problems=error.problems)
    known = [machine.found] if machine.found else []
    # The document's own rules say the same again; a dry run of a refused image has no document.
    problems = tuple(image_problems(image, known))
    return ImageChoice(image.uri, origin, image, problems)


def _clash(job: SageMakerJob) -> tuple[Problem, ...]:
    if job.options.framework is None:
        return ()
    return (
        RULES["image-twice"].at("--framework", f"{job.options.framework} together with --image"),
    )
