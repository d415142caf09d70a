"""Why a guard ends its rank: what was expected, what was found, the likely cause, the fix."""

from __future__ import annotations

from launch_runtime import lines


class RefusalError(Exception):
    """The rank must not go on.

    Args:
        expected: What the job definition promises.
        found: What this rank has instead.
        cause: The most likely one.
        fix: What to change.
    """

    def __init__(self, expected: str, found: str, cause: str = "", fix: str = ""):
        super().__init__(expected, found, cause, fix)
        self.expected, self.found, self.cause, self.fix = expected, found, cause, fix

    @property
    def reason(self) -> str:
        """All of it but the fix, for the line about the failure."""
        text = f"expected {self.expected}, found {self.found}"
        return f"{text}: {self.cause}" if self.cause else text

    def explanation(self) -> list[str]:
        """The lines for people."""
        parts = [
            f"expected {self.expected}, found {self.found}",
            f"likely cause: {self.cause}" if self.cause else "",
            f"fix: {self.fix}" if self.fix else "",
        ]
        return [lines.message(part) for part in parts if part]
