"""A stand-in for the collector of evidence: what it saw is what the script says that it did.

    import anytraining
    anytraining.train()                   # an optimizer whose gradients went through an exchange
    anytraining.train(exchanged=False)    # one whose gradients did not
    anytraining.train(weight=2.0)         # where its weights end
    anytraining.idle("no CUDA")           # why its GPU is idle

STANDIN_FINISH says what becomes of the last record: ``hangs`` or ``fails``.
"""

import base64
import os
import struct
import sys
import time
import types


def install(send, tables):
    collector = Collector(send)
    sys.modules["anytraining"] = module = types.ModuleType("anytraining")
    module.train, module.idle = collector.train, collector.idle
    return collector


class Collector:
    def __init__(self, send):
        self._send = send
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self):
        self._sets, self._phase, self._told, self._sent = [], "before", [], None
        self._idle = ""

    def train(self, exchanged=True, weight=1.0, variables=2, name="Adam"):
        floats = struct.pack("<4f", *[weight] * 4) * variables
        self._sets.append({
            "name": name, "form": f"form-{variables}", "variables": variables,
            "elements": 100 * variables, "local": 0, "exchanged": variables * exchanged,
            "how": "gradients" if exchanged else "", "groups": ["all"] if exchanged else [],
            "phases": [self._phase],
            "weights": {
                "shapes": ["100"] * variables, "prints": base64.b64encode(floats).decode(),
                "kept": list(range(variables)), "changed": [], "why": "",
            },
        })  # fmt: skip
        if exchanged and len(self._sets) == 1:
            self._send(self._record(final=False))

    def idle(self, why):
        self._idle = why

    def world(self, state):
        self._told.append(state)
        self._phase = {"initialised": "during", "shut-down": "after"}[state]

    def finish(self):
        if os.environ.get("STANDIN_FINISH") == "hangs":
            time.sleep(1000)
        if os.environ.get("STANDIN_FINISH") == "fails":
            raise ValueError("no last record")
        record = self._record(final=True)
        if record != self._sent:
            self._sent = record
            self._send(record)

    def _record(self, final):
        sets = [one if final else {**one, "weights": None} for one in self._sets]
        return {
            "pid": os.getpid(), "final": final, "joined": False, "called_after": 0, "other": [],
            "sets": sets, "told": list(self._told), "idle_gpu": self._idle,
        }  # fmt: skip
