"""What looks like a credential and must not travel."""
