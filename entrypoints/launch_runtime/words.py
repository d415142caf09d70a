"""What a strategy calls things, in the messages of agent, guard and judge. No code but theirs."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from launch_runtime import lines


class Words(NamedTuple):
    """One strategy's.

    Attributes:
        product: What carries tensors from rank to rank.
        join: The call that makes a process a rank.
        leave: The call after which it is none.
        never: Why a rank that ended well was none; with ``{rank}`` and ``{size}``.
        why_never: The likely cause of that.
        fix_never: What to change then.
        not_used: For the proof of a job of one rank.
        late: What happens to ranks that never join; with ``{size}``.
        inner: Ranks that the script starts itself, in every rank of the job.
        fix_inner: What to change then.
        keep: What to do about variables that the script has changed.
        wrap: How a script exchanges its gradients.
        broadcast: How ranks start from the same weights.
        assign: How what an exchange gives comes into the gradients.
        not_during: The cause where the training lay before or after.
        around: The cause where what exchanges gradients was made and never called.
        fix_around: What to change then.
        groups: Groups of ranks.
        fix_parts: What to change where groups of ranks are apart.
        fix_alone: What to change where each group is one rank.
        uneven: The call after which ranks may have different weights.
        abort: What is said of a rank that ended by SIGABRT as one does whose peer is gone.
        abort_phases: The phases of which that is said.
        idle: Lines that its product writes of its own accord while ranks wait: no progress. A
            regular expression.
        pick: How a script takes its rank's GPU.
        holds: What a rank holds one of, and a host several: the noun of the world size.
    """

    product: str
    join: str
    leave: str
    never: str
    why_never: str
    fix_never: str
    not_used: str
    late: str
    inner: str
    fix_inner: str
    keep: str
    wrap: str
    broadcast: str
    assign: str = "assign the exchange's result to the gradients"
    not_during: str = ""
    around: str = ""
    fix_around: str = ""
    groups: str = "groups"
    fix_parts: str = ""
    fix_alone: str = ""
    uneven: str = ""
    abort: str = ""
    abort_phases: Sequence[str] = ()
    idle: str = ""
    pick: str = "let each rank pick the GPU of its local rank"
    holds: str = "rank"

    def alone(self) -> str:
        """What a proof says of a job of one rank that joined nothing."""
        return lines.world(1, 1, 1, self.not_used)

    def unjoined(self, ranks: Sequence[int], seconds: float, size: int) -> str:
        """The warning about ranks that have not joined the others after so many seconds."""
        names = lines.and_list([str(number) for number in ranks])
        found = f"no {self.join} in rank {names} after {seconds:g} s"
        return f"warning: {found}; {self.late.format(size=size)}"


HOROVOD = Words(
    product="Horovod",
    join="hvd.init()",
    leave="hvd.shutdown()",
    never=(
        "rank {rank} ended without ever having called hvd.init(): "
        "{size} independent copies ran, not one job"
    ),
    why_never=(
        "the script does not use Horovod, or runs it in a process that was started with an "
        "environment of its own"
    ),
    fix_never=(
        "add `import horovod.tensorflow as hvd` (or horovod.torch) and `hvd.init()` to the script, "
        "and wrap the optimizer with hvd.DistributedOptimizer"
    ),
    not_used="Horovod not used",
    late="without it {size} independent copies run",
    inner="ranks of a launcher inside the script (horovod.run, horovodrun or mpirun)",
    fix_inner="call hvd.init() in the script itself, and let launch start the ranks",
    keep="leave the HOROVOD_* variables as the script finds them",
    wrap=(
        "wrap the optimizer with hvd.DistributedOptimizer, or the tape with "
        "hvd.DistributedGradientTape"
    ),
    broadcast=(
        "broadcast the start weights from rank 0: hvd.broadcast_variables(model.variables, "
        "root_rank=0), BroadcastGlobalVariablesCallback(0) for fit(), or "
        "hvd.broadcast_parameters(model.state_dict(), root_rank=0) for PyTorch"
    ),
    assign=(
        "put what hvd.allreduce gives into the gradients: it leaves its own tensor as it was, "
        "hvd.allreduce_ of PyTorch does not"
    ),
    not_during="they trained while Horovod was not running (before hvd.init() or after shutdown)",
    groups="process sets",
    fix_parts="let the process sets overlap, or use the global one",
    fix_alone="use a process set that holds several ranks, or the global one",
    uneven="hvd.join()",
    abort=" (Horovod ends so where a rank cannot reach another one)",
    abort_phases=("starting",),
    pick="pick the GPU of hvd.local_rank(), before the model is made",
    # Once a minute (stall_inspector.cc, 0.19 to 0.28.1): a headline, ranks and their tensors.
    idle=r".*stall_inspector\.cc.*|Missing ranks:\s*|\d+: \[.*",
)
