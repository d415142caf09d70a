"""What scripts of tests begin with that do not train by Keras: TensorFlow imports the smaller one.

On two cores ``import horovod.tensorflow`` takes 5.3 s of CPU with Keras 2 and 7.6 s with Keras 3,
which imports scikit-learn, pandas and Matplotlib where they are installed.
"""

LEGACY_KERAS = "TF_USE_LEGACY_KERAS"
KERAS_2 = f"import os\nos.environ[{LEGACY_KERAS!r}] = '1'\n"
