"""What the user asks for, and the types of its values."""
