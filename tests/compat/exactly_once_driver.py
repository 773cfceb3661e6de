"""A driver to be killed: copies a topic exactly once, and starts the query again when it fails.

Says on standard output what happens: ``batch 7`` when that is done, ``failed: ...`` when the
query ended. Runs until it is killed. Behind the arguments may come settings of Spark.
"""

import sys

from moldau.spark import exactly_once, one_line, session


def main(
    bootstrap: str, source: str, target: str, checkpoint: str, master: str, *settings: str
) -> None:
    config = dict(setting.split("=", 1) for setting in settings)
    spark = session("exactly-once", master=master, config=config)
    rows = (
        spark.readStream.format("moldau")
        .option("kafka.bootstrap.servers", bootstrap)
        .options(subscribe=source, startingOffsets="earliest")
        .load()
        .selectExpr("value as key", "value")
    )
    while True:
        try:
            # Small batches, so that a kill meets a task in the middle of several of them.
            query = exactly_once(
                rows,
                checkpoint=checkpoint,
                bootstrap=bootstrap,
                topic=target,
                options={"kafka.batch.size": "500"},
            )
            last = -1
            while not query.awaitTermination(0.05):
                progress = query.lastProgress
                if progress is not None and progress.batchId != last:
                    last = progress.batchId
                    print(f"batch {last}", flush=True)
        except Exception as error:
            print(f"failed: {one_line(error)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
