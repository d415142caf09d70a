"""The verbs of ``launch``, and what other tools call them."""

from __future__ import annotations

# verb -> (module under launchers.cli, line of help); the order is the help's order
VERBS = {
    "local": ("run", "Run a job's ranks on this machine."),
    "sagemaker": ("run", "Run a SageMaker training job, or rehearse it."),
    "vertex": ("run", "Run a Vertex AI CustomJob, or rehearse it."),
    "spark": ("run", "Run a job's ranks on the executors of a Spark cluster."),
    "scaling": ("scaling", "Train at several sizes: is a larger one worth it?"),
    "check": ("check", "Run every rule on a job document made elsewhere."),
    "rehearse": ("rehearse", "Run a job document made elsewhere in containers on this machine."),
    "rehearsals": ("rehearsals", "Show what rehearsals have on this machine, remove leftovers."),
    "machines": ("machines", "Show the providers' machine types."),
    "list": ("list", "Show all jobs."),
    "status": ("status", "Show a job's state."),
    "logs": ("logs", "Print a job's lines, of all ranks or of one."),
    "wait": ("wait", "Wait for a job's end; exit with its 0 or 1."),
    "notify": ("notify", "Wait for a job's end, then notify you."),
    "cancel": ("cancel", "End a job."),
    "import": ("import_job", "Write a launch.yaml from a job of AI Platform Training."),
    "init": ("init", "Write a commented launch.yaml and a small train.py."),
    "image": ("image", "Build, push and check the image that ranks run in."),
    "data": ("data", "Turn pictures into Parquet, look into it, see a sample."),
    "doctor": ("doctor", "Look at every prerequisite: this machine, Docker, your account."),
    "explain": ("explain", "Explain a rule that a problem names, or list them all."),
    "help": ("help", "Show a topic's page, or a verb's help."),
    "completion": ("completion", "Complete verbs, flags and jobs in bash, zsh or fish."),
    "schema": ("schema", "Print the JSON schema of launch.yaml, or of an answer."),
}

# Verbs, by their modules, that hand on what follows `--` to a script.
TAKE_SCRIPTS = ("run", "scaling", "import_job")

# What other tools call our verbs, and what people try first.
ELSEWHERE = {
    **dict.fromkeys(("run", "train", "start", "exec", "torchrun"), "launch local train.py"),
    **dict.fromkeys(("horovodrun", "mpirun"), "launch local train.py --processes N"),
    **dict.fromkeys(("submit", "create", "aws"), "launch sagemaker train.py --gpus 4 --dry-run"),
    **dict.fromkeys(
        ("gcp", "gcloud", "google", "aiplatform", "ai-platform"),
        "launch vertex train.py --gpus 4 --image IMAGE --dry-run",
    ),
    **dict.fromkeys(("plan", "dry-run", "dryrun"), "launch sagemaker train.py --gpus 4 --dry-run"),
    **dict.fromkeys(("simulate", "docker"), "launch sagemaker train.py --gpus 4 --dry-run=docker"),
    **dict.fromkeys(("ps", "ls", "jobs", "history"), "launch list"),
    **dict.fromkeys(("describe", "show", "info", "state"), "launch status JOB"),
    **dict.fromkeys(("tail", "follow", "attach"), "launch logs JOB --follow"),
    **dict.fromkeys(("stop", "kill", "delete", "terminate", "rm"), "launch cancel JOB"),
    **dict.fromkeys(("validate", "verify", "lint"), "launch check FILE"),
    **dict.fromkeys(("instances", "instance-types", "gpus"), "launch machines"),
    **dict.fromkeys(("setup", "configure", "config", "login", "diagnose"), "launch doctor"),
    **dict.fromkeys(("new", "template"), "launch init"),
    **dict.fromkeys(("build", "push"), "launch image build"),
    **dict.fromkeys(("convert", "parquet"), "launch data parquet IMAGES OUT"),
    **dict.fromkeys(("benchmark", "study"), "launch scaling local train.py"),
    "version": "launch --version",
    "man": "launch help",
}
