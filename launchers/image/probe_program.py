"""What runs inside an image to say what is in it. Read by whatever Python the image has: 3.6's
syntax, the standard library alone, one file; it is handed over on the command line.

`python -c SOURCE QUESTION GIVEN` (see probe.py) prints one line `LAUNCH-PROBE {...}`; other lines
are noise of what it started. It changes files of its own container, which is thrown away.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from typing import Any

MARK = "LAUNCH-PROBE "
PACKAGES = (
    *("tensorflow", "tf-keras", "torch", "horovod", "pyspark"),
    *("mpi4py", "sagemaker-training", "boto3", "scikit-learn"),
)
# How the toolkit starts ranks (sagemaker-training 5.1, mpi.py), but on one host and its loopback.
MPIRUN = (
    "mpirun --allow-run-as-root -np 2 --host localhost:2 -bind-to none -map-by slot -mca pml ob1 "
    "-mca btl ^openib -mca btl_vader_single_copy_mechanism none -mca oob_tcp_if_include lo "
    "-mca btl_tcp_if_include lo"
)
FRAMEWORK = """
import json, horovod.{framework} as hvd
print("ANSWER " + json.dumps({{name: bool(getattr(hvd, name + "_built")())
                               for name in ("mpi", "gloo", "nccl")}}))
"""
RANK = """
import horovod.{framework} as hvd
hvd.init()
print("ANSWER %d/%d" % (hvd.rank(), hvd.size()))
hvd.shutdown()
"""
SSH_SECONDS = 15.0


def main() -> None:
    """Print the answer to the one question that argv asks."""
    question, given = sys.argv[1], json.loads(sys.argv[2])
    if question == "packages":
        answer = {name: package_version(name) for name in given}  # type: dict[str, Any]
    elif question in ("quick", "versions"):
        answer = quick(given) if question == "quick" else versions()
    else:
        answer = answers(given["programs"])
        if question == "facts":
            # As a service starts it: it may make the keys that the facts tell of.
            if given["entrypoint"]:
                run([*given["entrypoint"], "true"])
            answer.update(facts())
    print("\n" + MARK + json.dumps(answer, sort_keys=True), flush=True)


def versions() -> "dict[str, str]":
    """Programs and packages to their versions; what is not there is left out."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        version = package_version(name)
        if version:
            found[name] = version
    open_mpi = mpirun()["version"]
    if open_mpi:
        found["open-mpi"] = open_mpi
    java = re.search(r'version "([^"]+)"', run(["java", "-version"])[1])
    if java:
        found["java"] = java.group(1)
    return found


def quick(packages: "list[str]") -> "dict[str, Any]":
    """What can be told in a second, without importing anything of the image."""
    return {
        "python": platform.python_version(),
        "versions": {name: package_version(name) for name in (*PACKAGES, *packages)},
        "mpirun": mpirun(),
        "sshd": {"path": sshd_path()},
        "train": shutil.which("train") or "",
        "code": code_files(),
    }


def facts() -> "dict[str, Any]":
    """Everything that launchers/image/needs.py asks for."""
    found = {  # type: dict[str, Any]
        "versions": {name: package_version(name) for name in PACKAGES},
        "horovod": {},
        "mpirun": mpirun(),
        "mpi4py": mpi4py(),
        "sshd": sshd(),
        "train": shutil.which("train") or "",
        "shim": shim(),
        "code": code_files(),
        "ranks": "",
    }
    for framework, package in (("tensorflow", "tensorflow"), ("torch", "torch")):
        if found["versions"][package]:
            found["horovod"][framework] = horovod_parts(framework)
    for framework, parts in found["horovod"].items():
        if parts.get("mpi") and found["mpirun"]["path"]:
            found["ranks"] = ranks(framework)
            break
    return found


def answers(programs: "dict[str, str]") -> "dict[str, Any]":
    """What the programs of a strategy answer, and what those said last that ended badly."""
    found = {"python": platform.python_version(), "answers": {}, "errors": {}}  # type: dict[str, Any]
    for name, program in programs.items():
        code, text = run([sys.executable, "-c", program], 180)
        found["answers"].update(re.findall(r"^ANSWER (\S+) (.+)$", text, re.MULTILINE))
        found["errors"].update(re.findall(r"^LACKS (\S+) (.+)$", text, re.MULTILINE))
        if code:
            found["errors"][name] = last_line(text) or f"exit code {code}"
    return found


def run(
    command: "list[str]",
    seconds: int = 60,
    environment: "dict[str, str] | None" = None,
) -> "tuple[int, str]":
    """Exit code and all output of a command; code 124 where it took too long."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
        )
    except OSError as error:
        return 127, str(error)
    try:
        output = process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return 124, f"no answer in {seconds} s"
    return process.returncode, output.decode("utf-8", "replace")


def last_line(text: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def package_version(name: str) -> str:
    """A package's version by its metadata, without importing it; empty where it is absent."""
    try:
        from importlib import metadata
    except ImportError:
        code, text = run([sys.executable, "-m", "pip", "show", name])
        match = re.search(r"^Version: (\S+)", text, re.MULTILINE)
        return match.group(1) if code == 0 and match else ""
    # AWS's images have builds of TensorFlow under names of their own.
    own = {"tensorflow": ("tensorflow", "tensorflow-gpu", "tensorflow-cpu")}
    for distribution in own.get(name, (name,)):
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return ""


def horovod_parts(framework: str) -> "dict[str, Any]":
    """Which controllers Horovod's binding for a framework has; or why it cannot be imported."""
    code, text = run([sys.executable, "-c", FRAMEWORK.format(framework=framework)], 120)
    match = re.search(r"^ANSWER (.*)$", text, re.MULTILINE)
    if not match:
        return {"error": last_line(text) or f"exit code {code}"}
    return dict(json.loads(match.group(1)))


def mpirun() -> "dict[str, str]":
    """Path and version of mpirun; both empty where it is absent."""
    path = shutil.which("mpirun") or ""
    text = run([path, "--version"])[1] if path else ""
    match = re.search(r"(\d+\.\d+\.\d+\S*)", text)
    return {"path": path, "version": match.group(1) if match else "", "name": text.split("\n")[0]}


def mpi4py() -> str:
    """Why mpi4py cannot be used; empty where it can, or where it is not installed."""
    if not package_version("mpi4py"):
        return ""
    program = "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI"
    code, text = run([sys.executable, "-c", program])
    return "" if code == 0 else last_line(text)


def sshd_path() -> str:
    """Where sshd is; empty where it is absent."""
    places = "/usr/sbin:/usr/local/sbin:" + os.environ.get("PATH", "")
    return shutil.which("sshd", path=places) or ""


def sshd() -> "dict[str, Any]":
    """Where sshd is, what it is set to, and whether root reaches itself by its own key."""
    path = sshd_path()
    found = {  # type: dict[str, Any]
        "path": path,
        "keys": [],
        "pam": False,
        "login": "",
        "environment": False,
    }
    if not path:
        return found
    folder = "/etc/ssh"
    names = os.listdir(folder) if os.path.isdir(folder) else []
    found["keys"] = sorted(
        name[9:-4] for name in names if name.startswith("ssh_host_") and name.endswith(".pub")
    )
    settings = run([path, "-T"])[1].lower()
    found["pam"] = bool(re.search(r"^usepam yes$", settings, re.MULTILINE))
    found["login"], found["environment"] = login(path)
    return found


def login(path: str) -> "tuple[str, bool]":
    """Why `ssh 127.0.0.1` fails (empty: it works); whether /etc/environment reached it."""
    try:
        with open("/etc/environment", "a") as file:
            file.write("\nLAUNCH_PROBE=seen\n")
    except OSError as error:
        return str(error), False
    # As the toolkit starts it.
    server = subprocess.Popen(
        [path, "-D"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    command = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "root@127.0.0.1"]
    deadline = time.time() + SSH_SECONDS
    try:
        while True:
            code, text = run([*command, 'echo "ANSWER $LAUNCH_PROBE"'], 15)
            if code == 0:
                return "", "ANSWER seen" in text
            if server.poll() is not None:
                said = server.communicate()[0].decode("utf-8", "replace")
                return last_line(said) or "sshd ended at once", False
            refused = "refused" in text.lower() or "reset" in text.lower()
            if not refused or time.time() > deadline:
                return last_line(text) or f"ssh ended with {code}", False
            time.sleep(0.2)
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()


def shim() -> str:
    """Whether the toolkit's hostname shim gives the name that the service's file holds.

    Empty where it does or the toolkit is absent, else the reason.
    """
    if not package_version("sagemaker-training"):
        return ""
    folder = "/opt/ml/input/config"
    try:
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "resourceconfig.json"), "w") as file:
            json.dump({"current_host": "algo-7", "hosts": ["algo-7"]}, file)
    except OSError as error:
        return str(error)
    code, path = run([sys.executable, "-c", "import gethostname; print(gethostname.__file__)"])
    if code:
        return last_line(path)
    program = "import socket; print(socket.gethostname())"
    environment = dict(os.environ, LD_PRELOAD=path.strip())
    text = run([sys.executable, "-c", program], environment=environment)[1]
    return "" if last_line(text) == "algo-7" else f"gave {last_line(text)!r} for algo-7"


def code_files() -> "list[str]":
    """The first names in /opt/ml/code; empty where it is empty or absent."""
    folder = "/opt/ml/code"
    return sorted(os.listdir(folder))[:5] if os.path.isdir(folder) else []


def ranks(framework: str) -> str:
    """Why two ranks under mpirun do not find each other; empty where they do."""
    command = [*MPIRUN.split(), sys.executable, "-c", RANK.format(framework=framework)]
    code, text = run(command, 120)
    answers = sorted(re.findall(r"ANSWER (\d+/\d+)", text))
    if code == 0 and answers == ["0/2", "1/2"]:
        return ""
    return ("ranks " + ", ".join(answers) + " of 2; " if answers else "") + last_line(text)


main()
