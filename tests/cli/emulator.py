"""What a terminal shows of the bytes that it got: enough of one for our bars."""

from __future__ import annotations

import io
import re

_PART = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


class TerminalStream(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def lines_on(text: str) -> list[str]:
    """The lines of a terminal that is high enough, without the empty ones at the end."""
    lines, row, column = [""], 0, 0
    for numbers, command, control, plain in _PART.findall(text):
        if control == "\r":
            column = 0
        elif control == "\n":
            row, column = row + 1, 0
        elif command == "A":
            row = max(0, row - int(numbers or 1))
        elif command == "K":
            lines[row] = "" if numbers == "2" else lines[row][:column]
        elif plain:
            before = lines[row].ljust(column)
            lines[row] = before[:column] + plain + before[column + len(plain) :]
            column += len(plain)
        while len(lines) <= row:
            lines.append("")
    while lines and not lines[-1].strip():
        lines.pop()
    return [line.rstrip() for line in lines]
