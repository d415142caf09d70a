"""Makes ``tests/corpus/captured``: the requests that SageMaker's own SDKs send."""
