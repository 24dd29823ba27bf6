"""The JVM: which Java, with what command line, started how."""
