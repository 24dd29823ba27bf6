"""External programs over an AMQP broker: the queues of the wire protocol.

`bridge` is the worker's side, `transport` the side of a program in Python, `link` what both stand on. A broker is a
way, not a store: after a loss the execution begins again with new queues, and what was committed is skipped.
"""
