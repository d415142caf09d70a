"""What makes a job another one than the last that the same command made."""
