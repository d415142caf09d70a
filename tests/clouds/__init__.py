"""What holds on every cloud. A provider's tests subclass these suites and bring their own bench as
the fixture ``tried`` (:class:`tests.submitting.CloudBench`)."""
