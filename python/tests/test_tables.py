"""Tables for other libraries, results in other processes, pictures, and runs that are watched."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportAttributeAccessIssue=false
# pyarrow has no types, and matplotlib some.

import pickle
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import matplotlib as mpl
import pyarrow as pa
import pytest

import tidegate as tg

mpl.use("Agg")

SMALL = {"workload.senders": 4, "workload.size": "20KB"}


@pytest.mark.parametrize("name", ["flows", "ports", "series"])
def test_a_table_is_an_arrow_stream_of_what_the_csv_says(name: str) -> None:
    table: tg.Table = getattr(tg.run("incast", set=SMALL), name)
    arrow = pa.table(table)
    assert arrow.column_names == list(table)
    for column in table:
        values = [None if value == "" else value for value in arrow[column].to_pylist()]
        assert values == table[column], column


def test_moments_are_integers_and_unknown_ones_null() -> None:
    result = tg.run("incast", set={**SMALL, "run.until": "5us"})
    ends = pa.table(result.flows)["end_ps"]
    assert ends.type == pa.int64()
    assert ends.null_count > 0


def test_a_result_lives_on_in_another_process() -> None:
    described = tg.scenario("incast", senders=4, size="20KB")
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


def test_runs_are_drawn(tmp_path: Path) -> None:
    from tidegate import plot  # noqa: PLC0415 - needs the extra

    runs = [tg.run("incast", set=SMALL, seed=seed) for seed in (1, 2)]
    assert len(plot.fct(*runs).lines) == 2
    assert len(plot.slowdown(*runs).lines) == 2
    file = tmp_path / "fct.svg"
    plot.fct(*runs).figure.savefig(file)
    assert file.stat().st_size > 1000
