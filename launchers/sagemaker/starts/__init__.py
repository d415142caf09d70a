"""What a CreateTrainingJob request really starts: as the container's toolkit, or what takes its
place, reads it."""
