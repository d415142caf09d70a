"""One rank that runs many cases, each in a process that it forks, with the strategy's hooks in it.

    python watched.py FOLDER RANK SIZE

``cases.json`` in the folder lists them; case-NUMBER-RANK.json gets the records of each.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[3] / "entrypoints")

from launch_runtime.rank.exchange import collector as exchange  # noqa: E402
from launch_runtime.rank.exchange import telling  # noqa: E402
from launch_runtime.strategies.torch import STRATEGY  # noqa: E402

FOLDER, RANK, SIZE = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
LONGEST = 60  # seconds of one case


class Check:
    """Where the guard's check stands: here nothing is refused."""

    def before(self, call: str = "") -> None:
        pass

    def joined(self, world: object, carrier: object, why: object, call: str = "") -> None:
        collector.world(telling.INITIALISED)

    def leaving(self) -> None:
        collector.finish()
        collector.world(telling.SHUT_DOWN)


def run(case: dict, left: Path) -> None:
    """In a forked process: the case, and its records."""
    os.environ.update(
        RANK=str(RANK), WORLD_SIZE=str(SIZE), LOCAL_RANK=str(RANK),
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(case["port"]),
    )  # fmt: skip
    trouble = ""
    try:
        exec(
            compile(case["text"], case["name"], "exec"), {"rank": RANK, "size": SIZE, "dist": dist}
        )
        collector.finish()
    except BaseException:
        trouble = traceback.format_exc()
    if dist.is_initialized() and not trouble:
        dist.barrier()  # whoever ends first takes the store along, which others may be asking yet
    by_process = {record["pid"]: record for record in records}
    trouble = trouble or collector.broken
    left.write_text(json.dumps({"records": list(by_process.values()), "trouble": trouble}))
    os._exit(0)


records: list[dict] = []
collector = exchange.install(records.append, STRATEGY.tables)
STRATEGY.watch(Check())  # type: ignore[arg-type]

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.distributed.optim  # noqa: E402
import torch.nn.parallel  # noqa: E402

torch.set_num_threads(1)
for number, case in enumerate(json.loads((FOLDER / "cases.json").read_text())):
    child = os.fork()
    if child == 0:
        import signal

        signal.alarm(LONGEST)
        run(case, FOLDER / f"case-{number}-{RANK}.json")
    if os.waitpid(child, 0)[1]:
        sys.exit(f"{case['name']}: ended by a signal, or late")
