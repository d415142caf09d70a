"""PyTorch's process groups, and what is built on them: one rank a GPU, joined by
init_process_group().

Sources: torch.distributed's environment variables initialization and torchrun's list of variables
(pytorch.org/docs/stable: distributed.html, elastic/run.html); which call of each library makes the
group: Accelerator and PartialState (accelerate), TrainingArguments (transformers), Trainer and
Fabric (lightning), init_distributed (deepspeed), in their own code.
"""

from __future__ import annotations

from launchers.core.model.image_needs import ImageNeeds, Part
from launchers.core.strategies.strategy import Strategy, Use

_TAKE_OUT = (
    "use Horovod instead of the process group: hvd.init(), hvd.DistributedOptimizer, "
    "hvd.broadcast_parameters and hvd.broadcast_optimizer_state"
)
_TRAINERS = (
    r"transformers\.(?:\w+\.)*(?!TF)\w*(?:Trainer|TrainingArguments)",
    r"trl\.(?:\w+\.)*\w*(?:Trainer|Config)",
)
_LIGHTNING = r"(?:pytorch_lightning|lightning|lightning_fabric)"

USES = (
    Use(
        "Lightning",
        (_LIGHTNING,),
        (rf"{_LIGHTNING}\.(?:\w+\.)*(?:Trainer|Fabric|LightningCLI)",),
        'Lightning up to 1.9 trains by Horovod with Trainer(strategy="horovod"), Lightning 2 with '
        "lightning-horovod's HorovodStrategy",
        own_devices=rf"{_LIGHTNING}\b",
        yields=True,
    ),
    Use(
        "Accelerate",
        (r"accelerate",),
        (r"accelerate\.(?:\w+\.)*(?:Accelerator|PartialState|AcceleratorState)",),
        "use Horovod in the training loop instead of the Accelerator: hvd.init(), "
        "hvd.DistributedOptimizer, hvd.broadcast_parameters",
        own_devices=r"accelerate\b",
    ),
    Use(
        "Transformers' Trainer",
        _TRAINERS,
        _TRAINERS,
        "write the training loop with Horovod instead of the Trainer: hvd.init(), "
        "hvd.DistributedOptimizer, hvd.broadcast_parameters",
        own_devices=r"trl\b|transformers[\w.]*[ \t]+import\s*(?:\([^)]*|[^\n]*)\bTrain(?:er|ing)",
    ),
    Use(
        "DeepSpeed",
        (r"deepspeed",),
        (r"deepspeed\.(?:\w+\.)*(?:init_distributed|initialize)",),
        own_devices=r"deepspeed\b",
    ),
    Use(
        "FSDP",
        (r"torch\.distributed\.(?:fsdp|_composable)",),
        instead=_TAKE_OUT,
    ),
    Use(
        "torch.distributed",
        (
            r"torch\.distributed",
            r"torch\.nn\.parallel\.(?:distributed\.)?DistributedDataParallel",
            r"torch\.nn\.parallel\.distributed",
        ),
        # Whatever a script calls the module: no other function has the name.
        (
            r"(?:.*\.)?init_process_group",
            r"torch\.distributed\.(?:device_mesh\.)?init_device_mesh",
        ),
        _TAKE_OUT,
    ),
)

# What `launch image check` asks of an image; it has no network there but its own loopback.
_LOOK = """\
import torch
print("ANSWER torch", torch.__version__)
import torch.distributed as dist
if dist.is_available():
    print("ANSWER distributed built in")
    from torch.distributed import ProcessGroupGloo
    print("ANSWER gloo built in")
    print("ANSWER remark NCCL" if dist.is_nccl_available() else "")
try:
    import numpy
    assert torch.ones(2).numpy().sum() == torch.from_numpy(numpy.ones(2)).sum() == 2
    print("ANSWER numpy", numpy.__version__)
except ImportError:
    print("ANSWER numpy not there, and not needed")
except Exception as error:
    print("LACKS numpy", numpy.__version__, "does not fit:", error)
"""
_JOIN = """\
import datetime, os, socket
with socket.socket() as held:
    held.bind(("127.0.0.1", 0))
    port = str(held.getsockname()[1])
child = os.fork()
rank = 0 if child else 1
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK=str(rank), WORLD_SIZE="2")
os.environ["GLOO_SOCKET_IFNAME"] = "lo"
import torch
import torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
total = torch.ones(1) * (1 + rank)
dist.all_reduce(total)
assert (dist.get_world_size(), total.item()) == (2, 3.0), (dist.get_world_size(), total.item())
if child and os.waitpid(child, 0)[1] == 0:
    print("ANSWER ranks world size 2")
"""
_OTHER_BUILD = "install a build of PyTorch that has it, such as the wheels of its own index"

IMAGE = ImageNeeds(
    packages=("torch",),
    parts=(
        Part("torch", "PyTorch", "pip install torch"),
        Part("distributed", "torch.distributed", _OTHER_BUILD),
        Part("gloo", "its Gloo backend", _OTHER_BUILD),
        Part("numpy", "NumPy that fits it", "pip install 'numpy<2' for PyTorch before 2.3"),
        Part("ranks", "two ranks find each other over Gloo", "see what they say in the image"),
    ),
    programs={"torch": _LOOK, "ranks": _JOIN},
    remark="no NCCL in its PyTorch: ranks exchange gradients over the CPU, by Gloo alone",
)

STRATEGY = Strategy(
    name="torch",
    title="PyTorch",
    joining="init_process_group()",
    bring_in="Or join them by torch.distributed.init_process_group() and wrap the model in "
    "DistributedDataParallel",
    uses=USES,
    words=r"init_process_group|init_device_mesh|lightning|accelerate|transformers|\btrl\b|deepspeed",
    cannot=(
        Use(
            "torch.nn.DataParallel",
            (r"torch\.nn\.(?:parallel\.)?(?:data_parallel\.)?DataParallel",),
            instead="take DataParallel out, which is one process for all GPUs of a host: wrap the "
            "model in DistributedDataParallel, or use Horovod; both have one rank a GPU",
        ),
    ),
    library="PyTorch",
    package="torch",
    install="install it there: pip install torch",
    names="torch_names",
    starts=(
        r"torch\.multiprocessing\.(?:spawn|start_processes)",
        r"torch\.distributed\.(?:run|launch|launcher|elastic)",
        r"accelerate\.(?:\w+\.)*(?:notebook_launcher|debug_launcher)",
    ),
    launchers=r"torchrun|torch\.distributed\.(?:run|launch)|accelerate launch|deepspeed --",
    launcher_words=r"--(?:nproc[-_]per[-_]node|nnodes|node[-_]rank|master[-_](?:addr|port)|rdzv[-_]\w+"
    r"|world[-_]size|num[-_](?:processes|machines)|machine[-_]rank|multiprocessing-distributed)",
    local_rank=r"(?i:local_rank|local_process_index)",
    image=IMAGE,
    picks_device=r"set_device|torch\.device|\.cuda\(|\.to\(|device_ids|cuda:|CUDA_VISIBLE_DEVICES",
)
