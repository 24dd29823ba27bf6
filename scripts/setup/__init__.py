"""The set-up in phases: what the machine has, what is still missing, and how it is installed.

Standard library only: this code runs before anything is installed.
"""
