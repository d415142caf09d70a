"""What the scripts share that train with PyTorch; beneath it nothing imports TensorFlow."""
