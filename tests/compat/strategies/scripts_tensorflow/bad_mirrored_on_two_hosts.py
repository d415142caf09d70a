"""MirroredStrategy, which knows the GPUs of its own host alone."""

import tensorflow as tf
import toy

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = toy.model()
toy.train(model)
