"""The command lines and blocks of README and docs that no test runs as they stand, and why.

A new line of a page is run (see test_blocks.py), or has its row here: the line as it stands there,
without `$`, comment and continuation. No row is needed for `make`, for what pip, pipx and uv
install, for jobs (`local`, `sagemaker`, `vertex`), which run as dry runs, and for a line that only
shows a form (choices in brackets, an ellipsis, JOB or FILE): the verbs, flags and goals of all of
them must exist all the same.
"""

from __future__ import annotations

CONTAINERS = "minutes in containers; tests/image and tests/rehearsal do it"
LIGHTNING = "a Python with Lightning: tests/entrypoints/test_train_lightning.py"

COMMANDS = {
    "launch image build": CONTAINERS,
    "launch image build --with torch --base team/with-torch:3": CONTAINERS,
    "launch image build --with spark": CONTAINERS,
    "launch image build --push us-central1-docker.pkg.dev/PROJECT/REPOSITORY/launch-horovod": (
        CONTAINERS
    ),
    "launch image check team/image:7": CONTAINERS,
    "launch image check launch-torch:0.1.0": CONTAINERS,
    "launch rehearse job.json --source src/": CONTAINERS,
    "launch image diff launch-horovod:1 launch-horovod:2": "needs two images: tests/image",
    "launch scaling local train_torch.py --processes 2 --compare strategy=horovod,torch --python "
    "/path/to/python -- --data fashion-mnist --limit 6000 --epochs 10 --validate": (
        "a Horovod that was built with PyTorch: docs/compatibility.md"
    ),
    "launch data parquet photos food-on-dask --engine dask --scheduler tcp://10.0.0.5:8786": (
        "needs a Dask cluster: tests/entrypoints/lib/conversion"
    ),
    "launch data parquet s3://bucket/photos s3://bucket/food --engine spark --master "
    "spark://10.0.0.5:7077": "needs a Spark cluster: tests/entrypoints/lib/conversion",
    "launch data parquet food-101/images gs://bucket/food --split 0.7,0.2,0.1 --seed 13": (
        "needs a bucket: tests/cli/test_data_in_google_storage.py"
    ),
    "launch data info gs://bucket/food": "needs a bucket: tests/cli/test_data_in_google_storage.py",
    "launch local entrypoints/train_lightning.py --instances 2 -- --epochs 3": LIGHTNING,
    "launch local entrypoints/train_lightning.py --instances 2 -- --data parquet:/home/me/food "
    "--model resnet50 --image-size 224 --max-steps-per-epoch 100 --validate "
    "--track mlflow": LIGHTNING,
    "launch data info food-unfinished": "an error on purpose: tests/data/test_place.py",
    "launch data show food": "needs a place with pictures: tests/cli/test_data.py",
    "launch data show food --split test --count 64 --seed 2 -o test.png": (
        "needs a place with pictures: tests/cli/test_data.py"
    ),
    "launch doctor sagemaker": "its exit code is this account's: tests/cli/test_doctor.py",
    "launch notify --test": "needs somebody who is configured: tests/cli/notify",
    "launch sagemaker train.py --gpus 4 --notify desktop": "a desktop: tests/cli/notify",
    "launch status nosuch --json": "an error on purpose; docs/json.md is made from it",
    "launch import config.yaml": "a configuration of AI Platform: tests/vertex/ai_platform",
    "launch import - < config.yaml": "reads standard input: tests/vertex/ai_platform",
    "launch vertex --dry-run": "follows `launch import`: tests/vertex/ai_platform",
    "launch local ddp.py --instances 2 --processes 2 --python ~/torch/bin/python": (
        "needs a Python with PyTorch; test_first_lines.py runs it with Debian's"
    ),
}

# What begins a block of YAML that is not launch.yaml's, and what it is.
OTHERS_YAML = {
    "ignore:": "an ignore file of `launch check`: tests/cli/checking",
    "permissions:": "a workflow of GitHub",
    "repos:": "pre-commit's configuration",
    "- run:": "a workflow of GitHub",
}

# Pages whose fenced Python runs in another test.
PYTHON = {
    "data.md": "tests/docs/test_data_page.py, with TensorFlow",
    "scaling.md": "tests/docs/test_scaling_page.py, with twelve pictures",
    "notebooks.md": "tests/sagemaker/sdk/test_estimator.py, with the SDK",
}
