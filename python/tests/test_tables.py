"""Tables for other libraries, results in other processes, pictures, and runs that are watched."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportAttributeAccessIssue=false
# pyright: reportUnknownArgumentType=false
# pyarrow has no types, and matplotlib some.

import pickle
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from operator import methodcaller
from pathlib import Path
from typing import cast

import matplotlib as mpl
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from matplotlib.axes import Axes

import tidegate as tg
from tidegate import plot

mpl.use("Agg")

SMALL = {"workload.senders": 4, "workload.size": "20KB"}


@pytest.mark.parametrize("name", ["flows", "ports", "series", "hosts"])
def test_a_table_is_an_arrow_stream_of_what_the_csv_says(name: str) -> None:
    table: tg.Table = getattr(tg.run("incast", set=SMALL), name)
    arrow = pa.table(table)
    assert arrow.column_names == list(table)
    for column in table:
        values = [None if value == "" else value for value in arrow[column].to_pylist()]
        assert values == table[column], column
        truths = str(arrow[column].type) == "bool"
        assert all(isinstance(value, bool) == truths for value in table[column]), column


def test_moments_are_integers_and_unknown_ones_null() -> None:
    result = tg.run("incast", set={**SMALL, "run.until": "5us"})
    ends = pa.table(result.flows)["end_ps"]
    assert ends.type == pa.int64()
    assert ends.null_count > 0


def test_numbers_of_numpy_are_numbers_of_a_scenario(tmp_path: Path) -> None:
    there = tg.scenario(
        {"workload": {"kind": "random", "sizes": np.str_("web-server"), "messages": np.int64(5)}},
        load=np.float64(0.5),
        seed=np.uint8(3),
        set={"output.memory": np.True_, "run.threads": np.array(1)},
    )
    here = tg.scenario(
        {"workload": {"kind": "random", "sizes": "web-server", "messages": 5}},
        load=0.5,
        seed=3,
        set={"output.memory": True, "run.threads": 1},
    )
    assert repr(there) == repr(here)
    assert there.check().toml == here.check().toml
    run = tg.run("incast", set={"workload.senders": np.int32(4), "workload.size": "20KB"})
    assert run.fingerprint == tg.run("incast", set=SMALL).fingerprint
    loads = tg.compare(here, vary={"load": np.array([0.25, 0.5])}, out=tmp_path)
    assert [row["workload.load"] for row in loads.rows()] == [0.25, 0.5]


def test_a_result_lives_on_in_another_process() -> None:
    described = tg.scenario("incast", fanout=4, size="20KB")
    assert pickle.loads(pickle.dumps(described)) == described  # noqa: S301
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        there = pool.submit(tg.run, described).result()
    here = tg.run(described)
    assert there.fingerprint == here.fingerprint
    assert there.flows == here.flows


def test_progress_is_told_and_ends_a_run(tmp_path: Path) -> None:
    seen: list[tg.Progress] = []

    def watch(at: tg.Progress) -> bool:
        seen.append(at)
        return len(seen) < 3

    with pytest.raises(tg.RunError) as ended:
        tg.run("incast", set={"workload.size": "100MB"}, out=tmp_path, progress=watch)
    assert ended.value.code == 130
    assert tg.Result(tmp_path).summary["status"] == "interrupted"
    assert seen[0].now_ps < seen[2].now_ps
    assert seen[2].total == 64


@pytest.mark.parametrize("stop", [np.False_, 0, ""])
def test_progress_ends_a_run_by_any_value_that_is_falsy(stop: object) -> None:
    with pytest.raises(tg.RunError) as ended:
        tg.run("incast", set={"workload.size": "100MB"}, progress=lambda _: stop)
    assert ended.value.code == 130
    assert tg.run("incast", set=SMALL, progress=lambda _: None).code == 0


def test_a_frame_of_names_instead_of_columns_is_refused() -> None:
    flows = tg.run("incast", set=SMALL).flows
    with pytest.raises(TypeError, match=r"write pandas\.DataFrame\.from_arrow\(flows\)"):
        pd.DataFrame(flows)  # type: ignore[call-overload]
    for frame in (pd.DataFrame.from_arrow(flows), pd.DataFrame(dict(flows))):
        assert list(frame["size"]) == [20_000] * 4
        assert len(frame[frame["finished"]]) == 4


def test_an_error_in_the_callback_is_the_callers() -> None:
    def broken(at: tg.Progress) -> None:
        raise LookupError(at)

    with pytest.raises(LookupError):
        tg.run("incast", set=SMALL, progress=broken)


def test_other_threads_go_on_during_a_run() -> None:
    counted, over = 0, threading.Event()

    def count() -> None:
        nonlocal counted
        while not over.wait(0.001):
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    tg.run("incast", set={"workload.size": "2MB"})
    over.set()
    thread.join()
    assert counted > 3


def test_a_comparison_has_a_row_per_run_and_one_report(tmp_path: Path) -> None:
    kinds = ["expresspass", "dctcp"]
    vary = {"workload.size": ["10KB", "20KB"]}
    said = tg.compare(
        "incast", transports=kinds, seeds=2, set={"workload.senders": 4}, vary=vary, out=tmp_path
    )
    assert [row["transport"] for row in said.rows()] == ["expresspass"] * 4 + ["dctcp"] * 4
    assert [row["seed"] for row in said.rows()] == [1, 2] * 4
    assert {row["workload.size"] for row in said.rows()} == {"10KB", "20KB"}
    assert said.report.is_file()
    with pytest.raises(tg.RunError, match="expresspass"):
        tg.compare("incast", transports=["expresspas"], out=tmp_path)


def test_rows_have_the_values_that_vary_named(tmp_path: Path) -> None:
    vary = {"output.memory": [False, True], "fanout": np.array([2, 40]), "size": ["1KB", "2KB"]}
    compared = tg.compare("incast", vary=vary, out=tmp_path)
    keys = ("output.memory", "workload.senders", "workload.size")
    rows = [tuple(row[key] for key in keys) for row in compared.rows()]
    wanted = [(m, n, size) for m in (False, True) for n in (2, 40) for size in ("1KB", "2KB")]
    assert rows == wanted
    assert {*map(type, rows[0])} == {bool, int, str}
    groups = {(row["output.memory"], row["workload.senders"]) for row in compared.groups()}
    assert groups == {(m, n) for m, n, _ in wanted}
    assert "<td>True</td><td>40</td>" in str(methodcaller("_repr_html_")(compared))
    labels = [tick.get_text() for tick in compared.plot.slowdown().get_xticklabels()]
    assert labels == ["False", "True"]


def plotted(ax: Axes) -> list[list[float]]:
    return [list(cast("list[float]", line.get_ydata())) for line in ax.lines]


def test_runs_are_drawn(tmp_path: Path) -> None:
    runs = [tg.run("incast", set=SMALL, seed=seed) for seed in (1, 2)]
    [first, _] = plotted(runs[0].plot.fct(runs[1]))
    # Nothing is there before the first message is, and everything at the end.
    assert (first[0], first[-1], len(first)) == (0, 1, 5)
    # Messages of one size: how their slowdown is distributed.
    ax = runs[0].plot.slowdown()
    assert ax.get_xlabel() == "slowdown, log scale"
    assert float(max(ax.lines[0].get_xdata())) == max(runs[0].flows["slowdown"])  # type: ignore[type-var]
    assert [max(y) for y in plotted(plot.queue(*runs))] == [
        max(run.series["queue"])  # type: ignore[type-var]
        for run in runs
    ]
    file = tmp_path / "fct.svg"
    plot.fct(*runs).figure.savefig(file)
    assert file.stat().st_size > 1000
    text = plot.fct(*runs).get_legend_handles_labels()[1]
    assert text == ["expresspass, seed 1", "expresspass, seed 2"]


def test_unfinished_messages_keep_a_distribution_below_one() -> None:
    first, *_ = sorted(int(at or 0) for at in tg.run("incast", set=SMALL).flows["end_ps"])
    until = f"{first // 1000 + 1}ns"
    [shares] = plotted(tg.run("incast", set={**SMALL, "run.until": until}).plot.fct())
    assert shares[-1] == 1 / 4


def test_slowdown_is_drawn_over_sizes_where_there_are_several() -> None:
    run = tg.run(tg.scenario("web-server", messages=200))
    ax = run.plot.slowdown()
    tail, middle = plotted(ax)
    assert ax.get_xlabel() == "message size, log scale"
    assert all(p99 >= p50 >= 1 for p99, p50 in zip(tail, middle, strict=True))
    assert max(tail) == max(run.flows["slowdown"])  # type: ignore[type-var]


@pytest.mark.parametrize("transport", ["expresspass", "dctcp"])
def test_the_rate_adds_up_to_the_bytes_and_never_exceeds_the_line(transport: str) -> None:
    run = tg.run(tg.scenario("incast", fanout=16, transport=transport))
    ax = run.plot.rate(link="tor0 -> h0", bins=50)
    [rates] = plotted(ax)
    assert max(rates) <= 100e9
    last = ax.get_xlim()[1]
    carried = sum(rates[:-1]) * last / 50 / 8
    # The columns of data, of the port's own counters.
    port = list(zip(run.ports["from"], run.ports["to"], strict=True)).index(("tor0", "h0"))
    names = ("bytes_scheduled", "bytes_unscheduled", "bytes_plain")
    sent = sum(int(run.ports[name][port] or 0) for name in names)
    assert carried == pytest.approx(sent, rel=1e-6)


def test_what_cannot_be_drawn_says_what_to_do() -> None:
    run = tg.run("incast", set=SMALL)
    with pytest.raises(ValueError, match="no link 'tor9'"):
        run.plot.queue(link="tor9")
    for bins in (0, -1):
        with pytest.raises(ValueError, match=f"bins={bins} is out of range"):
            run.plot.rate(bins=bins)
    with pytest.raises(ValueError, match="until=0 leaves nothing to draw"):
        run.plot.rate(until=0)
    with pytest.raises(ValueError, match="every='1us'"):
        tg.run(tg.scenario("incast", fanout=2, every="0s")).plot.queue()


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    run = tg.run("incast", set=SMALL)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'tidegate\[plot\]'"):
        run.plot.fct()


def test_comparisons_are_drawn_over_what_varies(tmp_path: Path) -> None:
    compared = tg.compare(
        tg.scenario("incast", size="20KB"),
        transports=["expresspass", "dctcp"],
        vary={"fanout": [4, 8]},
        seeds=2,
        out=tmp_path,
    )
    ax = compared.plot.slowdown()
    assert ax.get_xlabel() == "senders"
    places = [list(cast("list[float]", line.get_xdata())) for line in ax.lines]
    assert places == [[4, 8], [4, 8]]
    bands = [collection.get_datalim(ax.transData) for collection in ax.collections]
    assert len(bands) == 2
    assert ax.get_ylabel() == "slowdown, p99, mean of 2 seeds, log scale"
    of_four = [r["slowdown_p99"] for r in compared.rows() if r["workload.senders"] == 4]
    means = sorted(sum(pair) / 2 for pair in (of_four[:2], of_four[2:]))
    drawn = sorted(float(cast("list[float]", line.get_ydata())[0]) for line in ax.lines)
    assert drawn == pytest.approx(means), "the picture shows what the table shows"
    ax = compared.plot.queue(over="fanout")
    assert ax.get_ylabel() == "longest queue, mean of 2 seeds"
    assert ax.yaxis.get_major_formatter()(64e3) == "64\N{NO-BREAK SPACE}KB"
    with pytest.raises(ValueError, match=r"workload\.load does not vary.*workload\.senders"):
        compared.plot.fct(over="load")
    alone = tg.compare("incast", set=SMALL, transports=["expresspass", "dctcp"], out=tmp_path)
    labels = [tick.get_text() for tick in alone.plot.fct().get_xticklabels()]
    assert labels == ["expresspass", "dctcp"]
