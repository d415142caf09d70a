"""The checks of this machine."""

from __future__ import annotations

from functools import partial

from launchers.core.model.problems import EXIT_BAD_REQUEST
from launchers.core.prerequisites import IMPORT_SECONDS, Check, Doctor
from launchers.core.spec.job import JobSpec
from launchers.local.doctor import machine
from launchers.local.doctor.python import Probed


class LocalDoctor(Doctor):
    """This machine, as `launch local` uses it."""

    title = "this machine (launch local)"
    exit_code = EXIT_BAD_REQUEST

    def checks(self, job: JobSpec, offline: bool) -> list[Check]:
        """The ranks' Python first, then what they run on."""
        probed = Probed(getattr(job.options, "python", None))
        slow = partial(Check, seconds=IMPORT_SECONDS)
        return [
            slow("ranks' Python", probed.interpreter),
            slow("Horovod", probed.horovod),
            slow("TensorFlow", probed.tensorflow),
            slow("PyTorch", probed.torch),
            slow("JAX", probed.jax),
            Check("pictures", probed.pictures),
            slow("compiler", probed.compiler),
            slow("GPUs", probed.gpus),
            Check("Open MPI", machine.open_mpi),
            Check("CPUs", machine.cpus),
            Check("memory", machine.memory),
            Check("shared memory", machine.shared_memory),
            Check("open files", machine.open_files),
            Check("host name", machine.host_name),
            Check("loopback", machine.loopback),
        ]
