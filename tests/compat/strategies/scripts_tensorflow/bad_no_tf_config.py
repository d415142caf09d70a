"""TF_CONFIG is gone before the strategy reads it: one worker each."""

import os

import tensorflow as tf
import toy

os.environ.pop("TF_CONFIG", None)
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = toy.model()
toy.train(model)
