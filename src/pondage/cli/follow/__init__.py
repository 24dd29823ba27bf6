"""Waiting for what was asked for, and showing how it goes: Ponds, runs of jobs, answers of workers."""
