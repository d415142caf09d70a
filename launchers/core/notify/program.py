"""Programs that tell of a job's end: the user's command, and the desktop's own."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress

from launchers.core.notify.notice import Notice

# With which the names of the variables begin that a command gets.
VARIABLES = "LAUNCH_NOTICE_"
SECONDS = 30.0

# The texts are arguments of the script, and no part of it.
_APPLE = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)
_WINDOWS = (
    "[Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, "
    "ContentType = WindowsRuntime] > $null; "
    "$x = [Windows.UI.Notifications.ToastNotificationManager]::GetTemplateContent(1); "
    "$t = $x.GetElementsByTagName('text'); "
    "$t[0].AppendChild($x.CreateTextNode($env:LAUNCH_NOTICE_NAME)) > $null; "
    "$t[1].AppendChild($x.CreateTextNode($env:LAUNCH_NOTICE_TEXT)) > $null; "
    "[Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier('launch')"
    ".Show([Windows.UI.Notifications.ToastNotification]::new($x))"
)


def words_of(line: str) -> list[str]:
    """The program of ``command:LINE`` and its arguments: no shell reads them, quotes are as in one.

    Raises:
        ValueError: A quote has no end.
    """
    return shlex.split(line, posix=os.name != "nt")


def desktop_words(notice: Notice) -> list[str]:
    """The command that shows a notice on this system's desktop."""
    title, text = f"{notice['name']}: {notice['state']}", str(notice["text"])
    if sys.platform == "darwin":
        script = [word for line in _APPLE for word in ("-e", line)]
        return ["osascript", *script, title, text]
    if sys.platform == "win32":
        return ["powershell", "-NoProfile", "-NonInteractive", "-Command", _WINDOWS]
    return ["notify-send", "--app-name=launch", "--", title, text]


def missing(words: Sequence[str]) -> str:
    """Why the program cannot be started, as far as that is known; empty where it can."""
    if words and shutil.which(os.path.expanduser(words[0])):
        return ""
    return f"no program {words[0]!r} on this machine" if words else "no program"


def run(words: Sequence[str], notice: Notice) -> str:
    """Run a program with the notice as JSON on its standard input and its fields as variables. What
    it prints goes to stderr. Blocks at most :data:`SECONDS`.

    Returns:
        What went wrong; empty where nothing did.
    """
    with tempfile.TemporaryFile() as text:
        text.write(json.dumps(notice, ensure_ascii=False).encode("utf-8", "replace"))
        text.seek(0)
        try:
            process = subprocess.Popen(
                [os.path.expanduser(words[0]), *words[1:]],
                stdin=text,
                stdout=2,
                env={**os.environ, **variables(notice)},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return f"it cannot be started: {getattr(error, 'strerror', None) or error}"
        try:
            code = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            return f"it had not ended after {SECONDS:.0f} s, and was killed"
        finally:
            _end(process)
    return f"it ended with exit code {code}" if code else ""


def variables(notice: Notice) -> Mapping[str, str]:
    """``LAUNCH_NOTICE_STATE`` and its like; those without a value are left out."""
    fields = {name.upper(): value for name, value in notice.items() if value not in (None, "")}
    return {f"{VARIABLES}{name}": str(value).replace("\0", "") for name, value in fields.items()}


def _end(process: subprocess.Popen[bytes]) -> None:
    """What still runs of it: interrupted, or too slow."""
    if process.poll() is not None:
        return
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
