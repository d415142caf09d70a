"""What every provider shares. Imports no provider and no cloud SDK."""
