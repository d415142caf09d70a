"""What looks for private keys in an image: a program of a check, run by the image's Python (3.6).

Its line ``PATTERN = b...`` is replaced by probe.py. Libraries and large files are left out: some
libraries carry the keys of their own self-tests, and no key of ssh or TLS is large.
"""

import os
import re

PATTERN = b""  # of the launcher's own rules of credentials; replaced
LARGEST = 256 * 1024
LEFT_OUT = ("/proc", "/sys", "/dev")
SHOWN = 5


def main():  # type: () -> None
    """Print the answer, in the words of the other programs of a check."""
    found = private_keys(re.compile(PATTERN))
    if not found:
        print("ANSWER private-keys none")
        return
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    print("LACKS private-keys " + ", ".join(found[:SHOWN]) + more)


def private_keys(pattern):  # type: (re.Pattern[bytes]) -> list[str]
    """Paths of small files with a whole private key in them."""
    found = []
    for folder, folders, files in os.walk("/"):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in LEFT_OUT]
        for name in files:
            path = os.path.join(folder, name)
            if pattern.search(content(path)):
                found.append(path)
    return sorted(found)


def content(path):  # type: (str) -> bytes
    """Of an ordinary small file that is no library; nothing of any other."""
    try:
        if os.path.islink(path) or not 0 < os.path.getsize(path) <= LARGEST:
            return b""
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return b""
    return b"" if text.startswith(b"\x7fELF") or b"PRIVATE KEY" not in text else text


if __name__ == "__main__":
    main()
