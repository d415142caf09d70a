"""Amazon SageMaker training jobs: Horovod ranks by the service's own MPI distribution, those of
other strategies by our agent.

For notebooks: :func:`job` describes a job, :func:`estimator` makes the SageMaker SDK's estimator
of it. Importing this package imports neither the SDK nor anything else of weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from launchers.sagemaker.options import SageMakerJob


def job(script: str | None = None, **fields: Any) -> SageMakerJob:
    """A job from Python values, under the keys that launch.yaml has.

    Args:
        script: The training script; without one, the script that comes with the launcher.
        fields: ``instances``, ``gpus``, ``args``, ``env``, ``max_runtime="4h"`` and all other
            common keys of launch.yaml, and those below its ``sagemaker:`` (``role``,
            ``channels``, ...). Values are Python's: a list, a dict, True.

    Raises:
        launchers.core.model.problems.LaunchError: With every unknown key and every wrong value.

    Example:
        >>> job("train.py", instances=2, gpus=4, args=["--epochs", 3]).arguments
        ('--epochs', '3')
    """
    from launchers.core.reading.job_values import job_from_values
    from launchers.sagemaker.launcher import SAGEMAKER

    return job_from_values(SAGEMAKER, {"script": script, **fields})


def estimator(job: SageMakerJob, **overrides: Any) -> Any:
    """The SageMaker SDK's estimator of ``job``; ``fit()`` sends the request that
    ``launch sagemaker --dry-run`` prints.

    Nothing is sent here. ``fit()`` uploads the source bundle and starts the job, and takes the
    data of the job's ``channels`` where it is given no inputs.

    Args:
        job: What :func:`job` makes. It must name ``role`` and ``bucket``; without a region, that
            of the session counts.
        overrides: Arguments of the SDK's own estimator for what a job does not decide, such as
            ``sagemaker_session`` or ``profiler_config``.

    Returns:
        A ``sagemaker.tensorflow.TensorFlow``; for a PyTorch image, and for ranks of PyTorch in an
        image of one's own, a ``sagemaker.pytorch.PyTorch``.

    Raises:
        launchers.core.model.problems.LaunchError: The installed SDK will not do; the job breaks a
            rule or leaves a placeholder; an override is unknown, or is the job's to decide.
    """
    from launchers.sagemaker.sdk.notebook import make_estimator

    return make_estimator(job, overrides)
