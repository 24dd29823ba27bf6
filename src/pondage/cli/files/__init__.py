"""What verbs read of a project's files: components, jobs, trees, the whole of it to be deployed."""
