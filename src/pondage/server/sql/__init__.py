"""The SQL door: Arrow Flight SQL over the embedded engine, for BI tools, ADBC and JDBC."""
