"""The keys of ssh, made when a container starts, so that none lies in the image.

mpirun reaches the other hosts of a job by ssh, as root, with one key pair that all of them have;
nothing passes between them before that. So each derives the pair from what this job's hosts alone
were given: the launcher's nonce (LAUNCH_NONCE), the job's ARN, its hyperparameters. Who can read
the image has no key. Without any of these the pair is random, of this container alone.
"""

import hashlib
import json
import os
import subprocess

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

HOST_KEY = "/etc/ssh/ssh_host_ed25519_key"
FOLDER = "/root/.ssh"
VARIABLES = ("LAUNCH_NONCE", "TRAINING_JOB_ARN")
HYPERPARAMETERS = "/opt/ml/input/config/hyperparameters.json"


def main() -> None:
    """Make what is not there yet."""
    if not os.path.exists(HOST_KEY):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "launch", "-f", HOST_KEY]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    if not os.path.exists(f"{FOLDER}/id_ed25519"):
        root_pair(Ed25519PrivateKey.from_private_bytes(seed()))


def seed() -> bytes:
    """32 bytes that are the same on every host of the job, and another job's are others."""
    given = {name: os.environ[name] for name in VARIABLES if os.environ.get(name)}
    if not given:
        return os.urandom(32)
    try:
        with open(HYPERPARAMETERS, encoding="utf-8") as file:
            given["hyperparameters"] = json.load(file)
    except (OSError, ValueError):
        pass
    text = json.dumps(given, sort_keys=True)
    return hashlib.sha256(b"launch: root's key pair of ssh\0" + text.encode()).digest()


def root_pair(key: Ed25519PrivateKey) -> None:
    """Write root's pair, and let its owner in."""
    os.makedirs(FOLDER, mode=0o700, exist_ok=True)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) + b" launch\n"
    # The private key last: it is what says that the pair is there.
    for name, content, mode in (
        ("id_ed25519.pub", public, "wb"),
        ("authorized_keys", public, "ab"),
        ("id_ed25519", private, "wb"),
    ):
        path = os.path.join(FOLDER, name)
        with open(path, mode, opener=lambda at, flags: os.open(at, flags, 0o600)) as file:
            file.write(content)


if __name__ == "__main__":
    main()
