"""Views of jobs, flows and the queues of their components."""
