"""Telling somebody of a job's end: a desktop, a webhook, a command."""
