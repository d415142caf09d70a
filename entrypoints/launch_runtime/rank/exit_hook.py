"""``os._exit``: what the rank still has to say is said first, though Python itself says nothing.

Scripts leave so after good work too, and every process that multiprocessing forks does.
"""

from __future__ import annotations

import os
from typing import Callable

at_once = os._exit  # the real one; for this package, whose refusals need no last words


def install(before: Callable[[int], int]) -> None:
    """From now on ``os._exit(status)`` calls ``before(status)``, and leaves with what it gives.

    Whatever goes wrong in ``before``, the process leaves; it has to see to it that it comes back.
    """

    def _exit(status: int) -> None:
        code = status
        try:
            code = before(status)
        except BaseException:  # an interrupt too: the script has decided to leave
            code = status
        finally:
            at_once(code)

    _exit.__doc__ = at_once.__doc__
    _exit.__module__ = at_once.__module__
    os._exit = _exit  # type: ignore[assignment]
