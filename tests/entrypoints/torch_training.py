"""Real ranks of the scripts of PyTorch for tests, by Debian's: Gloo and DistributedDataParallel."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from sklearn.datasets import load_digits

from tests.entrypoints.horovod_ranks import Rank
from tests.entrypoints.lib.mnist_format import write_data_set
from tests.entrypoints.simulated import free_port
from tests.entrypoints.strategies.torch_ranks import PYTHON, environment, need_torch
from tests.places import ENTRYPOINTS

SCRIPT = ENTRYPOINTS / "train_torch.py"
SECONDS = 180.0


def write_digits(folder: Path) -> Path:
    """scikit-learn's digits as files, which Debian's Python reads without scikit-learn."""
    digits = load_digits()
    images, labels = digits.images * 15, digits.target
    write_data_set(folder, (images[:1440], labels[:1440]), (images[1440:], labels[1440:]))
    return folder


def run(
    folder: Path,
    arguments: Sequence[str],
    *,
    size: int = 2,
    script: Path = SCRIPT,
    during: Callable[[list[subprocess.Popen[bytes]], Path], None] | None = None,
    **variables: str,
) -> list[Rank]:
    """Runs a script on so many ranks, told their places as torchrun tells them; ends them all.

    Args:
        folder: For what they say, rank-0.out and so on.
        arguments: Of the script.
        size: Number of ranks; 1 runs without any of torchrun's variables.
        script: train_torch.py, or another.
        during: Called with the processes and ``folder`` once they have started.
        variables: More of the environment.
    """
    need_torch()
    folder.mkdir(parents=True, exist_ok=True)
    port = str(free_port())
    processes = []
    with contextlib.ExitStack() as files:
        try:
            for rank in range(size):
                out, err = (
                    files.enter_context(open(folder / f"rank-{rank}.{kind}", "wb"))
                    for kind in ("out", "err")
                )
                places = _places(rank, size, port) if size > 1 else {}
                processes.append(
                    subprocess.Popen(
                        [str(PYTHON), str(script), *arguments],
                        cwd=folder,
                        env={**environment(), **places, **variables},
                        stdin=subprocess.DEVNULL,
                        stdout=out,
                        stderr=err,
                        start_new_session=True,
                    )
                )
            if during:
                during(processes, folder)
            for process in processes:
                process.wait(SECONDS)
        finally:
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return [
        Rank(
            process.returncode,
            (folder / f"rank-{rank}.out").read_text(),
            (folder / f"rank-{rank}.err").read_text(),
        )
        for rank, process in enumerate(processes)
    ]


def _places(rank: int, size: int, port: str) -> dict[str, str]:
    told = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": size}
    contact = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    return {**contact, **{name: str(value) for name, value in told.items()}}
