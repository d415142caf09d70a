"""Who pins GPUs: read from the source, comments aside."""

from __future__ import annotations

import pytest

from launchers.core.planning.gpu_pinning import who_pins
from launchers.core.source.texts import SourceTexts
from launchers.core.strategies import named

CASES = [
    ("import horovod.tensorflow as hvd\nhvd.init()\n", "guard"),
    ("tf.config.set_visible_devices(gpus[hvd.local_rank()], 'GPU')\n", "script"),
    ("config.gpu_options.visible_device_list = str(hvd.local_rank())\n", "script"),
    ("torch.cuda.set_device(hvd.local_rank())\n", "script"),
    ("device = torch.device('cuda', hvd.local_rank())\n", "script"),
    ("model.cuda(hvd.local_rank())\n", "script"),
    ("os.environ['CUDA_VISIBLE_DEVICES'] = str(local_rank)\n", "script"),
    ("# tf.config.set_visible_devices(gpus[hvd.local_rank()], 'GPU')\n", "guard"),
    ("print(hvd.local_rank())  # not set_visible_devices\n", "guard"),
    ("tf.config.set_visible_devices([], 'GPU')\n", "guard"),
    ("if hvd.local_rank() == 0:\n    print('x')\n", "guard"),
    ("x = '# no comment'; torch.cuda.set_device(hvd.local_rank())\n", "script"),
    ("this is ( not python: set_device local_rank\n", "script"),
]


@pytest.mark.parametrize(("text", "who"), CASES)
def test_a_script_pins_where_it_picks_a_device_by_its_local_rank(text: str, who: str):
    assert who_pins(SourceTexts(contents={"train.py": text.encode()}))[0] == who


def test_the_file_that_pins_is_named():
    tree = {
        "train.py": b"import devices\n",
        "lib/devices.py": b"torch.cuda.set_device(hvd.local_rank())\n",
    }
    who, why = who_pins(SourceTexts(contents=tree))
    assert (who, "devices.py" in why, "set_device" in why) == ("script", True, True)


def test_files_that_are_not_python_do_not_count():
    tree = {"notes.txt": b"set_device(local_rank)"}
    assert who_pins(SourceTexts(contents=tree))[0] == "guard"


ENV_RANK = "local_rank = int(os.environ['LOCAL_RANK'])\n"
TORCH_CASES = [
    ("import torch.distributed as dist\ndist.init_process_group()\nmodel.cuda()\n", "guard"),
    (ENV_RANK + "torch.cuda.set_device(local_rank)\n", "script"),
    (ENV_RANK + "model = model.to(local_rank)\n", "script"),
    ("model = DDP(model.to(d), device_ids=[int(os.environ['LOCAL_RANK'])])\n", "script"),
    ("device = f\"cuda:{os.environ['LOCAL_RANK']}\"\n", "script"),
    ("import lightning as L\nL.Trainer()\n", "script"),
    ("from pytorch_lightning import Trainer\n", "script"),
    ("from accelerate import Accelerator\n", "script"),
    ("from transformers import (\n    AutoModel,\n    Trainer,\n)\n", "script"),
    ("from transformers import AutoModel\nmodel.cuda()\n", "guard"),
    ("import deepspeed\n", "script"),
    ("text = 'import lightning'\n", "guard"),
    # One visible device is the 0th: the remainder is right under the guard's pinning too.
    (
        "device = dist.get_rank() % torch.cuda.device_count()\ntorch.cuda.set_device(device)\n",
        "guard",
    ),
]


@pytest.mark.parametrize(("text", "who"), TORCH_CASES)
def test_a_torch_script_pins_by_its_local_rank_or_by_the_library_that_does(text: str, who: str):
    texts = SourceTexts(contents={"train.py": text.encode()})
    assert who_pins(texts, named("torch"))[0] == who
