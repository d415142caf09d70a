"""`launch local --strategy torch` beside torchrun, the same script on two ranks in turn; and what
the guard adds at the start with the hooks of each strategy.
TORCH names a Python that has torch; else the environment of `make compat-strategies` is taken,
where it was made. Debian's python3-torch 1.13 has a torchrun that fails on Debian's Python 3.11, so
it gives the start-up alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from launchers.machine.devices import visible_gpus
from tests.benchmarks.measure import (
    CACHE,
    cost_of,
    median,
    print_table,
    quiet_environment,
    with_spread,
)
from tests.benchmarks.training import free_port
from tests.entrypoints.strategies import jax_scripts
from tests.places import ENTRYPOINTS, ROOT
from tests.sagemaker.released import installed

# 100,000 parameters in 6 tensors, as in steps.py: a step of a few milliseconds.
_SCRIPT = """\
import time
moments = {"started": time.time()}
import json, os, statistics
import torch
import torch.distributed as dist
torch.set_num_threads(1)
device, backend = os.environ["DEVICE"], "nccl" if os.environ["DEVICE"] == "cuda" else "gloo"
# By this NCCL takes ranks that share a GPU for ranks of two hosts; else it refuses them.
os.environ["NCCL_HOSTID"] = os.environ["RANK"]
dist.init_process_group(backend)
moments["joined"] = time.time()
layers = []
for width in (256, 256):
    layers += [torch.nn.LazyLinear(width), torch.nn.ReLU()]
plain = torch.nn.Sequential(*layers, torch.nn.LazyLinear(10)).to(device)
x, y = torch.randn(32, 64, device=device), torch.randint(10, (32,), device=device)
plain(x)
model = torch.nn.parallel.DistributedDataParallel(plain)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def step():
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()


step()
moments["stepped"] = time.time()
times = []
for _ in range(6):
    begin = time.perf_counter()
    for _ in range(100):
        step()
    if device == "cuda":
        torch.cuda.synchronize()
    times.append(time.perf_counter() - begin)
if dist.get_rank() == 0:
    moments["ended"] = time.time()
    with open(os.environ["FIGURES"], "w") as file:
        rate = 100 / statistics.median(times[1:])
        json.dump({"rate": rate, "cpu": time.process_time(), "moments": moments}, file)
"""
FIGURES = {
    "first step, s": "from the command to the end of the first step",
    "steps/s": "100 steps a block, the median of 5 blocks",
    "end, s": "from the script's last line to the command's end",
    "CPU s": "of rank 0's process, from its start to the script's last line",
}
# A script that marks its first line, and the moment when what is hooked was imported.
_MARKS = """\
import time
first = time.time()
import {module}
print(first, time.time(), file=open({path!r}, "w"))
"""
HOOKED = {
    "torch": "torch.distributed",
    "horovod": "horovod.tensorflow",
    "tensorflow": "tensorflow",
    "jax": "jax",
}


def run(runs: int) -> None:
    """Print both tables. Blocks for minutes."""
    python = python_with_torch()
    with tempfile.TemporaryDirectory() as name:
        if python and _runs_torchrun(Path(name), python):
            beside_torchrun(Path(name) / "cpu", python, "cpu", max(runs, 5))
        _start_up(Path(name), python, max(runs, 5))


def python_with_torch() -> str | None:
    """The one that TORCH names, that of `make compat-strategies`, or Debian's."""
    made = sorted(str(one) for one in CACHE.glob("compat-torch-*/bin/python"))
    for python in (os.environ.get("TORCH"), *made, "/usr/bin/python3"):
        if python and Path(python).exists() and _has(python, "torch"):
            return python
    print("no Python with torch: TORCH=PYTHON, or make compat-strategies", file=sys.stderr)
    return None


def _runs_torchrun(folder: Path, python: str) -> bool:
    (folder / "nothing.py").write_text("")
    words = [python, "-m", "torch.distributed.run", "--standalone", "nothing.py"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        print(f"not measured beside torchrun, which fails in {python}: {last}", file=sys.stderr)
    return not done.returncode


def _has(python: str, module: str) -> bool:
    ask = f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", ask], check=False).returncode == 0


def beside_torchrun(folder: Path, python: str, device: str, runs: int) -> None:
    """Print the table of one device.

    Args:
        folder: To be made.
        device: ``cpu``, or ``cuda`` of which both ranks use the first.
    """
    folder.mkdir()
    (folder / "steps.py").write_text(_SCRIPT)
    ours = [sys.executable, "-m", "launchers.cli.main", "local", "steps.py", "--no-file"]
    ours += ["--strategy", "torch", "--python", python]
    # Hosts share a GPU by wish; of one host's ranks each would need one of its own.
    on_gpu = ("--instances", "2", "--gpus", "1", "--pin-gpu", "none")
    ours += on_gpu if device == "cuda" else ("--instances", "1", "--processes", "2")
    theirs = [python, "-m", "torch.distributed.run", "--nproc_per_node", "2"]
    found: dict[str, list[dict[str, float]]] = {"launch local": [], "torchrun": []}
    for index in range(runs + 1):
        port = ["--master_port", str(free_port()), "steps.py"]
        for label, command in (("launch local", ours), ("torchrun", [*theirs, *port])):
            figures = _figures(folder, f"{label}{index}".replace(" ", ""), command, device)
            if index:
                found[label].append(figures)
    _print_beside(found, python, device, runs)


def _figures(folder: Path, name: str, command: Sequence[str], device: str) -> dict[str, float]:
    """Column -> figure of one run."""
    kept = folder / f"{name}.json"
    gpu = next(iter(visible_gpus()), "")
    # One for each host of launch; torchrun's ranks take the first.
    shown = f"{gpu},{gpu}" if name.startswith("launch") else gpu
    environment = quiet_environment(
        LAUNCH_HOME=str(folder / name),
        PYTHONPATH=str(ROOT),
        OMP_NUM_THREADS="1",
        DEVICE=device,
        CUDA_VISIBLE_DEVICES=shown if device == "cuda" else "",
        NCCL_SOCKET_IFNAME="lo",
        FIGURES=str(kept),
    )
    begin = time.time()
    cost = cost_of(command, folder, environment)
    end = begin + cost.wall
    found = json.loads(kept.read_text())
    moments = found["moments"]
    return {
        "first step, s": moments["stepped"] - begin,
        "steps/s": found["rate"],
        "end, s": end - moments["ended"],
        "CPU s": found["cpu"],
    }


def _print_beside(
    found: Mapping[str, Sequence[Mapping[str, float]]], python: str, device: str, runs: int
) -> None:
    rows = []
    for column, what in FIGURES.items():
        ours, theirs = ([one[column] for one in found[name]] for name in found)
        ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
        digits = 0 if column == "steps/s" else 2
        spread = with_spread(ratios)
        cells = [f"{median(ours):.{digits}f}", f"{median(theirs):.{digits}f}", spread]
        rows.append([column, what, *cells])
    version = _said_by(python, "import torch; print(torch.__version__)")
    where = "NCCL, two ranks on one GPU" if device == "cuda" else "Gloo, two ranks on one host"
    print_table(
        f"torch {version}, DDP over {where}, 100,000 parameters, medians of {runs} runs in turn",
        ["figure", "what", *found, "ratio"],
        rows,
    )


def _said_by(python: str, program: str) -> str:
    return subprocess.run(
        [python, "-c", program], capture_output=True, text=True, check=True
    ).stdout.strip()


def _start_up(folder: Path, torch_python: str | None, runs: int) -> None:
    rows = []
    for strategy, module in HOOKED.items():
        python = torch_python if strategy == "torch" else sys.executable
        packages = _jax() if strategy == "jax" else None
        if not python or not (packages or _has(python, module.partition(".")[0])):
            print(f"start-up with {strategy}: no Python that has it", file=sys.stderr)
            continue
        none, hooked = _marks(folder, python, packages, strategy, runs)
        for index, moment in enumerate(("first line", f"import {module}")):
            plain, ours = (median([one[index] for one in found]) for found in (none, hooked))
            row = [f"{plain:.2f}", f"{ours:.2f}", f"{ours - plain:+.2f}"]
            rows.append([strategy, moment, *row])
    print_table(
        f"The guard's start, wall s from the agent's start, medians of {runs} runs in turn",
        ["hooks of", "up to the end of", "strategy none", "with the hooks", "added"],
        rows,
    )


def _jax() -> Path | None:
    """The packages that the tests of JAX run, which want Python 3.11."""
    return installed(*jax_scripts.PACKAGES) if sys.version_info >= (3, 11) else None


def _marks(
    folder: Path, python: str, packages: Path | None, strategy: str, runs: int
) -> tuple[list[list[float]], list[list[float]]]:
    """Seconds up to both moments, of each counted run: under none, and under ``strategy``."""
    module = HOOKED[strategy]
    source = folder / f"start-{strategy}"
    source.mkdir()
    marks = source / "marks"
    (source / "first.py").write_text(_MARKS.format(module=module, path=str(marks)))
    found: dict[str, list[list[float]]] = {"none": [], strategy: []}
    for index in range(runs + 1):
        for name, kept in found.items():
            begin = time.time()
            subprocess.run(
                [python, str(ENTRYPOINTS / "agent.py"), "first.py"],
                cwd=source,
                env=_one_rank(source, name, packages),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=True,
            )
            if index:
                kept.append([float(word) - begin for word in marks.read_text().split()])
    return found["none"], found[strategy]


def _one_rank(source: Path, strategy: str, packages: Path | None) -> dict[str, str]:
    one_host = {"hosts": [{"name": "host-1", "address": "127.0.0.1"}], "index": 0}
    return quiet_environment(
        LAUNCH_WORLD_SIZE="1",
        LAUNCH_INSTANCES="1",
        LAUNCH_PROCESSES="1",
        LAUNCH_PIN_GPU="none",
        LAUNCH_SOURCE_DIR=str(source),
        LAUNCH_CLUSTER=json.dumps({**one_host, "port": free_port()}),
        TF_CPP_MIN_LOG_LEVEL="2",
        CUDA_VISIBLE_DEVICES="",
        **({"PYTHONPATH": str(packages)} if packages else {}),
        **({} if strategy == "horovod" else {"LAUNCH_STRATEGY": strategy}),
    )
