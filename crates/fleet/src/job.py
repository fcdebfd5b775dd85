"""Ranks the failing logs of a fleet, as `unravel coop analyse` does: DSIM or DHS, SGM or DGM (CoopREP, thesis 3.2 and 3.3).

Arguments: the folder of logs, the file for the answer, kind and places of the failure, how many elements the program has, the
heuristic, the metric, into how many parts the logs are split (0: as Spark likes), and if not all logs of the failure count, a file with the
ids of those that do.

All sums are over integers; the answer has a line a log, the most relevant first: its id, and its relevance as a fraction. Ties go to the
smaller id; of neighbours to the next one behind the log's own, in a circle. The schema of the logs is described in crates/fleet/src/schema.rs.
"""

import sys
from fractions import Fraction

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

PARTS = 1_000_000  # A term of DHS is rounded down to a millionth of its weight.


def main():
    logs, answer, kind, places, elements, heuristic, metric, partitions = sys.argv[1:9]
    spark = SparkSession.builder.appName("unravel coop analyse").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    rows = spark.read.parquet(logs)
    rows = rows.where((F.col("failed") == 1) & (F.col("kind") == kind) & (F.col("places") == int(places)))
    for only in sys.argv[9:]:
        with open(only) as ids:
            rows = rows.where(F.col("log").isin(ids.read().split()))
    rows = rows.select("log", "element", "threads")
    if int(partitions) > 0:
        rows = rows.repartition(int(partitions))
    rows = rows.cache()
    # Overall dispersion: distinct vectors of each element, and of all together.
    dispersion = rows.groupBy("element").agg(F.countDistinct("threads").alias("weight")).cache()
    whole = dispersion.agg(F.sum("weight")).first()[0] or 0
    if heuristic == "dgm":
        ranked = by_dispersion(rows, dispersion, whole)
    else:
        ranked = by_similarity(rows, dispersion, whole, metric, int(elements))
    # At most one line a failing log: few enough for one machine, and Python's numbers have any length.
    ranked.sort(key=lambda one: (-Fraction(one[1], one[2]), one[0]))
    with open(answer, "w") as out:
        for log, numerator, denominator in ranked:
            out.write(f"{log} {numerator} {denominator}\n")
    spark.stop()


def by_dispersion(rows, dispersion, whole):
    """Equation 3.6: the dispersion of what a log has itself."""
    sums = rows.join(dispersion, "element").groupBy("log").agg(F.sum("weight").alias("sum"))
    return [(one["log"], one["sum"], max(whole, 1)) for one in sums.collect()]


def similarities(rows, dispersion, whole, metric):
    """For each two logs that have an element in common: how similar they are, as so many parts of the whole."""
    weighed = rows.join(dispersion, "element")
    a = weighed.select("element", "weight", F.col("log").alias("a"), F.col("threads").alias("va"))
    b = rows.select("element", F.col("log").alias("b"), F.col("threads").alias("vb"))
    common = a.join(b, "element").where(F.col("a") != F.col("b"))
    equal = F.col("va") == F.col("vb")
    if metric == "dsim":
        sums = common.groupBy("a", "b").agg(
            F.sum(F.when(equal, F.col("weight")).otherwise(0)).alias("equal"),
            F.sum(F.when(equal, 0).otherwise(F.col("weight"))).alias("different"),
        )
        return sums.select("a", "b", (F.col("equal") * (F.lit(whole) - F.col("different"))).alias("near"))
    agree = F.aggregate(
        F.zip_with("va", "vb", lambda x, y: F.when(x == y, 1).otherwise(0)), F.lit(0), lambda sum, one: sum + one
    )
    terms = common.withColumn("agree", agree.cast("long"))
    terms = terms.withColumn("longer", F.greatest(F.size("va"), F.size("vb")).cast("long"))
    part = F.when(equal, F.col("weight") * PARTS).otherwise(F.expr(f"(agree * weight * {PARTS}) div longer"))
    return terms.groupBy("a", "b").agg(F.sum(part).alias("near"))


def by_similarity(rows, dispersion, whole, metric, elements):
    """Equation 3.5: the mean similarity to the nearest neighbours, one for each element that a log lacks."""
    ids = rows.select("log").distinct()
    lacks = ids.crossJoin(dispersion.select("element")).join(rows.select("log", "element"), ["log", "element"], "left_anti")
    near = similarities(rows, dispersion, whole, metric)
    has = rows.select("element", F.col("log").alias("other"))
    # Logs that have nothing in common are as far as can be: similarity 0, and no row of `near`.
    nearest = lacks.join(has, "element").join(
        near, (F.col("a") == F.col("log")) & (F.col("b") == F.col("other")), "left"
    )
    nearest = nearest.withColumn("near", F.coalesce("near", F.lit(0)))
    is_before = F.when(F.col("other") < F.col("log"), 1).otherwise(0)
    order = Window.partitionBy("log", "element").orderBy(F.col("near").desc(), is_before.asc(), F.col("other").asc())
    nearest = nearest.withColumn("rank", F.row_number().over(order)).where(F.col("rank") == 1)
    each_once = nearest.select("log", "other", "near").distinct()
    sums = each_once.groupBy("log").agg(F.sum("near").alias("sum"), F.count("other").alias("count"))
    logged = rows.groupBy("log").agg(F.count("element").alias("logged"))
    parts = whole * whole if metric == "dsim" else whole * PARTS
    ranked = []
    for one in logged.join(sums, "log", "left").collect():
        if one["logged"] == elements:
            ranked.append((one["log"], 1, 1))
        else:
            ranked.append((one["log"], one["sum"] or 0, max(parts, 1) * max(one["count"] or 0, 1)))
    return ranked


main()
