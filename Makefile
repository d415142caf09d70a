# A new user's two commands are `make demo` and `make test`.
# Another Python: make demo PYTHON=python3.11. It is remembered in .venv.
PYTHON ?= $(shell named=$$(cat .venv/base-python 2>/dev/null) && test -x "$$named" && echo "$$named" || echo python3)

# What an activated environment sets would lead the launcher and pip to that environment.
unexport VIRTUAL_ENV CONDA_PREFIX PYTHONPATH PYTHONHOME

VENV := .venv/bin
BOOTSTRAP = $(PYTHON) -m infra.bootstrap

# Tests that start containers need an engine and our image (`launch image build`, 6 minutes): they
# run in CI, and where somebody asks for them.
ifeq ($(CI)$(DOCKER),)
SELECTION := -m "not docker"
WITHOUT_DOCKER := echo "make test: without the tests that start containers; DOCKER=1 runs them too";
endif

# Of each file's tests that start ranks or interpreters, the first alone: ten minutes, where all of them
# take forty. All run in CI, and whoever names some has these.
ifeq ($(CI)$(DOCKER)$(FULL)$(ARGS),)
BRIEF := --brief
ONLY_BRIEF := echo "make test: of each file's tests that start processes, the first; FULL=1 runs them all";
endif

# A worker a core and one more, since many tests wait; WORKERS=0 runs one test at a time, in this process.
WORKERS ?= auto
PYTEST := $(VENV)/python -m pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder
FAST := not (docker or horovod or pip_network or processes or services or storm)
# Each worker would import TensorFlow, of which it has the one file.
NOT_FAST := --ignore tests/entrypoints/lib/data/test_tensorflow.py

.DEFAULT_GOAL := help
.PHONY: help base-image check demo environment tools test test-fast lint format types benchmark compat compat-horovod compat-strategies compat-stacks compat-gpus mutants clean python

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: environment  ## make .venv, then train on two hosts of one rank each on this machine
	@$(VENV)/python -m infra.bootstrap.demo

test: tools  ## unit tests, and one of each file that starts processes; FULL=1 all, DOCKER=1 with containers, ARGS="-k name" a part
	@$(WITHOUT_DOCKER)$(ONLY_BRIEF)$(PYTEST) $(SELECTION) $(BRIEF) $(ARGS)

test-fast: tools  ## the unit tests alone: nothing that starts ranks, containers or interpreters, or asks a service
	@$(PYTEST) -m "$(FAST)" $(NOT_FAST) $(ARGS)

check: python  ## name what this machine lacks, download nothing
	@$(BOOTSTRAP) check

environment: python  ## make .venv with the launcher and the training stack, and no more
	@$(BOOTSTRAP) environment

tools: python
	@$(BOOTSTRAP) tools

base-image: environment  ## debian:bookworm-slim from Debian's packages, without a registry (as root)
	@$(VENV)/python -m infra.base_image $(ARGS)

lint: tools  ## ruff: rules and format; the walls between the rooms (.importlinter)
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .
	@$(VENV)/lint-imports --no-cache --no-logo

format: tools  ## bring all files into the format, mend what ruff can mend
	@$(VENV)/ruff check --fix .
	@$(VENV)/ruff format .

types: tools  ## mypy
	@$(VENV)/mypy launchers infra hatch_build.py
	@cd entrypoints && ../$(VENV)/mypy --config-file ../pyproject.toml .

benchmark: tools  ## the table of measurements that the README quotes
	@$(VENV)/python -m tests.benchmarks $(ARGS)

compat: tools  ## all of the next, one after the other; writes the tables of docs/compatibility.md
	@status=0; for part in compat-horovod compat-strategies compat-stacks; do \
	    $(MAKE) --no-print-directory $$part ARGS=--docs || status=$$?; done; exit $$status

compat-horovod: tools  ## public Horovod scripts as they are and without their care; SCRIPTS=DIR of copies, TORCH=PYTHON
	@$(VENV)/python -m tests.compat $(if $(SCRIPTS),--scripts $(SCRIPTS)) $(if $(TORCH),--torch $(TORCH)) $(ARGS)

compat-strategies: tools  ## good and bad scripts of the other strategies, in an environment of their own (6 GB); STACK=torch=PYTHON
	@$(VENV)/python -m tests.compat.strategies $(if $(STACK),--python $(STACK)) $(ARGS)

compat-stacks: tools  ## our training script on TensorFlow 2.8 to 2.12; compiles Horovod for each; ARGS="2.8.4 --docs"
	@$(VENV)/python -m tests.compat.stacks $(ARGS)

compat-gpus: tools  ## scripts over NCCL, two ranks on this machine's GPU; ARGS="--python PYTHON" with torch
	@$(VENV)/python -m tests.compat.gpus $(ARGS)

mutants: tools  ## put 60 faults into the code, one at a time, and see whether a test notices; ARGS="--seed 7"
	@$(VENV)/python -m tests.mutants $(ARGS)

clean:  ## remove .venv and what builds leave; compiled wheels stay in the user's cache folder
	@rm -rf .venv .venv.lock build dist .pytest_cache .mypy_cache .ruff_cache

# Every recipe above that starts Python says first when there is none.
python:
	@command -v $(PYTHON) >/dev/null || { \
	    echo "Python: $(PYTHON) not found; expected 3.10 to 3.12; install it (Debian: apt-get install python3)," \
	        "or name another: make demo PYTHON=python3.11" >&2; exit 2; }
