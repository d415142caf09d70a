"""MultiWorkerMirroredStrategy with Keras 2: model and compile in the scope, then fit."""

import tensorflow as tf
import toy

strategy = tf.distribute.MultiWorkerMirroredStrategy()
data = toy.data(toy.BATCH * strategy.num_replicas_in_sync)
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
with strategy.scope():
    model = toy.model()
    model.compile(
        optimizer=tf.keras.optimizers.SGD(0.1),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
model.fit(data.with_options(options), epochs=2, steps_per_epoch=4, verbose=2)
