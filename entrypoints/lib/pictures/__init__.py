"""What is done to one picture: bytes in, bytes or an image out; by seed repeatable."""
