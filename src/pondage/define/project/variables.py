"""Which variables of the environment a worker and its Spark start with: those that are known to be no secret.

Everything else stays with the supervisor. What an author's code reads from the environment is named in the project file
(`[worker] env`), and a secret that is given as `env:NAME` is handed over beside the environment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

KNOWN = frozenset({
    # who and where
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "PWD", "TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "TERM", "NO_COLOR",
    # languages and times
    "LANG", "LANGUAGE", "TZ", "TZDIR",
    # Java, libraries and threads
    "JAVA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "MALLOC_ARENA_MAX",
    # the way out
    "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "ftp_proxy",
    "all_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    # clusters
    "HADOOP_HOME", "HADOOP_CONF_DIR", "HADOOP_COMMON_HOME", "HADOOP_HDFS_HOME", "HADOOP_MAPRED_HOME",
    "HADOOP_YARN_HOME", "HADOOP_USER_NAME", "HADOOP_OPTS", "HADOOP_CLASSPATH", "HIVE_CONF_DIR", "YARN_CONF_DIR",
    "KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT",
})  # fmt: skip
"""Variables that every worker gets."""
FAMILIES = ("LC_", "SPARK_", "PYSPARK_", "PYTHON", "KRB5")
"""How the names of the others begin."""
FOR_PYTHON = ("PG", "OTEL_")
"""What only Python itself needs: the ledger's own connection and traces, which may hold a password. Java never gets it,
and so neither do the Python workers that it starts."""
_SECRET = ("SECRET", "PASSWORD", "TOKEN", "CREDENTIAL")


def is_given(name: str, more: Iterable[str] = ()) -> bool:
    """Answer whether a worker starts with this variable; `more` are the names, or beginnings with a `*`, of a project.

    A name that says that it is a secret is one, unless the project names it.
    """
    if any(name == each or (each.endswith("*") and name.startswith(each[:-1])) for each in more):
        return True
    if name in KNOWN or name.startswith(FOR_PYTHON):
        return True
    return name.startswith(FAMILIES) and not any(word in name for word in _SECRET)


def given(environment: Mapping[str, str], more: Iterable[str] = ()) -> dict[str, str]:
    """Answer the part of an environment that a worker starts with."""
    names = tuple(more)
    return {name: value for name, value in environment.items() if is_given(name, names)}


def of_python(environment: Mapping[str, str]) -> list[str]:
    """Answer the variables of a worker that its Java must not have."""
    return [name for name in environment if name.startswith(FOR_PYTHON)]
