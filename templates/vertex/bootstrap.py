# What starts a replica: python3 -c THIS BUNDLE SHA256 WORDS
#
# Unpacks the job's code from the mounted bucket and becomes its agent. BUNDLE is a .tar.gz, SHA256
# the hash of the tar in it, WORDS a JSON list: the training script and its arguments. Nothing is
# unpacked unless the hash is right. Python 3.8, standard library.

import gzip
import hashlib
import json
import os
import sys
import tarfile
import tempfile
import time
import zlib


def wait_for(path, seconds):
    # The mount, or an object in it, may show up late.
    deadline = time.monotonic() + seconds
    while not os.path.isfile(path):
        if time.monotonic() > deadline:
            raise ValueError(f'{path} is not there, or the service account may not read it')
        time.sleep(min(1, seconds))


def unpack(path, sha256, folder):
    # Check first, then write; nothing may land outside of the folder.
    found = hashlib.sha256()
    with gzip.open(path) as packed, tempfile.TemporaryFile() as plain:
        while chunk := packed.read(1 << 20):
            found.update(chunk)
            plain.write(chunk)
        if found.hexdigest() != sha256:
            raise ValueError(f'{path}: the hash is {found.hexdigest()}, expected {sha256}')
        plain.seek(0)
        with tarfile.open(fileobj=plain) as archive:
            # As Python's documentation has it for versions that may lack the filter.
            archive.extraction_filter = getattr(tarfile, 'data_filter', lambda member, _: member)
            for member in archive:
                refuse_outside(member, folder)
                archive.extract(member, folder)


def refuse_outside(member, folder):
    # Files, folders and symbolic links whose way stays below the folder are all there may be.
    place = os.path.realpath(os.path.join(folder, member.name))
    places = [place]
    if member.issym():
        places.append(os.path.realpath(os.path.join(os.path.dirname(place), member.linkname)))
    inside = all(each.startswith(folder + os.sep) for each in places)
    if not inside or not (member.isfile() or member.isdir() or member.issym()):
        raise ValueError(f'the member {member.name!r} is refused: it leads out')


def fail(reason):
    # The one line that the launcher looks for, with the replica's name as the agent has it.
    task = json.loads(os.environ.get('CLUSTER_SPEC') or '{}').get('task', {})
    host = '{}-{}'.format(task.get('type', 'workerpool0'), task.get('index', 0))
    failure = {'rank': None, 'host': host, 'exit_code': 2, 'signal': None, 'phase': 'joining'}
    print('launch: failure: ' + json.dumps({**failure, 'reason': reason}), flush=True)
    sys.exit(2)


try:
    bundle, sha256, words = sys.argv[1:]
    words = json.loads(words)
    wait_for(bundle, float(os.environ.get('LAUNCH_BUNDLE_TIMEOUT') or 300))
    folder = os.path.realpath(tempfile.mkdtemp(prefix='launch-'))
    unpack(bundle, sha256, folder)
    agent = [sys.executable, os.path.join(folder, 'agent.py'), *words]
    os.execv(agent[0], agent)
except (OSError, EOFError, ValueError, TypeError, tarfile.TarError, zlib.error) as error:
    fail(f'the code cannot be unpacked: {error}')
