"""What each container is given before it starts."""
