"""Sources as people write them, one small form a row, and what is to be said of each before several
ranks run them. A source is the text of train.py, or the files of its folder."""

from __future__ import annotations

import json

Tree = str | dict[str, str | bytes]

HVD = "import horovod.tensorflow.keras as hvd\nhvd.init()\n"
TF = "import tensorflow as tf\n"
NOTEBOOK = json.dumps({"nbformat": 4, "cells": [{"source": ["import horovod"]}]})


# Scripts that use Horovod, in every way in which people bring it in.
GOOD: dict[str, Tree] = {
    "plain": HVD,
    "tensorflow": "import horovod.tensorflow as hvd\nhvd.init()\n",
    "torch": "import horovod.torch as hvd\nhvd.init()\n",
    "from": "from horovod import torch as hvd\nhvd.init()\n",
    "relative to its own name": "from horovod.torch import init, rank\ninit()\n",
    "package alone": "import horovod\nhorovod.run(print)\n",
    "in a function": "def main():\n    import horovod.torch as hvd\n    hvd.init()\nmain()\n",
    "if installed": "try:\n    import horovod.torch as hvd\nexcept ImportError:\n    hvd = None\n",
    "behind a flag": "import argparse\nargparse.ArgumentParser().add_argument('--horovod')\n",
    "beside torch.distributed": "import torch.distributed as dist\nimport horovod.torch as hvd\n"
    "hvd.init()\n",
    "beside MirroredStrategy": TF
    + "import horovod.tensorflow as hvd\ns = tf.distribute.MirroredStrategy()\n",
    "by a name as string": "import importlib\nhvd = importlib.import_module('horovod.torch')\n",
    "by __import__": "hvd = __import__('horovod.torch', fromlist=['torch'])\n",
    "by a part of a name": "import importlib\nimportlib.import_module('horovod.' + 'torch')\n",
    "Lightning's strategy": "import pytorch_lightning as pl\npl.Trainer(strategy='horovod')\n",
    "Lightning's strategy object": "import lightning as L\n"
    "from lightning_horovod import HorovodStrategy\ns = HorovodStrategy()\nL.Trainer(strategy=s)\n",
    "Lightning beside an import": "import lightning\nimport horovod.torch\nlightning.Trainer()\n",
    "a group asked for": "import torch.distributed as dist\nimport horovod.torch as hvd\n"
    "hvd.init()\nassert not dist.is_initialized()\n",
    "a runner of Spark's": "from sparkdl import HorovodRunner\nHorovodRunner(np=2).run(print)\n",
    "Ray's": "from ray.train.horovod import HorovodTrainer\n",
    "ignite's backend": "import ignite.distributed as idist\nidist.Parallel(backend='horovod')\n",
    "a class of its own": "from tools import HorovodHook\n",
    "in a comment too": "# horovod\n" + HVD,
    "Windows' line ends": HVD.replace("\n", "\r\n"),
    "a byte order mark": {"train.py": b"\xef\xbb\xbf" + HVD.encode()},
    "another encoding": {"train.py": b"# -*- coding: latin-1 -*-\nx = '\xe9'\n" + HVD.encode()},
    "tabs": HVD + "if True:\n\tx = 1\n",
    "no newline at the end": HVD.strip(),
    "cells of an editor": "# %%\n" + HVD + "# %% train\nx = 1\n",
    "own magic function, defined": HVD + "def get_ipython():\n    pass\nget_ipython()\n",
    "helper": {"train.py": "import helper\nhelper.go()\n", "helper.py": HVD},
    "helper of a helper": {
        "train.py": "from lib.a import go\ngo()\n",
        "lib/__init__.py": "",
        "lib/a.py": "from . import b\n",
        "lib/b.py": "from .deep.c import *\n",
        "lib/deep/c.py": HVD,
    },
    "package's own file": {"train.py": "import lib\n", "lib/__init__.py": HVD},
    "submodule": {"train.py": "import lib.a\n", "lib/__init__.py": "", "lib/a.py": HVD},
    "namespace package": {"train.py": "from lib.a import x\n", "lib/a.py": HVD},
    "module of a from": {"train.py": "from lib import a, b\n", "lib/b.py": HVD},
    "over several lines": {
        "train.py": "from lib import (  # parts\n    a,\n    b,\n)\n",
        "lib/b.py": HVD,
    },
    "helper in a function": {
        "train.py": "def main():\n    from helper import go\nmain()\n",
        "helper.py": HVD,
    },
    "helper's import in one line": {
        "train.py": "import one\n",
        "one.py": "x = 1; import two\n",
        "two.py": HVD,
    },
    "helper by a literal name": {
        "train.py": "import importlib\nimportlib.import_module('lib.go')\n",
        "lib/go.py": HVD,
    },
    "run by runpy": {
        "train.py": "import runpy\nrunpy.run_path('parts/go.py')\n",
        "parts/go.py": HVD,
    },
    "module by runpy": {
        "train.py": "import runpy\nrunpy.run_module('parts.go', run_name='__main__')\n",
        "parts/go.py": HVD,
    },
    "exec of a file": {"train.py": "exec(open('go.py').read())\n", "go.py": HVD},
    "subprocess": {
        "train.py": "import subprocess, sys\nsubprocess.run([sys.executable, 'go.py', '-x'])\n",
        "go.py": HVD,
    },
    "os.system": {"train.py": "import os\nos.system('python parts/go.py')\n", "parts/go.py": HVD},
    "script in a folder": {"jobs/train.py": "import helper\n", "jobs/helper.py": HVD},
    "package above the script": {"jobs/train.py": "from lib import a\n", "lib/a.py": HVD},
    "folder on sys.path": {
        "train.py": "import sys\nsys.path.insert(0, 'parts')\nimport helper\n",
        "parts/helper.py": HVD,
    },
    "syntax of a file nobody imports": {"train.py": HVD, "draft.py": "def f(:\n"},
    "broken file behind try": {
        "train.py": HVD + "try:\n    import fast\nexcept Exception:\n    fast = None\n",
        "fast.py": "def f(:\n",
    },
    "broken file in a function": {
        "train.py": HVD + "def old():\n    import fast\n",
        "fast.py": "def f(:\n",
    },
    "broken file that the package hides": {
        "train.py": HVD + "from lib import name\n",
        "lib/__init__.py": "name = 1\n",
        "lib/name.py": "def f(:\n",
    },
    "Python 2 file beside": {
        "train.py": HVD + "import sys\nif sys.version_info[0] < 3:\n    import old\n",
        "old.py": "print 'x'\n",
    },
}


# Sources that certainly do not train together: the rule that says so, and a word of its text.
BAD: dict[str, tuple[Tree, str, str]] = {
    "nothing": (TF + "model = tf.keras.Sequential()\n", "strategy-none", "2 ranks would each"),
    "standard library": ("import os\nprint(os.getpid())\n", "strategy-none", "no Horovod"),
    "torch alone": ("import torch\nfrom torch import nn\n", "strategy-none", "--strategy horovod"),
    "only in a comment": ("# import horovod.torch as hvd\nimport torch\n", "strategy-none", "no "),
    "helpers without": (
        {"train.py": "import a\nimport numpy\n", "a.py": "from b import c\n", "b.py": "c = 1\n"},
        "strategy-none",
        "the 2 files",
    ),
    "Horovod in a file nobody imports": (
        {"train.py": TF, "other.py": HVD},
        "strategy-none",
        "no Horovod",
    ),
    "try around a known package": (
        "try:\n    import wandb\nexcept ImportError:\n    wandb = None\n",
        "strategy-none",
        "no Horovod",
    ),
    "a program without code of ours": (
        "import os, subprocess as s\ns.check_output(['nvidia-smi'])\nos.system('pip -q && ls')\n",
        "strategy-none",
        "no Horovod",
    ),
    "a folder of data named like a package": (
        {"train.py": "import datasets\n", "datasets/mnist.csv": "1,2\n"},
        "strategy-none",
        "no Horovod",
    ),
    "Horovod in a tool's settings": (
        {"train.py": TF, "environment.yml": "- horovod\n", "launch.yaml": "name: horovod\n"},
        "strategy-none",
        "no Horovod",
    ),
    "DataParallel": (
        "import torch.nn as nn\nmodel = nn.DataParallel(nn.Linear(1, 1))\n",
        "strategy-other",
        "torch.nn.DataParallel",
    ),
    "parameter servers": (
        TF + "s = tf.distribute.ParameterServerStrategy(None)\n",
        "strategy-other",
        "tf.distribute",
    ),
    "multi_gpu_model": (
        "from keras.utils import multi_gpu_model\nm = multi_gpu_model(None, gpus=4)\n",
        "strategy-other",
        "multi_gpu_model",
    ),
    "multi_gpu_model of tf.keras": (
        "from tensorflow.keras.utils import multi_gpu_model\n",
        "strategy-other",
        "multi_gpu_model",
    ),
    "keras.distribution": (
        "import keras\nkeras.distribution.set_distribution(keras.distribution.DataParallel())\n",
        "strategy-other",
        "keras.distribution",
    ),
    "SageMaker's": (
        "import smdistributed.dataparallel.torch.torch_smddp\n",
        "strategy-other",
        "SageMaker",
    ),
    "mpi4py": ("from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n", "strategy-other", "mpi4py"),
    "empty": ("", "script-empty", "is empty"),
    "blank": (" \n\t\n", "script-empty", "is empty"),
    "comments": ("#!/usr/bin/env python\n# horovod\n", "script-empty", "comments"),
    "a text": ('"""Trains with horovod."""\npass\n', "script-empty", "nothing but text"),
    "syntax": (HVD + "def train(:\n    pass\n", "script-syntax", ":3"),
    "cut off": (HVD + "print('a'\n", "script-syntax", "syntax error"),
    "return at the top": (HVD + "return 1\n", "script-syntax", "'return' outside function"),
    "await at the top": (HVD + "await hvd\n", "script-syntax", "'await' outside function"),
    "indentation": (HVD + "if hvd:\nx = 1\n", "script-syntax", "indented block"),
    "a merge conflict": (HVD + "<<<<<<< HEAD\nx = 1\n", "script-syntax", ":3"),
    "Python 2 print": (HVD + "print 'rank', hvd.rank()\n", "script-syntax", "Python 2"),
    "Python 2 except": (
        HVD + "try:\n    pass\nexcept ValueError, e:\n    pass\n",
        "script-syntax",
        "Python 2",
    ),
    "Python 2 raise": (HVD + "raise ValueError, 'x'\n", "script-syntax", "Python 2"),
    "a word since reserved": (HVD + "hvd.init(async=True)\n", "script-syntax", "syntax error"),
    "broken helper": (
        {"train.py": HVD + "import helper\n", "helper.py": "x = (\n"},
        "script-syntax",
        "helper.py:1",
    ),
    "broken package": (
        {"train.py": HVD + "from lib.a import x\n", "lib/__init__.py": "x = = 1\n", "lib/a.py": ""},
        "script-syntax",
        "lib/__init__.py:1",
    ),
    "broken helper of a helper": (
        {"train.py": "from lib import a\n", "lib/a.py": HVD + "from . import b\n", "lib/b.py": "("},
        "script-syntax",
        "lib/b.py:1",
    ),
    "line magic": ("%matplotlib inline\n" + HVD, "script-notebook", "%matplotlib inline"),
    "cell magic": (HVD + "%%time\nx = 1\n", "script-notebook", "%%time"),
    "shell line": ("!pip install horovod\n" + HVD, "script-notebook", "!pip install"),
    "help": (HVD + "hvd.init?\n", "script-notebook", "hvd.init?"),
    "exported magic": (
        HVD + "get_ipython().run_line_magic('matplotlib', 'inline')\n",
        "script-notebook",
        "get_ipython()",
    ),
    "notebook by another name": (NOTEBOOK, "script-notebook", "is a notebook"),
    "binary": ({"train.py": b"\x7fELF\0\0" + HVD.encode()}, "script-binary", "not text"),
    "UTF-16": ({"train.py": HVD.encode("utf-16")}, "script-binary", "not text"),
    "bytes of another encoding": (
        {"train.py": HVD.encode() + b"x = '\xe9'\n"},
        "script-syntax",
        "utf-8",
    ),
}


# What nobody can follow to its end: never an error, one warning that says why.
OPEN: dict[str, tuple[Tree, str]] = {
    "a package of the company": ("import mycorp.train\n", "imports mycorp.train"),
    "a computed module": (
        "import importlib, sys\nimportlib.import_module(sys.argv[1])\n",
        "made at run time",
    ),
    "a computed module in a helper": (
        {"train.py": "import a\n", "a.py": "m = __import__('m' + 'x')\n"},
        "a.py:1",
    ),
    "all modules of a folder": (
        "import os, pkgutil\nfor m in pkgutil.iter_modules([os.getcwd()]):\n    pass\n",
        "iter_modules()",
    ),
    "a loader of files": (
        "from importlib import util\nutil.spec_from_file_location('x', '/opt/x.py')\n",
        "spec_from_file_location",
    ),
    "runpy with a name": ("import runpy, sys\nrunpy.run_path(sys.argv[1])\n", "made at run time"),
    "a file that is not there": ("import runpy\nrunpy.run_path('/opt/go.py')\n", "/opt/go.py"),
    "exec": ("import sys\nexec(sys.stdin.read())\n", "exec()"),
    "eval": ("import sys\neval(sys.argv[1])\n", "eval()"),
    "a program": ("import subprocess, sys\nsubprocess.run(sys.argv[1:])\n", "subprocess.run"),
    "a shell script": ("import os\nos.system('bash go.sh')\n", "os.system"),
    "a module started": (
        "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'mycorp'])\n",
        "subprocess.run",
    ),
    "sys.path": ("import sys\nsys.path.insert(0, '/opt/shared')\nimport torch\n", "sys.path"),
    "sys.path by +=": ("import sys\nsys.path += ['/opt/shared']\n", "sys.path"),
    "a C extension": (
        {"train.py": "import fast\n", "fast.cpython-311-x86_64-linux-gnu.so": b"\x7fELF\0"},
        "not Python source",
    ),
    "an operation's library": (TF + "tf.load_op_library('my.so')\n", "load_op_library"),
    "settings that name it": (
        {"train.py": "import yaml\nyaml.safe_load(open('c.yaml'))\n", "c.yaml": "use: horovod\n"},
        "c.yaml",
    ),
    "a docstring that names it": ('"""MNIST with Horovod."""\n' + TF, "in a text"),
    "a relative import of more": ("from ..above import x\n", "..above"),
    "hydra": ("import hydra\nhydra.main()\n", "hydra"),
    "a helper that cannot be parsed": (
        {"train.py": "try:\n    import a\nexcept Exception:\n    pass\n", "a.py": "def (:\n"},
        "a.py cannot be parsed",
    ),
}


# Lines that only a newer Python reads, with the version that brought them.
NEWER = {
    "except*": ((3, 11), "try:\n    pass\nexcept* ValueError:\n    pass\n"),
    "a type alias": ((3, 12), "type Pair = tuple[int, int]\n"),
    "a type parameter": ((3, 12), "def first[T](of: list[T]) -> T:\n    return of[0]\n"),
    "nested quotes": ((3, 12), "x = {'a': 1}\nprint(f'{x['a']}')\n"),
    "exceptions without parentheses": (
        (3, 14),
        "try:\n    pass\nexcept ValueError, TypeError:\n    pass\n",
    ),
    "a template string": ((3, 14), "name = 'x'\nprint(t'{name}')\n"),
    "a lazy import": ((3, 15), "lazy import json\n"),
}
