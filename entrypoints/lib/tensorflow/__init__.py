"""TensorFlow and Horovod beneath the training scripts; ``stack`` comes first."""
