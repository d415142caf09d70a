"""What a provider's service does with a job: its containers, most of them one a host of ranks, and
how it ends them.

A provider describes both from its document (``contract`` and ``conduct``), the rehearsal keeps
them on this machine. Nothing here names a provider.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Channel:
    """Input data of a job, as one of its hosts finds it.

    Attributes:
        path: The folder in the container.
        uri: Where the data lies in the cloud.
        sharded: Each host gets its share of the files instead of all.
        streamed: The service gives a pipe instead of files.
    """

    name: str
    path: str
    uri: str = ""
    sharded: bool = False
    streamed: bool = False


@dataclass(frozen=True)
class Hardware:
    """What a host of the job has, in the service.

    Attributes:
        name: The machine's.
        vcpus: Virtual CPUs.
        memory_gib: Main memory in GiB.
        disk_gb: The job's disk in GB; 0 where the document does not say.
    """

    name: str
    vcpus: int
    memory_gib: float
    disk_gb: int = 0


@dataclass(frozen=True)
class Container:
    """What one host of a job would see.

    Attributes:
        name: The host's name, as messages have it.
        hostname: What the container calls itself.
        image: As the document names it; empty where it names none, and one of ours serves.
        command: The command, or an empty tuple for the image's own.
        environment: Its environment beyond the image's, whole.
        files: Path in the container -> content, or a file of this machine that has it.
        mounts: Path in the container -> file or folder of this machine, read-only.
        entrypoint: Stands for the image's entry point where not empty.
        folders: Empty folders that the service makes.
        channels: Input data.
        code: Where the job's code is expected: a path in the container, an address of an object
            store, or an empty string where the image has it.
        code_digest: The word of the command that is the hash of that code, where one is.
        ranks: The global ranks that run on this host, or so many where ``Conduct.places_ranks``;
            empty where it has none, and where each host is a job of its own.
        leader: This container's end is the job's end.
        gpus: How many GPUs the machine has.
        collected: Name -> folder in the container that the service keeps after the job.
        kept: Folders that outlive an interruption.
        address: Its name on the job's network; empty where that is ``name``.
        shared: Folders that all hosts read and write as one, as a bucket's mount; they outlive an
            interruption, too.
        names: Name -> address that it knows beyond those of its network.
        hardware: What it runs on; None for a machine that nobody knows.
    """

    name: str
    hostname: str
    image: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    files: Mapping[str, bytes | Path]
    mounts: Mapping[str, str] = field(default_factory=dict)
    entrypoint: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    channels: tuple[Channel, ...] = ()
    code: str = ""
    ranks: tuple[int, ...] = ()
    leader: bool = False
    gpus: int = 0
    collected: Mapping[str, str] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    address: str = ""
    shared: tuple[str, ...] = ()
    code_digest: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    hardware: Hardware | None = None


@dataclass(frozen=True)
class Cause:
    """A line that containers print when something known goes wrong.

    Attributes:
        pattern: A regular expression, searched in the line without its tag.
        text: One line for a person; ``{0}``, ``{1}`` stand for the pattern's groups.
        weak: The traceback of a rank says more.
        warns: Worth a warning where the job succeeds all the same.
    """

    pattern: str
    text: str
    weak: bool = False
    warns: bool = False


@dataclass(frozen=True)
class Pause:
    """A fixed wait of the service's own tools, reported by itself: from the line that matches
    ``begin`` to the line that matches ``end``."""

    what: str
    begin: str
    end: str


@dataclass(frozen=True)
class Sidecar:
    """A container beside those of the job: a program that the job's own image runs.

    Attributes:
        program: A Python program that needs the standard library alone, on this machine.
        serves: The file or folder in the container that it hands out: its one argument.
        address: Its name on the network; empty where that is ``name``.
    """

    name: str
    program: Path
    serves: str
    address: str = ""

    def container(
        self,
        image: str,
        files: Mapping[str, bytes | Path] | None = None,
        mounts: Mapping[str, str] | None = None,
    ) -> Container:
        """Its container, with what it serves; ``image`` must have python3."""
        program = f"/launch/{self.program.name}"
        return Container(
            name=self.name,
            hostname=self.name,
            address=self.address,
            image=image,
            entrypoint=("python3", program, self.serves),
            command=(),
            environment={},
            files={program: self.program, **(files or {})},
            mounts=mounts or {},
        )


@dataclass(frozen=True)
class Access:
    """How this machine's credentials reach a job's containers, where the user asks for it.

    Attributes:
        borrow: Writes them into a file of the folder that it is given, for its owner alone, and
            gives the file. May block; raises LaunchError where there are none.
        path: Where that file is mounted, in every container or in the server.
        environment: The variables by which containers find the file, or the server.
        note: What a user is told of it.
        server: Hands the credentials out, so that no container has the file.
        placeholder: The file's content without credentials, where the code is in a store beside
            the containers: it opens nothing.
    """

    borrow: Callable[[Path], Path]
    path: str
    environment: Mapping[str, str]
    note: str
    server: Sidecar | None = None
    placeholder: bytes = b""


@dataclass(frozen=True)
class MachineAccount:
    """Where a machine of a cloud hands its own credentials to whoever runs on it. A container of a
    rehearsal has no part in them, unless the user lets it.

    Attributes:
        addresses: Closed to the job's containers.
        environment: What tells libraries not to look there.
    """

    addresses: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DataSource:
    """Where the data of channels can be copied from.

    Attributes:
        name: For messages.
        scheme: Of the addresses that it has, with its ``://``.
        fetch: Copies what lies below an address into a folder; the third argument names the
            purpose in a problem. Blocks; raises LaunchError.
    """

    name: str
    scheme: str
    fetch: Callable[[str, Path, str], None]


@dataclass(frozen=True)
class Conduct:
    """How a provider treats a job's containers while it runs and when it ends.

    Attributes:
        max_runtime: Seconds until the job is stopped, or None.
        stop_grace: Seconds between SIGTERM and SIGKILL.
        follow_within: Seconds in which the leader has to end after another container ended well.
        isolated: The containers reach each other and nothing else.
        causes: What known lines in their output mean, the most telling first.
        pauses: Known waits.
        unheard: What is said where no rank saw an interruption's SIGTERM.
        left_out: What of the document no container stands for, one line each.
        substituted: What stands here for something of the document, one line each.
        unlike: How network and shared folders are on the service, and are not here; a line each.
        start_apart: Seconds between the starts of two containers, the leader last; 0 for all at
            once.
        leader_decides: Seconds in which the leader's own end is waited for after another
            container's bad one; 0 where that one's is the job's at once.
        restarts: What the service does with another container that ends badly, where it is not
            the job's end: the end of a sentence.
        retried_codes: Codes of the leader after which the service runs the whole job again.
        retries: How often it does.
        access: How credentials reach the containers; None where they use none.
        store: Serves code that the document leaves at an address; None where no code lies so.
        machine_account: What is closed to the containers unless the user lets credentials be used;
            None for nothing.
        image_needs: Rows of `launch image check`, beside the package of the ranks, without which it
            cannot start; None where nobody can tell.
        data: Where channels' data comes from, by whether the user lets this machine's credentials
            be used; None where nothing is to be copied.
        recipe: Which of our images serves where the document's cannot be had, by the name that
            `launch image build --with` has; empty for that of the job's strategy.
        places_ranks: The service decides which rank runs on which host, and the job's lines tell.
        ranks_environment: What the ranks are given, where that is in no container's environment.
    """

    max_runtime: int | None = None
    stop_grace: float = 120.0
    follow_within: float = 60.0
    isolated: bool = False
    causes: tuple[Cause, ...] = ()
    pauses: tuple[Pause, ...] = ()
    unheard: str = ""
    left_out: tuple[str, ...] = ()
    substituted: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    start_apart: float = 0.0
    leader_decides: float = 0.0
    restarts: str = ""
    retried_codes: frozenset[int] = frozenset()
    retries: int = 0
    access: Access | None = None
    store: Sidecar | None = None
    machine_account: MachineAccount | None = None
    image_needs: tuple[str, ...] | None = None
    data: Callable[[bool], DataSource | None] = lambda with_credentials: None
    recipe: str = ""
    places_ranks: bool = False
    ranks_environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def reading(cls, lines: Path, **fields: Any) -> Conduct:
        """With causes, pauses and ``unheard`` from a file of known lines, container_lines.json."""
        table = json.loads(lines.read_bytes())
        return cls(
            causes=tuple(Cause(**entry) for entry in table["causes"]),
            pauses=tuple(Pause(**entry) for entry in table.get("pauses", ())),
            unheard=table["unheard"],
            **fields,
        )
