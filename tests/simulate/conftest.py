from tests.cli.conftest import call, project, world

__all__ = ["call", "project", "world"]
