"""From files to definitions: the project file, modules, SQL files, the code archive. Errors carry a place."""
