"""Durable rows: every machine's step is one short transaction, every piece of work a claimed row with a token."""
