"""What one copy of a plain command line starts on its host."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from launchers.core.analysis.plain_start.shell import command_line
from launchers.core.analysis.plain_start.start import launched_words, read_start

SPAN = "--nnodes=2 --nproc_per_node=4"
MACHINES = "accelerate launch --num_processes 8 --num_machines 2"
# Words, what is read of them on a host with 4 GPUs where WORLD_SIZE is 2.
STARTS: list[tuple[str, dict[str, Any]]] = [
    ("horovodrun -np 4 python t.py", {"each": 4, "closed": True}),
    ("horovodrun --num-proc=4 -H localhost:4 python t.py", {"each": 4, "closed": True}),
    ("horovodrun -np 8 -H a:4,b:4 python t.py -np 2", {"ranks": 8, "finds": True}),
    ("python -m horovod.runner.launch -np 3 python t.py", {"each": 3, "closed": True}),
    ("/usr/bin/mpirun --allow-run-as-root -n 2 python t.py", {"each": 2, "closed": True}),
    ("mpirun -np 8 --hostfile /h python t.py", {"ranks": 8, "finds": True}),
    ("mpirun -np 2 -n 8 python t.py", {"each": 8, "text": "mpirun -np 8"}),
    ("horovodrun -np 2 --num-proc=8 python t.py", {"each": 8, "text": "horovodrun -np 8"}),
    ("horovodrun -np 2 -H a:2 -H localhost:2 python t.py", {"each": 2, "finds": False}),
    ("mpirun -np 2 -H a:2 -H localhost:2 python t.py", {"ranks": 2, "finds": True}),
    ("mpirun python t.py", {"each": None, "closed": True}),
    ("mpirun -np 0 python t.py", {"each": None, "closed": True}),
    ("mpirun -np 1 python a.py : -np 2 python b.py", {"each": None, "closed": True}),
    ("horovodrun --host-discovery-script d.sh -np 4 python t.py", {"closed": False, "each": None}),
    ("torchrun t.py", {"each": 1, "closed": True, "text": "torchrun"}),
    ("torchrun --nproc_per_node 4 t.py --nnodes 2", {"each": 4, "closed": True}),
    ("torchrun --nproc-per-node=gpu t.py", {"each": 4, "closed": True}),
    ("torchrun --nproc-per-node=auto t.py", {"each": 4, "closed": True}),
    ("torchrun --nproc-per-node=cpu t.py", {"each": None, "closed": True}),
    ("torchrun --standalone --nnodes=1 --nproc_per_node=2 t.py", {"each": 2, "closed": True}),
    (f"torchrun {SPAN} --node_rank=1 --master_addr=h t.py", {"hosts": (2, 2), "node": 1}),
    (f"torchrun {SPAN} --master-addr h t.py", {"hosts": (2, 2), "node": 0}),
    (f"torchrun {SPAN} --rdzv-backend c10d --rdzv-endpoint h:1 t.py", {"node": None, "each": 4}),
    (
        "torchrun --nnodes=1:4 --rdzv_backend=c10d --rdzv_endpoint=h:1 t.py",
        {"hosts": (1, 4), "finds": True},
    ),
    ("python -m torch.distributed.run --nproc_per_node=2 t.py", {"each": 2, "closed": True}),
    ("python3 -m torch.distributed.launch --use_env t.py", {"each": 1, "closed": True}),
    ("accelerate launch --num_processes 4 t.py", {"each": 4, "closed": True}),
    ("accelerate launch --num_processes=1 t.py", {"each": 1, "closed": True}),
    (
        f"{MACHINES} --machine_rank 1 --main_process_ip h --main_process_port 1 t.py",
        {"each": 4, "hosts": (2, 2), "node": 1},
    ),
    ("deepspeed t.py", {"each": 4, "closed": True}),
    ("deepspeed --num_gpus=2 t.py", {"each": 2, "closed": True}),
    ("deepspeed --enable_each_rank_log logs --num_accelerators 3 t.py", {"each": 3}),
    ("python t.py --epochs 3", {"each": 1, "closed": False, "launcher": ""}),
    ("python -u -m trainer.task", {"each": 1, "text": "python -m trainer.task"}),
    ("env A=1 timeout 60 uv run torchrun --nproc_per_node=3 t.py", {"each": 3}),
    ("nice -n 5 sudo -E -u me taskset -c 0-3 horovodrun -np 2 python t.py", {"each": 2}),
    ("conda run -n e --no-capture-output torchrun --nproc_per_node=2 t.py", {"each": 2}),
    ("tini -- poetry run python t.py", {"each": 1, "launcher": ""}),
    ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=gpu t.py", {"each": 2}),
    ("env PET_NPROC_PER_NODE=2 torchrun t.py", {"each": 2}),
    ("/usr/sbin/sshd -D", {"idle": True}),
    (
        "horovodrun -np 4 $OPTIONS python t.py",
        {"waits": "$OPTIONS: no shell puts the variable's value"},
    ),
    ("mpirun -np 1 a.out : -np 2 b.out", {"text": "mpirun -np 1", "each": None}),
    ("torchrun --nproc_per_node=2 t.py $HOME", {"each": 2, "waits": ""}),
    ("torchrun --nproc_per_node=0 t.py", {"each": None, "closed": True}),
    ("torchrun --nnodes=1:1 --nproc_per_node=2 t.py", {"each": 2, "closed": True}),
    (f"torchrun {SPAN} --rdzv_endpoint=h:1 --node_rank=1 t.py", {"finds": True, "node": 1}),
    ("torchrun --nnodes=2:3 --master_addr=h t.py", {"hosts": (3, 3), "finds": True}),
    ("env PET_NPROC_PER_NODE=3 torchrun --nproc_per_node=2 t.py", {"each": 2}),
    ("python -m accelerate.commands.launch --num_processes 3 t.py", {"each": 3, "closed": True}),
    ("python -m deepspeed.launcher.runner --num_gpus 3 t.py", {"each": 3, "closed": True}),
    ("python t.py -m x --config c.py", {"each": 1, "text": "python t.py"}),
    ("python -m trainer.task a.py", {"text": "python -m trainer.task"}),
    ("python -u t.py", {"each": 1, "text": "python"}),
    ("python -m", {"each": 1, "text": "python"}),
    (f"python {'a' * 70}.py", {"text": f"python {'a' * 53}"}),
]


def start_of(text: str):
    return read_start(shlex.split(text), 4, {"WORLD_SIZE": "2"})


@pytest.mark.parametrize(("text", "expected"), STARTS, ids=[case[0][:60] for case in STARTS])
def test_a_command_starts(text: str, expected: dict[str, Any]):
    start = start_of(text)
    assert {name: getattr(start, name) for name in expected} == expected


SCRIPTS: list[tuple[str, dict[str, Any]]] = [
    ("cd x && torchrun --nproc_per_node=4 t.py", {"each": 4, "dropped": ""}),
    ("export N=2; torchrun --nproc_per_node=$N t.py", {"each": 2}),
    ("torchrun --nnodes=$WORLD_SIZE --node_rank=$RANK --master_addr=$HOST t.py", {"node": None}),
    ("torchrun --nproc_per_node=$(nvidia-smi -L | wc -l) t.py", {"each": None, "closed": True}),
    ("horovodrun -np `nproc` python t.py", {"each": None, "closed": True}),
    ("source v/bin/activate\npip install -r r.txt\npython t.py", {"each": 1, "launcher": ""}),
    ("bash -c 'exec horovodrun -np 4 python t.py'", {"each": 4}),
    ("torchrun $ARGUMENTS t.py", {"hosts": None, "closed": False}),
    ("service ssh start; sleep infinity", {"idle": True}),
    ("/usr/sbin/sshd; sleep infinity", {"idle": True, "text": "sleep"}),
    ("python t.py & wait", {"each": 1, "unknown": ""}),
    ("python a.py; python b.py", {"text": "python b.py"}),
    ("python t.py; sleep 5", {"text": "python t.py", "idle": False}),
    ("python prepare.py && torchrun --nproc_per_node=4 t.py", {"launcher": "torchrun", "each": 4}),
    ("torchrun --nproc_per_node=2 a.py && torchrun --nproc_per_node=2 b.py", {"each": 2}),
    ("accelerate config default; torchrun --nproc_per_node=2 t.py", {"each": 2}),
    ("horovodrun $OPTIONS python t.py", {"closed": False, "hosts": None}),
    ("horovodrun -np 4 $OPTIONS python t.py", {"closed": True, "each": 4}),
]


@pytest.mark.parametrize(("script", "expected"), SCRIPTS, ids=[case[0][:60] for case in SCRIPTS])
def test_a_shells_script_starts(script: str, expected: dict[str, Any]):
    start = read_start(["bash", "-c", script], 4, {"WORLD_SIZE": "2"})
    assert {name: getattr(start, name) for name in expected} == expected


UNKNOWN = [
    ["sh", "start.sh"],
    ["bash"],
    ["./start.sh"],
    ["bash", "-c", "if true; then horovodrun -np 4 python t.py; fi"],
    ["bash", "-c", "horovodrun -np 4 'python"],
    ["bash", "-c", "torchrun --nproc_per_node=2 a.py && torchrun --nproc_per_node=4 b.py"],
    ["bash", "-c", "python a.py & python b.py; wait"],
    ["bash", "-c", "./prepare.sh; python t.py"],
    ["accelerate", "launch", "t.py"],
    ["accelerate", "launch", "--config_file", "c.yaml", "t.py"],
    ["deepspeed", "--hostfile", "h", "t.py"],
    ["bash", "-c", "torchrun --nproc_per_node=4 a.py && torchrun --nproc_per_node=2 b.py"],
    ["torchrun", "--nnodes=two", "t.py"],
    ["torchrun", "--nnodes=0", "t.py"],
    ["torchrun", "--nnodes=0:2", "t.py"],
    ["torchrun", "--nnodes=2:1", "t.py"],
    [],
]


@pytest.mark.parametrize("words", UNKNOWN, ids=lambda words: " ".join(words)[:60] or "nothing")
def test_what_cannot_be_read_says_why(words: list[str]):
    start = read_start(words, 4)
    assert start.unknown
    assert not start.closed


NOTHING_KNOWN = "a script that starts no Python and no launcher that is known"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["./" + "x" * 50], f"{'x' * 40} may start anything"),
        (["bash", "-c", "./a.sh; ./b.sh; python t.py"], "b.sh may start anything"),
        (["echo", "x"], NOTHING_KNOWN),
        (["python", "-m", "pip", "install", "x"], "python may start anything"),
        (["bash", "-c", "python -m venv v; python -m pip install x"], NOTHING_KNOWN),
        (["mpirun", "python", "t.py"], "mpirun: how many ranks is known only when it runs"),
        (["mpirun", "-n", "1", "a", ":", "-n", "2", "b"], "mpirun with several programs"),
        (
            ["bash", "-c", "torchrun --nproc_per_node=2 $(cat args) t.py"],
            "torchrun $(...): its options are known only when it runs",
        ),
        (
            ["torchrun", f"--nproc_per_node={10**20}", "t.py"],
            f"torchrun --nproc_per_node={10**20}: no number of ranks that a host can have",
        ),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_why_it_cannot_be_read_is_said_in_words(words: list[str], why: str):
    assert read_start(words, 4).unknown == why


def test_a_rank_for_each_gpu_of_a_host_without_any_is_not_counted():
    start = read_start(["torchrun", "--nproc_per_node=gpu", "t.py"])
    assert (start.each, start.closed) == (None, True)
    assert start.unknown.endswith("how many ranks a host is known only when it runs")


RUN = "horovodrun -np 4 python t.py"
FOLLOWED = "another command follows it, whose exit code is the container's, without set -e"
PIPED = "the exit code of a pipe is that of its last command, without set -o pipefail"
ALONE = "it runs in the background, and its exit code is not asked for"


@pytest.mark.parametrize(
    ("script", "dropped"),
    [
        (RUN, ""),
        (f"{RUN};", ""),
        (f"cd /app; {RUN}", ""),
        (f"{RUN} && echo done", ""),
        (f"cd /app; {RUN}; echo done", FOLLOWED),
        (f"{RUN}\necho done", FOLLOWED),
        (f"{RUN}; {RUN}", FOLLOWED),
        (f"set -e; {RUN}; echo done", ""),
        (f"set -o errexit; {RUN}; echo done", ""),
        (f"{RUN}; exit $?", ""),
        (f"{RUN} || echo failed; date", "|| echo failed takes the place of its exit code"),
        (f"{RUN} || echo {'x' * 30}", f"|| echo {'x' * 15} takes the place of its exit code"),
        (f"{RUN} | tee log", PIPED),
        (f"{RUN} |& tee log", PIPED),
        (f"set -o pipefail; {RUN} | tee log", ""),
        (f"{RUN} &", ALONE),
        (f"{RUN} & sleep 3", ALONE),
        (f"{RUN} & wait", ""),
    ],
)
def test_a_script_that_keeps_a_launchers_exit_code_to_itself_says_how(script: str, dropped: str):
    assert read_start(["bash", "-c", script], 4).dropped == dropped


WAITING = [
    f"torchrun {SPAN} t.py",
    f"torchrun {SPAN} --master_addr=127.0.0.1 t.py",
    f"torchrun {SPAN} --standalone t.py",
    f"torchrun {SPAN} --rdzv_backend=c10d t.py",
    f"torchrun {SPAN} --rdzv_backend=c10d --rdzv_endpoint=localhost:29400 t.py",
    "torchrun --nnodes='$WORLD_SIZE' t.py",  # no shell reads it
]


@pytest.mark.parametrize("text", WAITING)
def test_a_start_that_waits_for_itself_says_so(text: str):
    assert start_of(text).waits


def test_the_words_of_the_program_are_found_behind_launchers_and_shells():
    words = ["bash", "-c", "cd /app && horovodrun -np 4 python t.py --epochs 3"]
    assert launched_words(words) == ["python", "t.py", "--epochs", "3"]
    assert launched_words(["torchrun", "t.py"]) == []


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("/usr/bin/mpirun -n 2 python t.py", ["python", "t.py"]),
        ("python -m horovod.runner.launch -np 2 python t.py", ["python", "t.py"]),
        ("python -m horovod.run python t.py", ["python", "t.py"]),
        ("python -m horovod.run", []),
        ("python -m", ["python", "-m"]),
        ("torchrun t.py python", []),
        ("bash -c 'python a.py; python b.py'", ["python", "b.py"]),
    ],
)
def test_the_last_python_program_is_the_one_that_is_launched(text: str, program: list[str]):
    assert launched_words(shlex.split(text)) == program


def test_words_behind_a_shells_script_stand_for_its_arguments():
    line = command_line(["sh", "-c", 'torchrun "$@"', "_", "--nproc_per_node=2", "t.py"])
    assert [command.words for command in line.commands] == [
        ("torchrun", "--nproc_per_node=2", "t.py")
    ]
    assert line.behind == ("_", "--nproc_per_node=2", "t.py")
