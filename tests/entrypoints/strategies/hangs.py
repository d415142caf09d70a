"""Trainings of which one rank hangs in the middle, while another thread prints."""

from __future__ import annotations

BEAT = """
import threading, time
def beat():
    while True:
        time.sleep(0.5)
        print("alive at", time.monotonic())
threading.Thread(target=beat, daemon=True).start()

def stand():
    time.sleep(1000)

"""
# Behind a script that has ``tf``, ``compiled()`` and ``hangs``, whether this rank does.
FIT = (
    BEAT
    + """
class Hangs(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.02)
        if hangs and batch == 200:
            stand()

ones = tf.data.Dataset.from_tensor_slices((tf.ones((8, 4)), tf.ones((8, 1)))).repeat().batch(4)
compiled().fit(ones, steps_per_epoch=100_000, epochs=1, verbose=0, callbacks=[Hangs()])
"""
)
# What is said of it: rank 1 stands there, and rank 0 waits in TensorFlow.
FOUND = (
    r"warning: rank 1 hung: no progress for 4 s, in train.py:\d+ stand"
    r"(, another thread or process in train.py:\d+ beat)?; rank 0 waits in \w+"
)
