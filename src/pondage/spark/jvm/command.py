"""The command line of our own JVM, as values: class path, options, environment."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from pondage.spark.jvm.java import Java
from pondage.spark.jvm.settings import SparkSettings

# What Spark's own launcher passes (`org.apache.spark.launcher.JavaModuleOptions`), as far as Java 17 and 21 know it.
_OPENED = (
    "java.base/java.lang", "java.base/java.lang.invoke", "java.base/java.lang.reflect", "java.base/java.io",
    "java.base/java.net", "java.base/java.nio", "java.base/java.util", "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic", "java.base/jdk.internal.ref", "java.base/sun.nio.ch",
    "java.base/sun.nio.cs", "java.base/sun.security.action", "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)  # fmt: skip
_MODULE_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--enable-native-access=ALL-UNNAMED",
)


def spark_home() -> Path:
    """Answer where Spark is installed: `SPARK_HOME`, else the package pyspark."""
    if os.environ.get("SPARK_HOME"):
        return Path(os.environ["SPARK_HOME"])
    import pyspark  # importing it costs half a second, and only a worker needs it

    return Path(pyspark.__file__).resolve().parent


def class_path(home: Path, conf: dict[str, str]) -> tuple[Path, ...]:
    """Answer the JVM's class path in a fixed order, which a class-data archive depends on."""
    jars = sorted((home / "jars").glob("*.jar"))
    # Spark's launcher puts this one first too: a provider in another jar must find exactly this interface.
    jars.sort(key=lambda jar: not jar.name.startswith("slf4j-api-"))
    extra = tuple(Path(part) for part in conf.get("spark.driver.extraClassPath", "").split(os.pathsep) if part)
    configuration = os.environ.get("SPARK_CONF_DIR")
    return (*extra, *((Path(configuration),) if configuration else ()), *jars)


def jvm_arguments(
    java: Java, conf: dict[str, str], jars: tuple[Path, ...], archive_options: tuple[str, ...]
) -> list[str]:
    """Answer the arguments before the main class. They go into an argument file: the class path alone is 30 KB."""
    vector = ("--add-modules=jdk.incubator.vector",) if java.has_vector_module else ()
    own = shlex.split(conf.get("spark.driver.defaultJavaOptions", ""))
    own += shlex.split(conf.get("spark.driver.extraJavaOptions", ""))
    return [
        "-cp", os.pathsep.join(map(str, jars)), f"-Xmx{conf['spark.driver.memory']}", *archive_options,
        *_MODULE_OPTIONS, *vector, *own,
    ]  # fmt: skip


def submit_arguments(properties: Path) -> list[str]:
    """Answer the arguments of SparkSubmit that start a gateway and wait for Python."""
    # Settings go by file: a command line can be read by every user of the machine, and settings may hold secrets.
    arguments = ["--properties-file", str(properties)]
    if os.environ.get("SPARK_CONF_DIR"):
        arguments.append("--load-spark-defaults")
    return [*arguments, "pyspark-shell"]


def jvm_environment(java_home: Path, home: Path, settings: SparkSettings) -> dict[str, str | None]:
    """Answer what the JVM's environment has beyond ours; None takes a variable away."""
    changes: dict[str, str | None] = {
        "JAVA_HOME": str(java_home),
        "SPARK_HOME": str(home),
        "SPARK_CONNECT_MODE": "0",
        # Spark's scripts set it; without it, no process for tasks can be started (`isolated`).
        "SPARK_SCALA_VERSION": "2.13",
        "SPARK_REMOTE": None,
        "PYSPARK_SUBMIT_ARGS": None,
        "PYSPARK_GATEWAY_PORT": None,
        "PYSPARK_GATEWAY_SECRET": None,
        # Without it, Python workers of an environment that is not activated run another Python.
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONHASHSEED": "0",
    }
    if settings.is_local:
        # It would win over `spark.local.dir`, whose leftovers we sweep.
        changes["SPARK_LOCAL_DIRS"] = None
        # A host name that does not resolve (a bare container) must not matter when nothing leaves the machine.
        changes["SPARK_LOCAL_IP"] = "127.0.0.1"
        changes["SPARK_LOCAL_HOSTNAME"] = "localhost"
    return changes


def as_argument_file(arguments: list[str]) -> str:
    """Answer arguments in the form of a `java @file`: one on each line, quoted."""
    return "".join('"' + each.replace("\\", "\\\\").replace('"', '\\"') + '"\n' for each in arguments)


def as_properties(conf: dict[str, str]) -> str:
    """Answer settings in the form of a Java properties file."""
    return "".join(f"{_escaped(key, is_key=True)}={_escaped(value)}\n" for key, value in sorted(conf.items()))


def _escaped(text: str, *, is_key: bool = False) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    if is_key:
        for special in " :=#!":
            text = text.replace(special, "\\" + special)
    # Spaces at the start of a value are dropped by the reader unless they are escaped.
    return "\\" + text if text.startswith(" ") else text
