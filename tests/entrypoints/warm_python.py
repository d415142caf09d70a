"""A Python with TensorFlow and Horovod in it, from which ranks are forked.

    python warm_python.py [HOOKS]

Their import costs twice what most ranks of tests then do. HOOKS is a script that runs before it. A
line of JSON on standard input is a rank: script, arguments, folder, environment, and files for its
two streams. It gets a process id, a session, an environment and a ``sys.path`` of its own, and
standard output says the id: of an orphan, which whoever asks adopts, and waits for. With the end of
standard input this ends; ranks go on.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import sys
from typing import Any


def import_stack() -> None:
    """What every rank would import first; no more than that, so that it has no threads yet."""
    for name in ("tensorflow", "tf_keras", "horovod.tensorflow.keras"):
        importlib.import_module(name)
    # A forked process has the numbers of this one ahead of it, and a fresh one has its own.
    os.register_at_fork(after_in_child=sys.modules["numpy"].random.seed)


def next_rank(answers: int) -> dict[str, Any]:
    """Returns in the process of each rank; this one ends here."""
    for line in sys.stdin:
        reader, writer = os.pipe()
        between = os.fork()
        if between == 0:
            rank = os.fork()
            if rank == 0:
                for descriptor in (reader, writer, answers):
                    os.close(descriptor)
                return dict(json.loads(line))
            os.write(writer, f"{rank}\n".encode())
            os._exit(0)
        os.waitpid(between, 0)
        os.write(answers, os.read(reader, 100))
        os.close(reader)
        os.close(writer)
    os._exit(0)


def become(rank: dict[str, Any]) -> None:
    """Takes the rank's session, streams, folder, environment and arguments."""
    os.setsid()
    paths = [os.devnull, rank["out"], rank["err"]]
    for number, path in enumerate(paths):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC if number else os.O_RDONLY)
        os.dup2(file, number)
        os.close(file)
    sys.stdin = os.fdopen(0, closefd=False)
    os.chdir(rank["folder"])
    os.environ.clear()
    os.environ.update(rank["environment"])
    script = rank["script"]
    sys.argv = [script, *rank["arguments"]]
    more = os.environ.get("PYTHONPATH", "")
    sys.path[:] = [os.path.dirname(script), *filter(None, more.split(os.pathsep)), *PATH]


if __name__ == "__main__":
    ANSWERS = os.dup(1)
    os.dup2(2, 1)
    # Not beside this file: tests have folders by the names of packages.
    PATH = sys.path[1:]
    sys.path[:] = PATH
    if sys.argv[1:]:
        HOOKS = runpy.run_path(sys.argv.pop(1))
    import_stack()
    gc.collect()
    # Ranks would copy every page in which a collection counts references.
    gc.freeze()
    become(next_rank(ANSWERS))
    runpy.run_path(sys.argv[0], run_name="__main__")
