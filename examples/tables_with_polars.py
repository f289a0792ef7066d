"""Which receivers suffer, and what do the messages that suffer have in common?

Run it with tidegate and polars installed: `python examples/tables_with_polars.py`. The tables of a
run are Arrow streams: polars, pandas, DuckDB and PyArrow read them directly.
"""

from __future__ import annotations

import polars as pl

import tidegate as tg


def main() -> None:
    """Run Web Search traffic and ask three questions of its tables."""
    result = tg.run(tg.scenario("web-search", messages=300, load=0.8, seed=1))
    flows, ports = pl.DataFrame(result.flows), pl.DataFrame(result.ports)

    print("Slowdown by size:")
    decade = (10 ** pl.col("size").log10().floor()).cast(pl.Int64)
    slowdown = pl.col("slowdown")
    print(
        flows.group_by(decade.alias("size from"))
        .agg(
            pl.len().alias("messages"),
            slowdown.median().round(2).alias("p50"),
            slowdown.quantile(0.99, "higher").round(2).alias("p99"),
        )
        .sort("size from")
    )

    print("Receivers whose messages suffer most, and how many others sent to them meanwhile:")
    meanwhile = flows.join(flows, on="dst", suffix="_other").filter(
        (pl.col("start_ps_other") < pl.col("end_ps"))
        & (pl.col("end_ps_other") > pl.col("start_ps"))
        & (pl.col("flow_id_other") != pl.col("flow_id"))
    )
    others = meanwhile.group_by("flow_id").agg(pl.len().alias("others"))
    suffered = flows.join(others, on="flow_id", how="left").with_columns(
        pl.col("others").fill_null(0)
    )
    print(
        suffered.group_by("dst")
        .agg(slowdown.mean().round(2), pl.col("others").mean().round(1))
        .sort("slowdown", descending=True)
        .head(5)
    )

    print("Busiest links between switches:")
    inner = ports.filter((pl.col("from_tier") > 0) & (pl.col("to_tier") > 0))
    print(
        inner.select("from", "to", pl.col("utilisation").round(3), "queue_max")
        .sort("utilisation", descending=True)
        .head(5)
    )


if __name__ == "__main__":
    main()
