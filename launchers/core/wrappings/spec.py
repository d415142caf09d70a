"""What is found inside another tool's document."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from launchers.core.wrappings.places import Places


@dataclass(frozen=True)
class Spec:
    """A job's spec, as its service would get it.

    Attributes:
        provider: Whose it is, ``sagemaker``.
        document: The request; what is not known here is :class:`launchers.core.model.unknown.
            Unknown`.
        places: Where its parts lie in what was read.
        kind: What it lies in, ``an ACK TrainingJob``; empty where it is the document itself.
        moot: Rules that say nothing here, such as those about the spelling that the wrapping has.
    """

    provider: str
    document: Mapping[str, Any]
    places: Places = field(default_factory=Places)
    kind: str = ""
    moot: frozenset[str] = frozenset()

    @property
    def place(self) -> str:
        """Where it lies: ``$``, or ``$.States.Train.Parameters``."""
        return self.places.root


# Looks for specs in a part of a document (the part, its place); None where nothing knows the part.
Look = Callable[[Any, str], "list[Spec] | None"]


class Wrapping(ABC):
    """One form of another tool in which a spec lies. Pure."""

    @abstractmethod
    def specs(self, node: Mapping[str, Any], place: str, look: Look) -> Sequence[Spec] | None:
        """The specs in ``node``, which lies at ``place``; None where it is no such document, or
        holds none.

        Args:
            look: Looks in a part of it for what other wrappings know.

        Raises:
            LaunchError: A text in it cannot be parsed.
        """

    def lacking(self, node: Mapping[str, Any]) -> str:
        """Of such a document that holds no spec: what it is, and where a spec would lie; empty for
        any other."""
        return ""
