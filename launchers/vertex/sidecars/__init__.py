"""What Vertex AI's replicas reach beside themselves, for the rehearsal."""
