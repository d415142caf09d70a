"""The command: one small module a verb, flags to JobSpec, tables and progress, exit codes."""
