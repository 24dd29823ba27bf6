"""What Java says, told apart: a peer that does not answer may answer again, anything else is for somebody to mend."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pondage.spark.session.errors import is_connection_lost


class Told(Exception):
    """An error with a Java exception behind it, as py4j raises it."""

    def __init__(self, java_exception: object) -> None:
        super().__init__("the query ended")
        self.java_exception = java_exception


def test_a_peer_that_does_not_answer_is_known_by_what_its_exception_is_derived_from(spark: SparkSession) -> None:
    jvm = spark._jvm
    assert jvm is not None
    java = jvm.java
    for cause, is_lost in (
        (java.net.ConnectException("refused"), True),
        (java.net.PortUnreachableException("refused"), True),  # a SocketException
        (java.nio.channels.AsynchronousCloseException(), True),  # a ClosedChannelException
        (java.sql.SQLRecoverableException("gone"), True),
        (java.sql.SQLTransientConnectionException("gone"), True),
        (java.io.FileNotFoundException("no such file"), False),
        (java.lang.IllegalStateException("a bug"), False),
    ):
        error = Told(java.lang.RuntimeException("a query failed", cause))
        assert is_connection_lost(error) is is_lost, cause.toString()
