"""What `launch local` needs of this machine and of the ranks' Python."""
