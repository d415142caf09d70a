"""The scripts that make the launcher's data files from the packages that know the facts.

Each is run from the clone's root, `python -m infra.refresh.sagemaker_machines`, writes its file
anew and says what changed; with `--check` it writes nothing and exits 1 when the file is not what
the script would write.
"""
