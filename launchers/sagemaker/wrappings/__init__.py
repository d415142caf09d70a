"""The documents of other tools in which a CreateTrainingJob request lies."""
