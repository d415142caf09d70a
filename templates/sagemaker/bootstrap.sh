# Unpacks the job's code on a host and becomes its agent. $1: the SHA-256 of the tar in the bundle.
# As the image's own scripts do, `python` comes first: it is the one with the framework.
for python in python python3; do
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null && exec "$python" -c '
import gzip, hashlib, json, os, signal, sys, tarfile, tempfile
root = "/opt/ml"
def unpack(path, sha256):
    folder, found = tempfile.mkdtemp(prefix="launch-"), hashlib.sha256()
    with gzip.open(path) as packed, tempfile.TemporaryFile() as plain:
        for chunk in iter(lambda: packed.read(1 << 20), b""):
            found.update(chunk)
            plain.write(chunk)
        if found.hexdigest() != sha256:
            raise ValueError(f"{path}: the hash is {found.hexdigest()}, expected {sha256}")
        plain.seek(0)
        with tarfile.open(fileobj=plain) as archive:
            archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
            archive.extractall(folder)
    return folder
def fail(reason):
    host, stamp = "?", os.environ.get("LAUNCH_NONCE", "")
    try:
        with open(f"{root}/output/failure", "w") as file:
            file.write(reason)
        with open(f"{root}/input/config/resourceconfig.json") as file:
            host = json.load(file)["current_host"]
    except (OSError, ValueError, KeyError):
        pass
    fields = {"rank": None, "host": host, "exit_code": 2, "signal": None, "phase": "joining"}
    if stamp:
        fields["stamp"] = hashlib.sha256(b"launch stamp " + stamp.encode()).hexdigest()[:16]
    print("launch: failure: " + json.dumps({**fields, "reason": reason}), flush=True)
    sys.exit(2)
# Process 1 of a container is not ended by a signal that it does not handle.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
try:
    folder = unpack(f"{root}/input/data/code/sourcedir.tar.gz", sys.argv[1])
    agent = [sys.executable, os.path.join(folder, "agent.py"), "--sagemaker", root]
    os.execv(agent[0], agent)
except Exception as error:
    fail(f"the code cannot be unpacked: {error}")
' "$1"
done
echo 'no Python 3.8 or later in this image (python, python3)' > /opt/ml/output/failure
echo 'launch: failure: {"rank": null, "reason": "no Python 3.8 or later in this image"}'
exit 2
