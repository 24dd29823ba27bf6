"""A file system that forks nothing: Hadoop starts a `chmod` for every file and directory that it makes locally.

`NioFileSystem.java` beside this module does the same by a system call. It is compiled by the compiler that Spark itself
carries for its generated code, into a jar of 2 KB in the user's cache directory; a start that finds none does without.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from pathlib import Path

from pondage.private import make_private
from pondage.spark.jvm.class_archive import is_ours
from pondage.spark.jvm.java import Java

CLASS = "pondage.NioFileSystem"
_SOURCE = Path(__file__).with_name("NioFileSystem.java")
# A jar is a zip with times in it: always the same, so that the same source gives the same jar.
_MOMENT = (2020, 1, 1, 0, 0, 0)


def jar_in(cache: Path) -> Path:
    """Answer where the jar of this source is, whether it has been built or not."""
    return cache / "nofork" / f"{hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:32]}.jar"


def no_fork_conf(cache: Path, conf: dict[str, str]) -> dict[str, str]:
    """Answer the session settings that use the jar, beside the user's own; none when it has not been built."""
    jar = jar_in(cache)
    if not is_ours(jar) or "spark.hadoop.fs.file.impl" in conf:
        return {}
    paths = {
        key: os.pathsep.join([*filter(None, [conf.get(key)]), str(jar)])
        for key in ("spark.driver.extraClassPath", "spark.executor.extraClassPath")
    }
    return {"spark.hadoop.fs.file.impl": CLASS, **paths}


def build_jar(java: Java, class_path: tuple[Path, ...], cache: Path) -> Path:
    """Compile the source into the jar unless it exists, and answer it. It appears whole or not at all.

    Raises OSError when the cache cannot be written, and Py4JError when the compiler does not like something.
    """
    jar = jar_in(cache)
    if is_ours(jar):
        return jar
    make_private(jar.parent)
    handle, made = tempfile.mkstemp(prefix=".building-", suffix=".jar", dir=jar.parent)
    try:
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, code in sorted(_compiled(java, class_path).items()):
                packed.writestr(zipfile.ZipInfo(f"{name.replace('.', '/')}.class", _MOMENT), code)
        Path(made).replace(jar)
    finally:
        Path(made).unlink(missing_ok=True)
    return jar


def _compiled(java: Java, class_path: tuple[Path, ...]) -> dict[str, bytes]:
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    with tempfile.NamedTemporaryFile(prefix="pondage-", suffix=".log") as log:
        # The JVM ends when its standard input closes: with us, and with `shutdown`.
        port, token = launch_gateway(
            classpath=os.pathsep.join(map(str, class_path)), java_path=str(java.executable), die_on_exit=True,
            enable_auth=True, redirect_stderr=log,
        )  # fmt: skip
        gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
        try:
            compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
            compiler.cook(_SOURCE.read_text(encoding="utf-8"))
            found = compiler.getBytecodes()
            return {str(name): bytes(found[name]) for name in found}
        finally:
            gateway.shutdown()
