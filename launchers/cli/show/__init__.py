"""What is shown: tables, progress, results."""
