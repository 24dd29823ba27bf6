"""Questions of somebody who wants more than answers: files, addresses, settings, other environments, all resources."""

from __future__ import annotations

from collections.abc import Iterator

PLACES = (
    "/etc/passwd", "/proc/self/environ", "{root}/secret.parquet", "{root}/*.parquet", "../secret.parquet",
    "file:///etc/passwd", "http://127.0.0.1:1/x.parquet", "https://127.0.0.1:1/x.csv", "s3://bucket/x.parquet",
    "hf://datasets/x/y.parquet", "{root}/../../etc/passwd", "{root}/sales.parquet", "/dev/zero", "azure://x/y.csv",
)  # fmt: skip
READERS = (
    "read_parquet", "parquet_scan", "read_csv", "read_csv_auto", "read_text", "read_blob", "read_json",
    "read_json_auto", "read_json_objects", "read_ndjson", "read_ndjson_objects", "glob", "sniff_csv",
    "parquet_metadata",
    "parquet_schema", "parquet_file_metadata", "parquet_kv_metadata", "sqlite_scan", "postgres_scan", "iceberg_scan",
    "delta_scan", "st_read", "read_xlsx", "query", "query_table", "read_duckdb",
)  # fmt: skip
TELLING = (
    "duckdb_settings()", "duckdb_views()", "duckdb_databases()", "duckdb_secrets()", "duckdb_extensions()",
    "duckdb_tables()", "duckdb_temporary_files()", "duckdb_memory()", "duckdb_logs()", "duckdb_variables()",
    "duckdb_functions()", "pragma_database_list()", "pragma_version()", "pragma_platform()", "pragma_user_agent()",
    "pragma_storage_info('sales')", "duckdb_views", "duckdb_databases", "sqlite_master", "sqlite_schema",
    "information_schema.tables", "information_schema.schemata", "pg_catalog.pg_class", "pg_catalog.pg_views",
    "test_all_types()", "python_map_function()", "arrow_scan(1, 2, 3)", "pandas_scan(1)", "icu_calendar_names()",
    "json_execute_serialized_sql('x')", "from_substrait('x')", "seq_scan('sales')", "storage_info('sales')",
    "checkpoint()", "summary(sales)", "duckdb_approx_database_count()", "enable_logging()", "duckdb_log_contexts()",
)  # fmt: skip
ELSEWHERE = (
    "other.ponds.sales", "dev.sales", "memory.main.sales", "system.main.duckdb_views", "temp.sales", "main.sales",
    "main.main.sales", "ponds.nothing", '"sales@2"', '"../sales"', '"sales.parquet"', '"{root}/secret.parquet"',
    "main.information_schema.tables", '"system".information_schema.tables', '"memory".ponds.sales', "secrets", "TYPES",
    "connection", "question", "self",
)  # fmt: skip
FUNCTIONS = (
    "getenv('HOME')", "current_setting('temp_directory')", "getvariable('x')", "nextval('x')", "current_query()",
    "txid_current()", "version()", "in_search_path('a', 'b')", "write_log('x')", "current_connection_id()",
    "main.getenv('HOME')", "GETENV('PATH')", "(SELECT getenv('HOME'))", "list_transform([1], lambda x: getenv('HOME'))",
)  # fmt: skip
COMMANDS = (
    "SET threads=64", "SET memory_limit='100GB'", "SET enable_external_access=true", "SET lock_configuration=false",
    "RESET memory_limit", "SET VARIABLE x = 1", "PRAGMA version", "PRAGMA database_list", "PRAGMA show_tables",
    "PRAGMA enable_profiling", "CALL pragma_version()", "INSTALL httpfs", "LOAD httpfs", "LOAD '{root}/evil.so'",
    "FORCE INSTALL spatial", "UPDATE EXTENSIONS", "ATTACH '{root}/x.db' AS x", "ATTACH ':memory:' AS x",
    "ATTACH 'http://127.0.0.1:1/x.db'", "DETACH main", "USE memory", "USE system", "COPY sales TO '{root}/out.csv'",
    "COPY (SELECT 1) TO '/dev/stdout'", "COPY sales FROM '{root}/x.csv'", "EXPORT DATABASE '{root}/out'",
    "IMPORT DATABASE '{root}/out'", "CREATE TABLE t AS SELECT 1", "CREATE VIEW v AS SELECT 1", "CREATE SCHEMA s",
    "CREATE MACRO f() AS getenv('HOME')", "CREATE SECRET s (TYPE s3)", "CREATE SEQUENCE s",
    "CREATE TYPE t AS ENUM ('a')",
    "CREATE OR REPLACE VIEW sales AS SELECT 1", "CREATE TEMP TABLE t AS SELECT 1", "DROP VIEW sales",
    "DROP SCHEMA ponds CASCADE", "ALTER VIEW sales RENAME TO x", "INSERT INTO sales VALUES (1, 'x')",
    "UPDATE sales SET n = 1", "DELETE FROM sales", "TRUNCATE sales",
    "MERGE INTO sales USING sales ON true WHEN MATCHED THEN DELETE",
    "BEGIN", "COMMIT", "ROLLBACK", "CHECKPOINT", "FORCE CHECKPOINT", "VACUUM", "ANALYZE", "PREPARE p AS SELECT 1",
    "EXECUTE p", "DEALLOCATE p", "EXPLAIN SELECT 1", "EXPLAIN ANALYZE SELECT 1", "DESCRIBE sales", "SUMMARIZE sales",
    "SHOW TABLES", "SHOW ALL TABLES", "SHOW DATABASES", "COMMENT ON VIEW sales IS 'x'", "FROM (DESCRIBE sales)",
    "SELECT * FROM (SHOW TABLES)", "PIVOT sales ON name USING count(*)", "SELECT 1; SELECT 2",
    "SELECT 1; DROP VIEW sales",
    "SELECT 1;;SET threads=64", "", ";", "-- nothing", "/* nothing */", "SELECT", "SELEC 1", "SELECT * FROM", "\\q",
    ".shell ls", "WITH x AS (DELETE FROM sales RETURNING *) SELECT * FROM x",
    "WITH x AS (COPY sales TO 'y') SELECT 1", "SELECT * FROM sales INTO OUTFILE 'x'",
)  # fmt: skip
EXHAUSTING = (
    "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t",
    "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n FROM t) SELECT max(n) FROM t",
    "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE hash(a.range, b.range) = 7",
    "SELECT sum(sin(a.range) * cos(b.range)) FROM range(1000000000) a, range(1000000000) b",
    "SELECT list(range) FROM range(10000000000)",
    "SELECT string_agg(repeat('x', 10000), ',') FROM range(10000000000)",
    "SELECT count(DISTINCT md5(range::VARCHAR)) FROM range(10000000000)",
    "SELECT range % 7, list(md5(range::VARCHAR)) FROM range(10000000000) GROUP BY 1",
    "SELECT * FROM range(1000000000) ORDER BY md5(range::VARCHAR)",
    "SELECT len(range(100000000000))",
    "SELECT repeat('x', 1000000000000)",
    "SELECT max(a.n) FROM range(100000000000) a(n) WHERE regexp_matches(a.n::VARCHAR, '(0+)+$')",
)  # fmt: skip


def refused(root: str) -> Iterator[str]:
    """Give every question that must be refused before anything is done."""
    for place in PLACES:
        yield f"SELECT * FROM '{place.format(root=root)}'"
        yield f"SELECT * FROM read_text('{place.format(root=root)}')"
    for reader in READERS:
        yield f"SELECT * FROM {reader}('{root}/secret.parquet')"
    for telling in (*TELLING, *ELSEWHERE):
        yield f"SELECT * FROM {telling.format(root=root)}"
    for function in FUNCTIONS:
        yield f"SELECT {function} FROM sales"
    for command in COMMANDS:
        yield command.format(root=root)
    yield "SELECT " + "(" * 40_000 + "1" + ")" * 40_000
    yield "SELECT " + "+".join(["1"] * 60_000)
