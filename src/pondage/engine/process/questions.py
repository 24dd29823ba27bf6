"""What a process is told that answers questions and does nothing else: little memory, few cores, no secrets."""

from __future__ import annotations

import msgspec

from pondage.engine.process.config import EngineConfig
from pondage.spark.jvm.settings import SparkSettings, available_cores

NICENESS = 10
"""How far everything else goes first: a question never takes the processor from work."""
GRACE_S = 5.0
"""How long a question that was stopped may go on, until its process is replaced: nothing of it is lost."""
_OF_CLUSTERS = ("spark.executor.", "spark.dynamicAllocation.", "spark.kubernetes.", "spark.yarn.", "spark.scheduler.")
_OF_MASTERS = ("spark.master", "spark.submit.deployMode", "spark.cores.max", "spark.driver.memory",
               "spark.default.parallelism")  # fmt: skip


def for_questions(config: EngineConfig) -> EngineConfig:
    """Answer the configuration of a process for questions of this project.

    Its Spark is on its machine, whatever cluster the project's own is on: it needs no place there, and takes none. Each
    slot has a thread of its own, so that one question never waits for the tasks of another: a question gets as many
    tasks at once as its share of the threads.
    """
    asked = config.questions
    threads = max(asked.slots, asked.cores or available_cores() // 2)
    share = str(max(1, threads // asked.slots))
    conf = {
        name: value
        for name, value in config.spark.conf.items()
        if name not in _OF_MASTERS and not name.startswith(_OF_CLUSTERS)
    }
    spark = SparkSettings(
        master=f"local[{threads}]",
        remote=config.spark.remote,
        packages=config.spark.packages,
        memory=asked.memory,
        conf=conf | {
            "spark.app.name": "pondage questions",
            "spark.sql.leafNodeDefaultParallelism": share,
            "spark.sql.files.maxPartitionNum": share,
            "spark.sql.shuffle.partitions": share,
            "spark.driver.maxResultSize": asked.answer,
        },
    )  # fmt: skip
    return msgspec.structs.replace(
        config, spark=spark, slots=asked.slots, env=asked.env, components=(), cancel_grace_s=GRACE_S
    )
