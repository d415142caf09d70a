"""The strategy is made, and the model outside its scope."""

import tensorflow as tf
import toy

strategy = tf.distribute.MultiWorkerMirroredStrategy()
print(f"replicas: {strategy.num_replicas_in_sync}")
toy.train(toy.model())
