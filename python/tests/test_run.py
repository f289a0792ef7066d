"""Runs from Python: what comes back, and what is refused how."""

import json
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tidegate as tg

# Few messages, so that a test takes a moment.
SMALL = {"workload.senders": 4, "workload.size": "20KB"}


def test_a_run_gives_one_row_per_message() -> None:
    result = tg.run("incast", set=SMALL)
    assert result.code == 0
    assert result.flows["size"] == [20_000] * 4
    assert all(isinstance(fct, int) and fct > 0 for fct in result.flows["fct_ps"])
    assert result.summary["messages"]["finished"] == 4


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    first, again, other = (tg.run("incast", set=SMALL, seed=seed) for seed in (1, 1, 2))
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert first.summary == again.summary
    assert len(first.fingerprint) == 16


def test_a_scenario_is_a_value_that_runs() -> None:
    described = tg.scenario("incast", transport="dctcp", fanout=4, size="20KB", seed=3)
    result = tg.run(described)
    assert result.summary["transport"] == "dctcp"
    assert result.summary["seed"] == 3
    # What is said last wins.
    assert tg.run(described, seed=4).summary["seed"] == 4


def test_threads_change_nothing() -> None:
    one, two = (tg.run("incast", set=SMALL, threads=threads) for threads in (1, 2))
    assert one.fingerprint == two.fingerprint
    assert one.flows == two.flows


def test_the_folder_is_kept_where_the_caller_chose_it(tmp_path: Path) -> None:
    result = tg.run("incast", set=SMALL, out=tmp_path / "here")
    assert result.path == tmp_path / "here"
    assert (result.path / "report.html").is_file()
    assert "senders = 4" in (result.path / "resolved.toml").read_text()


def test_a_folder_is_found_from_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here = [tg.run("incast", set=SMALL, out="here"), tg.Result("here")]
    compared = tg.compare("incast", set=SMALL, out="out")
    here += compared.results
    kept = pickle.dumps(here)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    for result in (*here, *pickle.loads(kept)):  # noqa: S301
        assert result.flows["size"] == [20_000] * 4
        assert result.summary["messages"]["finished"] == 4
    assert compared.report.is_file()


@pytest.mark.parametrize("other", [{"run.seed": 2}, {"output.every": "2us"}])
def test_a_result_of_a_folder_that_holds_another_run_says_so(
    tmp_path: Path, other: dict[str, object]
) -> None:
    first = tg.run("incast", set=SMALL, out=tmp_path)
    flows = first.flows
    kept = pickle.dumps(first)
    tg.run("incast", set=SMALL, out=tmp_path)
    assert flows["size"] == [20_000] * 4, "the same run may be there again"
    tg.run("incast", set={**SMALL, **other}, out=tmp_path)
    assert flows["size"] == [20_000] * 4
    same: tg.Result = pickle.loads(kept)  # noqa: S301
    changed = "now holds another run: give every run a folder of its own"
    with pytest.raises(RuntimeError, match=changed):
        _ = first.summary
    with pytest.raises(RuntimeError, match=changed):
        _ = first.series["queue"]
    with pytest.raises(RuntimeError, match=changed):
        flows.__arrow_c_stream__()
    with pytest.raises(RuntimeError, match=changed):
        first.why()
    with pytest.raises(RuntimeError, match=changed):
        _ = same.fingerprint
    assert repr(first) == f"Result(path={str(tmp_path)!r})"
    assert tg.Result(tmp_path).fingerprint


def test_what_a_run_did_not_write_is_named_with_what_asks_for_it(tmp_path: Path) -> None:
    result = tg.run("incast", set={**SMALL, "output.every": "0s"})
    with pytest.raises(FileNotFoundError, match=r"no table memory: set output\.memory, like set="):
        _ = result.memory["node"]
    with pytest.raises(FileNotFoundError, match=r"no table series: no sample .* output\.every"):
        _ = result.series["queue"]
    assert "no table memory" in repr(result.memory)
    nothing = tg.Result(tmp_path / "nope")
    assert repr(nothing) == f"Result(path={str(nothing.path)!r})"
    with pytest.raises(FileNotFoundError, match=r"nope holds no run: it has no summary\.json"):
        _ = nothing.flows["size"]


def test_a_scenario_may_name_the_folder_as_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tables = {"workload": {"kind": "incast", "senders": 4, "size": "20KB"}}
    for start, sets, folder in (
        ("incast", {**SMALL, "output.dir": "by-set"}, "by-set"),
        ("incast", {**SMALL, "output": {"dir": "by-table"}}, "by-table"),
        ({**tables, "output": {"dir": "by-tables"}}, {}, "by-tables"),
        ({**tables, "output": {"dir": "not"}}, {"output.dir": "wins"}, "wins"),
    ):
        result = tg.run(start, set=sets)
        assert result.path == tmp_path / folder
        assert tg.Result(folder).fingerprint == result.fingerprint
    Path("base").mkdir()
    Path("base/output.toml").write_text('dir = "by-include"\n', "utf-8")
    workload = '[workload]\nkind = "incast"\nsenders = 4\nsize = "20KB"\n[output]\n'
    Path("a.toml").write_text(workload + 'include = "base/output.toml"\n', "utf-8")
    assert tg.run("a.toml").path == tmp_path / "by-include"
    more = {"output": {"every": "2us"}}
    assert tg.run("a.toml", set=more).path == tmp_path / "by-include"
    assert tg.run("a.toml", out="by-out").path == tmp_path / "by-out"
    for wrong in ({"output.dir": 3}, {"output.dir": {"a": 1}}, {"output": "here"}):
        with pytest.raises(tg.RunError, match="output"):
            tg.run("incast", set=wrong)


def test_without_a_folder_nothing_stays_behind() -> None:
    result = tg.run("incast", set=SMALL)
    path = result.path
    assert path.is_dir()
    del result
    assert not path.exists()


def test_what_is_resolved_runs_to_the_same_end(tmp_path: Path) -> None:
    first = tg.run("incast", set=SMALL, out=tmp_path)
    assert tg.run(first.path / "resolved.toml").fingerprint == first.fingerprint


@pytest.mark.parametrize(
    ("sets", "hint"),
    [
        ({"workload.sendrs": 4}, "senders"),
        ({"workload.size": "20kB/s"}, "20kB/s"),
        ({"workload.size": 20_000}, "unit"),
        ({"transport.kind": "expresspas"}, "expresspass"),
    ],
)
def test_a_wrong_scenario_is_refused_with_the_way_out(sets: dict[str, object], hint: str) -> None:
    with pytest.raises(tg.RunError, match=hint) as refused:
        tg.run("incast", set=sets)
    assert refused.value.code == 2


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(tg.RunError, match="incast"):
        tg.run("incats")


def test_a_threshold_that_fails_is_no_error() -> None:
    result = tg.run("incast", set={**SMALL, "thresholds": {"fct.p99": "< 1ns"}})
    assert result.code == 1


BROKEN = {"faults": [{"kind": "loss", "link": "* -> *", "chance": 1.0}]}


def test_a_run_that_leaves_messages_says_why_and_gives_what_there_is() -> None:
    with pytest.raises(tg.RunError) as left:
        tg.run("incast", set={**SMALL, **BROKEN})
    assert left.value.code == 3
    first, *_, last = str(left.value).splitlines()
    assert first.startswith("4 of 4 messages were not finished at 10s")
    assert first.endswith("more time would hardly help")
    assert "h1, connection 0: sender asking" in str(left.value)
    for error in (left.value, pickle.loads(pickle.dumps(left.value))):  # noqa: S301
        assert isinstance(error.result, tg.Result)
        assert error.result.flows["finished"] == [False] * 4
        assert error.result.report.is_file()
    assert f"the report is {left.value.result.path}/report.html" in last  # type: ignore[union-attr]


def test_a_comparison_with_a_stuck_run_names_it_and_gives_the_others(tmp_path: Path) -> None:
    chances = {"faults.0.chance": [1.0, 0.001]}
    with pytest.raises(tg.RunError) as left:
        tg.compare("incast", set={**SMALL, **BROKEN}, vary=chances, out=tmp_path, seeds=2)
    text = str(left.value)
    assert text.startswith("2 of 4 runs broke or left messages unfinished\n")
    assert "expresspass, faults.0.chance 1.0, seed 2, in " in text
    assert "chance 0.001" not in text
    assert "more time would hardly help" in text
    compared = left.value.result
    assert isinstance(compared, tg.Comparison)
    assert f"the report is {compared.report}; " in text
    assert left.value.code == compared.code == 3
    assert [row["unfinished"] for row in compared.rows()] == [4, 4, 0, 0]
    assert [run.code for run in compared.results] == [3, 3, 0, 0]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    with pytest.raises(tg.RunError, match="file") as refused:
        tg.run("incast", set=SMALL, out=blocked)
    assert refused.value.code == 4


def test_an_interrupt_ends_a_run_and_keeps_what_it_had(tmp_path: Path) -> None:
    # Jobs in the background of a shell start with interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Long enough to be interrupted on any machine.
    long = {"workload.size": "1GB"}
    timer = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        tg.run("incast", set=long, out=tmp_path)
    timer.join()
    summary = tg.Result(tmp_path).summary
    assert summary["status"] == "interrupted"


def test_the_program_starts_itself_again_from_an_environment() -> None:
    words = ["wire", "bench", "--bytes", "10KB", "--messages", "1", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "tidegate", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outcome"]["equal"]
