"""What Horovod hands on of NCCL's refusal of two ranks on one GPU of a host."""

import os

import horovod.torch as hvd
import one_gpu_horovod as one_gpu
import torch

del os.environ["NCCL_HOSTID"]
one_gpu.join()
hvd.allreduce(torch.ones(1).cuda())
