"""The embedded engine: DuckDB over the files of published tables, behind a fence."""
