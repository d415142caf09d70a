"""Pages of an object store's list, with folders where a delimiter makes some."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class ListPage:
    """A page.

    Attributes:
        more: The last key that it covers, if there are more.
    """

    keys: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    more: str = ""


def list_page(keys: Iterable[str], prefix: str, delimiter: str, after: str, size: int) -> ListPage:
    """At most ``size`` keys and folders of those that begin with ``prefix``, after a key."""
    page, last = ListPage(), ""
    for key in sorted(key for key in keys if key.startswith(prefix) and key > after):
        cut = key.find(delimiter, len(prefix)) if delimiter else -1
        folder = key[: cut + len(delimiter)] if cut >= 0 else ""
        # All of a folder that the last page ended with is behind us.
        if folder and (folder in page.folders or after.startswith(folder)):
            last = key
            continue
        if len(page.keys) + len(page.folders) >= size:
            page.more = last
            break
        last = key
        if folder:
            page.folders.append(folder)
        else:
            page.keys.append(key)
    return page
