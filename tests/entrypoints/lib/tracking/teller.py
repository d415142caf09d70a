"""A training without a framework: tells trackers what its standard input says.

A line is a JSON list, ``[name, call, *arguments]``, and is answered by ``DONE`` once that returned.
``make`` takes the words of ``--track``, the folders of model and checkpoints, the seconds of the
end, and variables.
"""

from __future__ import annotations

import json
import os
import sys

from lib.errors import TrainingError
from lib.tracking import makers

trackers = {}
for line in sys.stdin:
    name, call, *given = json.loads(line)
    try:
        if call == "make":
            *given, variables = given
            os.environ.update(variables)
            trackers[name] = makers.make(*given)
        else:
            getattr(trackers[name], call)(*given)
    except TrainingError as error:
        sys.stdout.write(f"REFUSED {error}\n")
    # In one piece: print() writes the end of a line by itself, and trackers have a thread.
    sys.stdout.write("DONE\n")
    sys.stdout.flush()
