"""What goes online: sessions, submission, following, logs."""
