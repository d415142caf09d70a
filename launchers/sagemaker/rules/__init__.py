"""The rules of a CreateTrainingJob request."""
