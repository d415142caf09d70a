"""Training scripts for the tests: real Horovod, as little else as possible."""

from __future__ import annotations

from tests.keras_2 import KERAS_2

HOROVOD = (
    KERAS_2
    + """
import os, sys, time
import horovod.tensorflow as hvd
import tensorflow as tf
hvd.init()
print("rank", hvd.rank(), "of", hvd.size(), "pid", os.getpid(), flush=True)
"""
)

# One allreduce every 50 ms, until somebody ends it.
ENDLESS = (
    HOROVOD
    + """
for step in range(100000):
    hvd.allreduce(tf.constant([1.0]), name="step%d" % step)
    if step == 3:
        print("stepping", flush=True)
    time.sleep(0.05)
"""
)

RAISES = (
    HOROVOD
    + """
def train():
    raise ValueError("no such layer: conv9")
train()
"""
)

ONE_RAISES = (
    HOROVOD
    + """
if hvd.rank() == 1:
    raise ValueError("only rank 1 knows why")
while True:
    hvd.allreduce(tf.constant([1.0]))
"""
)

NO_INIT = """
import os
print("training alone in", os.getpid(), flush=True)
"""

WIPED = (
    KERAS_2
    + """
import os
for name in [name for name in os.environ if name.startswith("HOROVOD_")]:
    del os.environ[name]
import horovod.tensorflow as hvd
hvd.init()
print("the first line after init", flush=True)
"""
)

PLAIN = """
import sys
print("arguments", sys.argv[1:], flush=True)
"""

# Takes the folder of its checkpoints as it finds it, and fails.
TELLS_ITS_CHECKPOINTS = """
import os, sys
found = os.listdir(os.environ["LAUNCH_CHECKPOINT_DIR"])
print(ascii(sys.argv[1:]), os.environ["A"].encode("ascii", "backslashreplace").decode(), found)
sys.exit(3)
"""

# Counts steps in LAUNCH_CHECKPOINT_DIR; the first run fails between epochs.
RESUMES = (
    HOROVOD
    + """
from pathlib import Path
folder = Path(os.environ["LAUNCH_CHECKPOINT_DIR"])
folder.mkdir(parents=True, exist_ok=True)
done = folder / "epochs"
start = int(done.read_text()) if done.exists() else 0
hvd.allreduce(tf.constant([1.0]), name="all-have-read")
print("starting at epoch", start, flush=True)
for epoch in range(start, 4):
    hvd.allreduce(tf.constant([1.0]), name="epoch%d" % epoch)
    if hvd.rank() == 0:
        done.write_text(str(epoch + 1))
    if epoch == 1 and start == 0:
        os.kill(os.getpid(), 9)
"""
)
