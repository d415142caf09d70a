"""From a clone and a bare Python to `.venv` with the launcher and the training stack in it.

`python3 -m infra.bootstrap GOAL` is what the Makefile runs. It uses the standard library alone.
"""
