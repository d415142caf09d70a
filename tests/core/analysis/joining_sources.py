"""Sources whose ranks join in another way than by Horovod, as people write them."""

from __future__ import annotations

from tests.core.analysis.strategy_sources import TF, Tree

# Sources that another strategy than Horovod starts: its name, and a word of where it was seen.
OTHERS: dict[str, tuple[Tree, str, str]] = {
    "torch.distributed": (
        "import torch.distributed as dist\ndist.init_process_group('nccl')\n",
        "torch",
        "train.py:2 calls torch.distributed.init_process_group",
    ),
    "from torch": (
        "from torch import distributed\ndistributed.init_process_group('gloo')\n",
        "torch",
        "train.py:2 calls",
    ),
    "DDP in a helper": (
        {
            "train.py": "from lib import setup\nsetup.go()\n",
            "lib/setup.py": "import torch\ndef go():\n"
            "    torch.distributed.init_process_group('nccl')\n",
        },
        "torch",
        "lib/setup.py:3",
    ),
    "the module under a name of one's own": (
        "from helpers import backend\nbackend.init_process_group()\n",
        "torch",
        "train.py:2 calls helpers.backend.init_process_group",
    ),
    "HSDP over a mesh": (
        (
            "from torch.distributed.device_mesh import init_device_mesh\n"
            "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\n"
            "mesh = init_device_mesh('cuda', (2, 4), mesh_dim_names=('replicate', 'shard'))\n"
            "model = FSDP(None, device_mesh=mesh)\n"
        ),
        "torch",
        "train.py:3 calls torch.distributed.device_mesh.init_device_mesh",
    ),
    "Lightning": (
        "import pytorch_lightning as pl\npl.Trainer(strategy='ddp')\n",
        "torch",
        "pytorch_lightning.Trainer",
    ),
    "Lightning 2": ("import lightning as L\nL.Trainer(devices=4)\n", "torch", "lightning.Trainer"),
    "Fabric": (
        "from lightning.fabric import Fabric\nfabric = Fabric()\nfabric.launch()\n",
        "torch",
        "lightning.fabric.Fabric",
    ),
    "Lightning that could take Horovod": (
        (
            "import lightning as L, argparse\np = argparse.ArgumentParser()\n"
            "p.add_argument('--strategy', choices=['ddp', 'horovod'])\n"
            "L.Trainer(strategy=p.parse_args().strategy)\n"
        ),
        "torch",
        "lightning.Trainer",
    ),
    "Accelerate": (
        "from accelerate import Accelerator\nAccelerator()\n",
        "torch",
        "train.py:2 calls accelerate.Accelerator",
    ),
    "Trainer": (
        (
            "from transformers import (\n    AutoModel,\n    Trainer,\n    TrainingArguments,\n)\n"
            "Trainer(model=None, args=TrainingArguments('out')).train()\n"
        ),
        "torch",
        "transformers.Trainer",
    ),
    "arguments of a Trainer, parsed": (
        (
            "from transformers import HfArgumentParser, TrainingArguments\n"
            "from trl import SFTTrainer\n"
            "(args,) = HfArgumentParser((TrainingArguments,)).parse_args_into_dataclasses()\n"
        ),
        "torch",
        "train.py:3 uses transformers.TrainingArguments",
    ),
    "DeepSpeed": (
        "import deepspeed\ndeepspeed.init_distributed()\n",
        "torch",
        "deepspeed.init_distributed",
    ),
    "DeepSpeed's engine": (
        "import deepspeed\nengine, *_ = deepspeed.initialize(model=None)\n",
        "torch",
        "deepspeed.initialize",
    ),
    "Horovod in a text of another's script": (
        (
            "import argparse\nimport torch.distributed as dist\n"
            "argparse.ArgumentParser().add_argument('--backend', help='nccl or horovod')\n"
            "dist.init_process_group('gloo')  # not horovod\n"
        ),
        "torch",
        "train.py:4 calls",
    ),
    "jax.distributed": (
        "import jax\njax.distributed.initialize()\n",
        "jax",
        "train.py:2 calls jax.distributed.initialize",
    ),
    "jax.distributed in a helper, by a name of its own": (
        {
            "train.py": "from lib import world\nworld.join()\n",
            "lib/world.py": "from jax import distributed\ndef join():\n"
            "    distributed.initialize(local_device_ids=[0])\n",
        },
        "jax",
        "lib/world.py:3 calls jax.distributed.initialize",
    ),
    "DataParallel where there is no group": (
        (
            "import torch\nimport torch.distributed as dist\n"
            "dist.init_process_group('gloo')\nmodel = torch.nn.DataParallel(None)\n"
        ),
        "torch",
        "train.py:3 calls",
    ),
    "MirroredStrategy": (
        TF + "strategy = tf.distribute.MirroredStrategy()\n",
        "tensorflow",
        "MirroredStrategy",
    ),
    "MultiWorkerMirroredStrategy": (
        TF + "s = tf.distribute.MultiWorkerMirroredStrategy()\n",
        "tensorflow",
        "MultiWorkerMirroredStrategy",
    ),
    "experimental": (
        TF + "s = tf.distribute.experimental.MultiWorkerMirroredStrategy()\n",
        "tensorflow",
        "MultiWorkerMirroredStrategy",
    ),
    "TensorFlow 1": (
        "import tensorflow.compat.v1 as tf\ns = tf.distribute.MirroredStrategy()\n",
        "tensorflow",
        "MirroredStrategy",
    ),
    "an alias by assignment": (
        TF + "D = tf.distribute\ns = D.MirroredStrategy()\n",
        "tensorflow",
        "MirroredStrategy",
    ),
}

# A library is used, and nothing of it that joins ranks is seen: a warning.
WEAK: dict[str, tuple[Tree, str]] = {
    "DDP": ("from torch.nn.parallel import DistributedDataParallel as DDP\n", "torch.distributed"),
    "FSDP": ("from torch.distributed.fsdp import FullyShardedDataParallel\n", "FSDP"),
    "with a package of the company": (
        "import torch.distributed as dist\nimport mycorp\n",
        "mycorp",
    ),
    "pmap": ("import jax\nf = jax.pmap(lambda x: x)\n", "jax.pmap"),
    "a mesh of JAX": ("from jax.experimental import multihost_utils\n", "jax.pmap"),
    "Accelerate's utilities": (
        "from accelerate.utils import set_seed\nset_seed(1)\n",
        "Accelerate",
    ),
}

# Horovod, and a call that joins another world.
SEVERAL: dict[str, Tree] = {
    "a backend to choose": "import torch.distributed as dist\nimport horovod.torch as hvd, sys\n"
    "hvd.init() if sys.argv[1] == 'hvd' else dist.init_process_group('nccl')\n",
    "in two files": {
        "train.py": "import horovod.torch as hvd\nimport other\n",
        "other.py": "from accelerate import Accelerator\nAccelerator()\n",
    },
}
