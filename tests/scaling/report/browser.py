"""A real browser, headless, by the DevTools protocol over two pipes: no port, no driver.

https://chromedevtools.github.io/devtools-protocol/ says what each method takes and gives.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# What one answer may take on a busy machine.
SECONDS = 60.0


def executable() -> str | None:
    """The path of a Chromium; None where none is installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One browser with one page; a context manager that ends it.

    Attributes:
        requests: Addresses that the page asked for, the page itself left out.
        said: What it wrote to the console, and its errors.
    """

    def __init__(self, program: str, folder: Path) -> None:
        self.requests: list[str] = []
        self.said: list[str] = []
        self._number, self._rest, self._session = 0, b"", ""
        self._events: list[dict[str, Any]] = []
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        # Chromium reads from 3 and writes to 4.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out)]
        words = (
            program,
            "--headless",
            "--no-sandbox",  # as root there is none
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--remote-debugging-pipe",
            f"--user-data-dir={folder}",
            "about:blank",
        )
        with (folder / "browser.log").open("wb") as log:
            self._process = subprocess.Popen(
                ["bash", "-c", f'exec "$0" "$@" 3<&{ends[0]} 4>&{ends[1]}', *words],
                pass_fds=ends,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        for end in (*ends, theirs_in, theirs_out):
            os.close(end)

    def __enter__(self) -> Browser:
        made = self.send("Target.createTarget", url="about:blank")
        flat = self.send("Target.attachToTarget", targetId=made["targetId"], flatten=True)
        self._session = flat["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._session = ""
        try:
            self.send("Browser.close")
        except EOFError:
            pass
        finally:
            os.close(self._out)
            os.close(self._in)
            try:
                self._process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def open(self, file: Path) -> None:
        """Shows ``file``; blocks until it and all that it asked for is there."""
        self.requests.clear()
        self.said.clear()
        self._events.clear()
        address = file.as_uri()
        self.send("Page.navigate", url=address)
        self._until("Page.loadEventFired")
        self.requests[:] = [asked for asked in self.requests if asked != address]

    def look(self, width: int, height: int = 800, *, dark: bool = False, scale: int = 1) -> None:
        """The window's size in CSS px, and which colours the user prefers."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", media="", features=[scheme])

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def pdf(self) -> bytes:
        """The page as it is printed."""
        answer = self.send("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
        return base64.b64decode(answer["data"])

    def picture(self) -> bytes:
        """The whole page as a PNG."""
        answer = self.send("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(answer["data"])

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """One command and its answer."""
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        rest = json.dumps(message).encode() + b"\0"
        while rest:
            rest = rest[os.write(self._out, rest) :]
        while True:
            answer = self._read()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def _until(self, event: str) -> None:
        while all(seen["method"] != event for seen in self._events):
            self._read()

    def _read(self) -> dict[str, Any]:
        """The next message; an event is noted."""
        end = time.monotonic() + SECONDS
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"the browser said nothing for {SECONDS} s")
            more = os.read(self._in, 1 << 16)
            if not more:
                raise EOFError("the browser ended")
            self._rest += more
        text, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self._note(message)
        return message

    def _note(self, event: dict[str, Any]) -> None:
        self._events.append(event)
        params = event["params"]
        if event["method"] == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif event["method"] == "Runtime.consoleAPICalled":
            self.said.append(json.dumps(params["args"]))
        elif event["method"] == "Runtime.exceptionThrown":
            self.said.append(json.dumps(params["exceptionDetails"]))
        elif event["method"] == "Log.entryAdded":
            self.said.append(params["entry"]["text"])
