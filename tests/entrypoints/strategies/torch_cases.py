"""What ranks of torch.distributed do: together, and apart. Four ranks each."""

from __future__ import annotations

PROLOGUE = """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

torch.manual_seed(rank)  # other start weights, and other data, on every rank

def network(outputs=4):
    layers = torch.nn.Linear(20, 16), torch.nn.ReLU(), torch.nn.Linear(16, outputs)
    return torch.nn.Sequential(*layers)

def train(model, parameters=None, after=lambda: None, steps=6, optimizer=None):
    optimizer = optimizer or torch.optim.SGD(list(parameters or model.parameters()), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(8, 20)).pow(2).mean().backward()
        after()
        optimizer.step()

def averaging(net, group=None, members=4):
    def average():
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad, group=group)
            parameter.grad /= members
    return average

def spread(net):
    for parameter in net.parameters():
        dist.broadcast(parameter.data, 0)

def cuda_says(held, shown=4):
    # Stands in for CUDA, which is not here: GPU -> the most bytes that tensors took there.
    class Properties:
        def __init__(self, index):
            self.uuid = f"0000-{index}"
    torch.cuda.is_available = torch.cuda.is_initialized = lambda: True
    torch.cuda.device_count = lambda: shown
    torch.cuda.get_device_properties = Properties
    torch.cuda.max_memory_allocated = lambda index: held.get(index, 0)

def gathering(net, put=lambda gradient, mean: None):
    def gather():
        for parameter in net.parameters():
            found = [torch.empty_like(parameter.grad) for _ in range(4)]
            dist.all_gather(found, parameter.grad)
            put(parameter.grad, sum(found) / 4)
    return gather

dist.init_process_group("gloo")
net = network()
"""

EQUAL = "gradients exchanged, weights equal"
VALUES = "values exchanged, weights equal"

# name -> what ranks do, and the words of the verdict
TOGETHER = {
    "DDP": ("train(DDP(net))", EQUAL),
    "DDP on the same samples": (
        "model = DDP(net); torch.manual_seed(1); train(model)",
        f"{EQUAL}, losses equal in all ranks (the same samples?)",
    ),
    "DDP whose samples were divided by two of the four ranks": (
        "model = DDP(net); torch.manual_seed(rank % 2); train(model)",
        f"{EQUAL}, losses equal in ranks 0 and 2 (the same samples?)",
    ),
    "a GPU a rank, and something small on the first": (
        "train(DDP(net)); cuda_says({rank: 10**9, 0: 10**9 if rank == 0 else 10**6})",
        EQUAL,
    ),
    "several GPUs a rank": ("train(DDP(net)); cuda_says({0: 10**9, 1: 10**9})", EQUAL),
    "one GPU, as --pin-gpu none allows": (
        "import os; os.environ['LAUNCH_PIN_GPU'] = 'none'; train(DDP(net)); cuda_says({0: 10**9})",
        EQUAL,
    ),
    "one step": ("train(DDP(net), steps=1)", EQUAL),
    "gradients of several batches": (
        """
model = DDP(net)
optimizer = torch.optim.Adam(model.parameters())
for step in range(8):
    if step % 4 < 3:
        with model.no_sync():
            model(torch.randn(8, 20)).mean().backward()
    else:
        model(torch.randn(8, 20)).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
""",
        "gradients exchanged (accumulated), weights equal",
    ),
    "gradients gathered, and their mean copied into them": (
        "spread(net); train(net, after=gathering(net, lambda own, mean: own.copy_(mean)))",
        EQUAL,
    ),
    "the same, unseen by PyTorch": (
        "spread(net); train(net, after=gathering(net, lambda own, mean: own.data.copy_(mean)))",
        EQUAL,
    ),
    "gradients gathered to be looked at, and weights averaged": (
        """
spread(net)
train(net, after=gathering(net))
for parameter in net.parameters():
    mean = parameter.data.clone()
    dist.all_reduce(mean)
    parameter.data.copy_(mean / 4)
""",
        VALUES,
    ),
    "DDP over pairs that another exchange connects": (
        """
pairs = [dist.new_group(pair) for pair in ([0, 1], [2, 3])]
across = [dist.new_group(pair) for pair in ([0, 2], [1, 3])]
spread(net)
train(DDP(net, process_group=pairs[rank // 2]), after=averaging(net, across[rank % 2], 2))
""",
        EQUAL,
    ),
    "gradients averaged by hand": ("spread(net); train(net, after=averaging(net))", EQUAL),
    "gradients in a flat buffer": (
        """
def average():
    buffer = torch.cat([one.grad.flatten() for one in net.parameters()])
    dist.all_reduce(buffer)
    for one, part in zip(net.parameters(), buffer.split([p.numel() for p in net.parameters()])):
        one.grad.copy_(part.view_as(one) / size)
spread(net)
train(net, after=average)
""",
        EQUAL,
    ),
    "gradients in a flat buffer, taken out anew": (
        """
def average():
    buffer = torch.cat([one.grad.flatten() for one in net.parameters()])
    dist.all_reduce(buffer)
    for one, part in zip(net.parameters(), buffer.split([p.numel() for p in net.parameters()])):
        one.grad = part.view_as(one) / size
spread(net)
train(net, after=average)
""",
        EQUAL,
    ),
    "gradients of two optimizers averaged, and then both steps": (
        """
other = network(5)
spread(net); spread(other)
optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in (net, other)]
for _ in range(6):
    x = torch.randn(8, 20)
    (net(x).pow(2).mean() + other(x).pow(2).mean()).backward()
    averaging(net)(); averaging(other)()
    for one in optimizers:
        one.step(); one.zero_grad()
""",
        EQUAL,
    ),
    "gradients averaged at first, then weights by another optimizer": (
        """
spread(net)
train(net, after=averaging(net))
train(net, steps=4)
for parameter in net.parameters():
    dist.all_reduce(parameter.data)
    parameter.data /= size
""",
        EQUAL,
    ),
    "gradients averaged between hosts every fifth step": (
        """
pairs = [dist.new_group(pair) for pair in ([0, 1], [2, 3])]
across = [dist.new_group(pair) for pair in ([0, 2], [1, 3])]
spread(net)
steps = []
def average():
    averaging(net, pairs[rank // 2], 2)()
    steps.append(0)
    if len(steps) % 5 == 0:
        averaging(net, across[rank % 2], 2)()
train(net, after=average, steps=5)
for parameter in net.parameters():
    dist.all_reduce(parameter.data)
    parameter.data /= size
""",
        EQUAL,
    ),
    "weights averaged now and then by copies, and steps behind": (
        """
spread(net)
for _ in range(3):
    train(net, steps=3)
    for parameter in net.parameters():
        mean = parameter.detach().clone()
        dist.all_reduce(mean)
        parameter.data.copy_(mean / size)
train(net, steps=1, optimizer=torch.optim.SGD(net.parameters(), lr=0.02))
""",
        "values exchanged, own gradients applied, weights differ by 0.4% at the end",
    ),
    "sums of gradients, each in the rank that has that layer": (
        """
layers = [torch.nn.Linear(20, 20) for _ in range(4)]
net = torch.nn.Sequential(*layers)
spread(net)
optimizer = torch.optim.SGD(layers[rank].parameters(), lr=0.1)
for _ in range(6):
    net.zero_grad()
    net(torch.randn(8, 20)).pow(2).mean().backward()
    for owner, layer in enumerate(layers):
        for parameter in layer.parameters():
            dist.reduce(parameter.grad, owner)
            parameter.grad /= size
    optimizer.step()
    for owner, layer in enumerate(layers):
        for parameter in layer.parameters():
            dist.broadcast(parameter.data, owner)
""",
        "values exchanged, weights not compared (each rank has a part of them)",
    ),
    "gradients summed in rank 0, and broadcast": (
        """
def average():
    for parameter in net.parameters():
        dist.reduce(parameter.grad, 0)
        parameter.grad /= size
        dist.broadcast(parameter.grad, 0)
spread(net)
train(net, after=average)
""",
        EQUAL,
    ),
    "gradients that a hook of DDP sends in 16 bits": (
        """
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
model = DDP(net)
model.register_comm_hook(None, default_hooks.fp16_compress_hook)
train(model)
""",
        "gradients exchanged (fp16), weights equal",
    ),
    "gradients that a hook of DDP leaves here, averaged by hand": (
        """
from torch.distributed.algorithms.ddp_comm_hooks import debugging_hooks
model = DDP(net)
model.register_comm_hook(None, debugging_hooks.noop_hook)
train(model, after=averaging(net))
""",
        EQUAL,
    ),
    "weights averaged now and then": (
        """
for _ in range(3):
    train(net, steps=4)
    for parameter in net.parameters():
        dist.all_reduce(parameter.data)
        parameter.data /= size
""",
        "parameters exchanged, weights equal",
    ),
    # On another port: on the same one a rank that is ahead meets the store that rank 0 is ending.
    "made and destroyed twice": (
        """
import os, socket
train(DDP(net))
with socket.create_server(("127.0.0.1", 0)) as free:
    port = torch.tensor([free.getsockname()[1]])
dist.broadcast(port, 0)
dist.destroy_process_group()
os.environ["MASTER_PORT"] = str(port.item())
dist.init_process_group("gloo")
train(DDP(net))
dist.destroy_process_group()
""",
        EQUAL,
    ),
    "two models, each wrapped": ("train(DDP(net)); train(DDP(network(2)))", EQUAL),
    "a second optimizer of the wrapped model": (
        (
            "model = DDP(net)\n"
            "train(model); train(model, optimizer=torch.optim.Adam(net.parameters(), lr=0.01))"
        ),
        EQUAL,
    ),
    "one step of a second optimizer, which computes its gradients itself": (
        (
            "model = DDP(net)\n"
            "train(model)\n"
            "last = torch.optim.LBFGS(net.parameters(), max_iter=3)\n"
            "def closure():\n"
            "    last.zero_grad()\n"
            "    loss = model(torch.ones(8, 20)).pow(2).mean(); loss.backward()\n"
            "    return loss\n"
            "last.step(closure)"
        ),
        EQUAL,
    ),
    "a second optimizer whose gradients are averaged by hand": (
        (
            "train(DDP(net)); train(net, after=averaging(net),"
            " optimizer=torch.optim.Adam(net.parameters(), lr=0.01))"
        ),
        EQUAL,
    ),
    "an optimizer within another one's step": (
        (
            "class Outer(torch.optim.Optimizer):\n"
            "    def __init__(self, inner):\n"
            "        super().__init__(inner.param_groups, {}); self.inner = inner\n"
            "    def step(self):\n"
            "        self.inner.step()\n"
            "train(DDP(net), optimizer=Outer(torch.optim.SGD(net.parameters(), lr=0.1)))"
        ),
        EQUAL,
    ),
    "an inner optimizer whose steps are taken back": (
        """
import copy
model = DDP(net)
outer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(3):
    state = copy.deepcopy(net.state_dict())
    train(net, steps=2)
    net.load_state_dict(state)
    train(model, steps=1, optimizer=outer)
""",
        EQUAL,
    ),
    "two optimizers of the same gradients": (
        """
model = DDP(net)
first, second = (torch.optim.SGD(net.parameters(), lr=lr) for lr in (0.1, 0.01))
model(torch.randn(8, 20)).pow(2).mean().backward()
first.step()
second.step()
""",
        EQUAL,
    ),
    "a copy of a wrapped model": ("import copy; train(copy.deepcopy(DDP(net)))", EQUAL),
    "a table of which each rank holds a part": (
        """
class Parts(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        found = [torch.empty_like(x) for _ in range(4)]
        dist.all_gather(found, x.contiguous())
        return torch.cat(found, 1)
    @staticmethod
    def backward(context, gradient):
        gradient = gradient.contiguous().clone()
        dist.all_reduce(gradient)
        return gradient.chunk(4, 1)[rank].contiguous()

table, top = torch.nn.Embedding(200_000, 4), DDP(torch.nn.Linear(16, 4))
table.weight.data.fill_(rank + 1.0)
train(lambda _: top(Parts.apply(table(torch.randint(0, 200_000, (8,))))),
      [*table.parameters(), *top.parameters()], steps=2)
""",
        "gradients exchanged, weights differ by 76% at the end",
    ),
    "rank 0 trains on by itself": (
        (
            "train(DDP(net))\n"
            "if rank == 0: train(net, optimizer=torch.optim.Adam(net.parameters(), lr=0.1))"
        ),
        "gradients exchanged, weights not compared (reassigned after the last step)",
    ),
    "a frozen layer": (
        (
            "net[0].requires_grad_(False); spread(net)\n"
            "train(DDP(net), [one for one in net.parameters() if one.requires_grad])"
        ),
        EQUAL,
    ),
    "an optimizer in parts": (
        """
from torch.distributed.optim import ZeroRedundancyOptimizer
model = DDP(net)
train(model, optimizer=ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.1))
""",
        EQUAL,
    ),
    "a pipeline": (
        """
optimizer = torch.optim.SGD(net.parameters(), lr=0.0001)
for _ in range(6):
    here = torch.randn(64, 4)
    if rank:
        dist.recv(here, rank - 1)
    here.requires_grad_()
    out = net(here.repeat(1, 5))
    back = torch.ones_like(out)
    if rank < size - 1:
        dist.send(out.detach(), rank + 1)
        dist.recv(back, rank + 1)
    optimizer.zero_grad()
    out.backward(back)
    if rank:
        dist.send(here.grad, rank - 1)
    optimizer.step()
""",
        "exchange of unknown values seen, weights differ by 165% at the end",
    ),
    "one rank trains for the others": (
        """
if rank == 0:
    train(net)
spread(net)
""",
        "rank 0 trained, and exchanged with the others",
    ),
    "inference": (
        """
spread(net)
with torch.no_grad():
    found = [torch.empty(8, 4) for _ in range(size)]
    dist.all_gather(found, net(torch.randn(8, 20)))
""",
        "no training seen",
    ),
}

PUT_NOWHERE = "their gradients went to other ranks, and what came back was not put into them"
FORGOTTEN = "4 ranks trained apart with one of their optimizers: the gradients of SGD"

# name -> what ranks do, and what the verdict says
APART = {
    "weights averaged, and a second model of the same shape trained alone": (
        """
for _ in range(3):
    train(net, steps=2)
    for parameter in net.parameters():
        dist.all_reduce(parameter.data)
        parameter.data /= size
train(network())
""",
        FORGOTTEN,
    ),
    "gradients averaged by hand, those of a second model not": (
        """
spread(net)
optimizer, other = torch.optim.SGD(net.parameters(), lr=0.1), network()
alone = torch.optim.SGD(other.parameters(), lr=0.1)
for _ in range(6):
    train(net, steps=1, after=averaging(net), optimizer=optimizer)
    train(other, steps=1, optimizer=alone)
""",
        FORGOTTEN,
    ),
    "gradients averaged by hand, those of the last layer not": (
        "spread(net); train(net, after=averaging(net[0]))",
        "ranks trained apart in a part: 2 of the 4 variables of SGD were not exchanged, and differ",
    ),
    "gradients averaged after the step": (
        """
spread(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(6):
    for parameter in net.parameters():
        if parameter.grad is not None:
            parameter.grad.zero_()
    net(torch.randn(8, 20)).pow(2).mean().backward()
    optimizer.step()
    averaging(net)()
""",
        PUT_NOWHERE,
    ),
    "gradients averaged, and others added": (
        """
def more():
    averaging(net)()
    net(torch.randn(8, 20)).pow(2).mean().backward()
spread(net)
train(net, after=more)
""",
        PUT_NOWHERE,
    ),
    "gradients summed in rank 0 alone": (
        """
def reduce():
    for parameter in net.parameters():
        dist.reduce(parameter.grad, 0)
spread(net)
train(net, after=reduce)
""",
        PUT_NOWHERE,
    ),
    "weights averaged before the first step alone": (
        """
for parameter in net.parameters():
    dist.all_reduce(parameter.data)
    parameter.data /= size
train(net)
""",
        "4 ranks trained apart: no gradient and no weight went through torch.distributed",
    ),
    "predictions gathered after each epoch, batch by batch": (
        """
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    train(net, steps=6, optimizer=optimizer)
    with torch.no_grad():
        for _ in range(6):
            found = [torch.empty(100, 4) for _ in range(4)]
            dist.all_gather(found, net(torch.randn(100, 20)))
""",
        "4 ranks trained apart: their weights differ by",
    ),
    "a hook of DDP that leaves the gradients here": (
        """
from torch.distributed.algorithms.ddp_comm_hooks import debugging_hooks
model = DDP(net)
model.register_comm_hook(None, debugging_hooks.noop_hook)
far = torch.randn(20) * 9
optimizer = torch.optim.SGD(net.parameters(), lr=0.02)
for _ in range(12):
    optimizer.zero_grad()
    (model(torch.randn(8, 20) + far) - rank).pow(2).mean().backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 8)
    optimizer.step()
""",
        "at most steps no gradient went through torch.distributed",
    ),
    "gradients gathered, and their mean put nowhere": (
        "spread(net); train(net, after=gathering(net))",
        "what came back was not put into them: SGD applied other gradients in each rank, in step 4",
    ),
    "every rank on one GPU": (
        "train(DDP(net)); cuda_says({0: 10**9})",
        "ranks 0, 1, 2 and 3 trained on one GPU, GPU-0000-0, although each rank has its own",
    ),
    "two ranks on one GPU": (
        "train(DDP(net)); cuda_says({rank // 2 if rank < 2 else rank: 10**9})",
        "ranks 0 and 1 trained on one GPU, GPU-0000-0",
    ),
    "never wrapped": (
        "train(net)",
        "4 ranks trained apart: no gradient and no weight went through",
    ),
    "never wrapped, and a metric averaged": (
        """
loss = torch.ones(1)
train(net, after=lambda: dist.all_reduce(loss))
spread(net)
dist.barrier()
""",
        "4 ranks trained apart: no gradient and no weight went through torch.distributed",
    ),
    "trained past the wrapper": (
        "train(DDP(net).module)",
        "wrapped with DistributedDataParallel, and trained past it",
    ),
    "one step past the wrapper": (
        "model = DDP(net); train(model.module, steps=1)",
        "wrapped with DistributedDataParallel, and trained past it",
    ),
    "DataParallel": ("train(torch.nn.DataParallel(net))", "4 ranks trained apart"),
    "never synchronised": (
        """
model = DDP(net)
with model.no_sync():
    train(model)
""",
        "4 ranks trained apart",
    ),
    "a group of its own for each": (
        """
alone = [dist.new_group([one]) for one in range(size)]
train(DDP(net, process_group=alone[rank]))
""",
        "their gradients went through process groups of one rank",
    ),
    "pairs that nothing connects": (
        """
pairs = [dist.new_group(pair) for pair in ([0, 1], [2, 3])]
train(DDP(net, process_group=pairs[rank // 2]))
""",
        "2 groups of ranks trained apart (ranks 0 and 1; ranks 2 and 3)",
    ),
    "two models, one wrapped": (
        "train(DDP(net)); train(network(2))",
        "4 ranks trained apart with one of their optimizers",
    ),
    "a second optimizer, past the wrapper": (
        "train(DDP(net)); train(net, optimizer=torch.optim.Adam(net.parameters(), lr=1e-5))",
        "4 ranks trained apart with one of their optimizers: the gradients of Adam",
    ),
    "a layer outside of the wrapper": (
        (
            "body, head = DDP(torch.nn.Linear(20, 16)), torch.nn.Linear(16, 4)\n"
            "both = [*body.parameters(), *head.parameters()]\n"
            "train(lambda x: head(body(x)), both)"
        ),
        "ranks trained apart in a part: 2 of the 4 variables of SGD were not exchanged, and differ",
    ),
    "a layer that was frozen when the model was wrapped": (
        (
            "net[0].requires_grad_(False)\n"
            "model = DDP(net)\n"
            "net[0].requires_grad_(True)\n"
            "train(model, net.parameters())"
        ),
        "ranks trained apart in a part: 2 of the 4 variables of SGD",
    ),
    "predictions gathered once": (
        (
            "train(net, steps=12)\n"
            "found = [torch.empty(100, 4) for _ in range(4)]\n"
            "dist.all_gather(found, net(torch.randn(100, 20)).detach())"
        ),
        "4 ranks trained apart: their weights differ by",
    ),
    "other start weights": ("train(net, after=averaging(net))", "the weights differ at the end"),
    "after the group was destroyed": (
        "dist.barrier(); dist.destroy_process_group(); train(net)",
        "while there was no process group",
    ),
    "one rank trains alone": ("rank or train(net); dist.barrier()", "rank 0 trained alone"),
}
