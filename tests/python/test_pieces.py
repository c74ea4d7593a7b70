"""Many flows: rows that are written piece by piece, lists that are read so, and what memory flows take."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import midpath
from midpath.benchmark.measure import repetitions
from midpath.errors import OutputError
from midpath.result.pieces import FlowsFile

pytestmark = pytest.mark.nightly("crates/traffic/", "crates/sim/src/", "python/midpath/result/")

# Most bytes that a flow may take, from the list to its row in the file, if few others are under way: ten million in
# 2 GB. Written down before the first run.
MOST = 200
# A piece is 131,072 rows.
MANY = 140_000


def short_flows(flows, scheme="newreno"):
    """Flows of one packet between 160 hosts, 5,000 a second: some hundred are under way at a time, and some thousand
    ends wait for late packets.
    """
    return {
        "scheme": scheme,
        "topology": {
            "generate": "dumbbell",
            "pairs": 80,
            "bottleneck": {"rate": "10 Gbps", "delay": "1 ms"},
            "access": {"rate": "10 Gbps", "delay": "10 us"},
        },
        "workload": [
            {
                "matrix": {"kind": "random"},
                "sizes": {"kind": "fixed", "size": "1 kB"},
                "arrivals": {"kind": "poisson", "rate_per_s": 5_000.0},
                "flows": flows,
            }
        ],
    }


@pytest.mark.parametrize("threads", [1, 2])
def test_a_flow_takes_two_hundred_bytes(threads):
    few, many = (repetitions(short_flows(flows), 1, threads) for flows in (MANY, MANY + 150_000))
    peaks = [one.spent[0].peak_bytes for one in (few, many)]
    assert many.run["completed"] == MANY + 150_000
    assert (peaks[1] - peaks[0]) / 150_000 < MOST


def dependent(kind, flows):
    """Flows of one packet that wait for flows, around a switch: of clients, plain, or asked again and with queues at
    servers, and of jobs. Some dozen are under way at a time, of some 5,000 a second; some thousand ends are in
    TIME-WAIT.
    """
    asking = {
        "from": ["h0", "h1", "h2", "h3"],
        "to": ["h4", "h5", "h6", "h7", "h8", "h9"],
        "requests": flows // 8,
        "request_sizes": {"kind": "fixed", "size": "1 kB"},
        "reply_sizes": {"kind": "fixed", "size": "1 kB"},
        "think_time": "1500 us",
    }
    again = {"requests": flows // 16, "hedge_after": "10 ms", "timeout": "20 ms", "workers": 4, "service_time": "5 us"}
    job = {"hosts": ["h*"], "size": "9 kB"}

    def of_job(collective, each, compute_ms, **more):
        """`each` flows an iteration."""
        of = {"collective": collective, "iterations": flows // each, "compute_time": f"{compute_ms} ms"}
        return {"job": [job | of | more]}

    kinds = {
        "client": {"client": [asking]},
        "client asked again": {"client": [asking | again]},
        "ring": of_job("all-reduce", 180, 36),
        "halving": of_job("all-reduce-halving", 48, 10, ranks=8),
        "all-to-all": of_job("all-to-all", 90, 18),
    }
    star = {"generate": "star", "n": 10, "access": {"rate": "10 Gbps", "delay": "1 us"}}
    return {"scheme": "newreno", "topology": star} | kinds[kind]


def listed(kind, flows, folder):
    """Flows of one packet in a list, 16 at a time: each has a group of its own and waits for one before it (`chains`),
    or for all of the round before (`rounds`). 3 ms of computation make 5,000 a second.
    """
    lines = ["src,dst,size,start,group,after\n"]
    for i in range(flows):
        of_round, chain = divmod(i, 16)
        own, before = (f"r{of_round}", f"r{of_round - 1}") if kind == "rounds" else (f"f{i}", f"f{i - 16}")
        to = (chain + 1 + of_round % 9) % 10
        lines.append(f"h{chain % 10},h{to},1000,0.003,{own},{before if of_round else ''}\n")
    file = folder / f"{flows}.csv"
    file.write_text("".join(lines))
    return dependent("client", flows) | {"client": [], "workload": [{"list": {"file": str(file)}}]}


@pytest.mark.parametrize("kind", ["chains", "rounds"])
def test_a_flow_of_a_list_that_waits_for_flows_takes_two_hundred_bytes(kind, tmp_path):
    few, many = (repetitions(listed(kind, flows, tmp_path), 1) for flows in (MANY, MANY + 150_000))
    peaks = [one.spent[0].peak_bytes for one in (few, many)]
    assert many.run["completed"] == MANY + 150_000
    assert (peaks[1] - peaks[0]) / 150_000 < MOST


@pytest.mark.parametrize("kind", ["client", "client asked again", "ring", "halving", "all-to-all"])
def test_a_flow_that_waits_for_flows_takes_two_hundred_bytes(kind):
    few, many = (repetitions(dependent(kind, flows), 1) for flows in (MANY, MANY + 150_000))
    peaks = [one.spent[0].peak_bytes for one in (few, many)]
    # Requests that are asked again are flows of the list whether they start or not.
    assert (peaks[1] - peaks[0]) / 150_000 < MOST


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The same run in memory, and saved while it is written down."""
    out = tmp_path_factory.mktemp("pieces") / "out"
    scenario = short_flows(MANY)
    return midpath.run(scenario), midpath.run(scenario, out=out, threads=2), out


def plain(table):
    """A table with texts in place of numbers of texts, which differ from piece to piece."""
    texts = [pa.types.is_dictionary(field.type) for field in table.schema]
    columns = [column.cast(pa.string()) if text else column for column, text in zip(table.columns, texts, strict=True)]
    return pa.table(columns, names=table.column_names)


def test_pieces_are_the_whole(both):
    whole, saved, out = both
    assert pq.ParquetFile(out / "flows.parquet").num_row_groups == 2
    again = midpath.load(out)
    for found in (saved.tables, again.tables):
        assert sorted(found) == ["flows", "ports", "series"]
        assert plain(found["flows"]).equals(plain(whole.flows))
        assert found["ports"].equals(whole.ports)
    same = whole.run.keys() - {"wall_s", "hops_per_s", "threads", "memory_bytes"}
    assert {key: again.run[key] for key in same} == {key: whole.run[key] for key in same}
    assert sorted(file.name for file in out.parent.iterdir()) == ["out"]


def test_a_small_result_is_the_same_file(tmp_path, made_up):
    result = midpath.run("title = 'x'\n")
    result.save(tmp_path / "saved")
    written = midpath.run("title = 'x'\n", out=tmp_path / "written")
    for name in ("flows.parquet", "ports.parquet", "series.parquet", "run.json"):
        assert (tmp_path / "saved" / name).read_bytes() == (tmp_path / "written" / name).read_bytes()
    written.save(tmp_path / "again")
    assert midpath.load(tmp_path / "again").flows.equals(result.flows)


def test_what_is_no_result_is_not_replaced(tmp_path, made_up):
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"holds no run\.json"):
        midpath.run("title = 'x'\n", out=tmp_path)
    assert made_up == []


def test_a_disk_that_is_full_ends_the_run_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(FlowsFile, "add", full)
    with pytest.raises(OSError, match="No space left"):
        midpath.run(short_flows(100), out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def full(self, buffers):
    """A first piece is written, then there is no room."""
    real(self, buffers)
    raise OSError(28, "No space left on device")


real = FlowsFile.add


LIST = """
[topology]
generate = "dumbbell"
pairs = 2
bottleneck = { rate = "10 Mbps", delay = "1 ms" }
access = { rate = "10 Mbps", delay = "1 ms" }
[[workload]]
list = { file = "flows.csv" }
"""


def test_a_list_that_is_not_in_order_is_named_with_its_line(tmp_path, cli):
    (tmp_path / "run.toml").write_text(LIST)
    list_ = tmp_path / "flows.csv"
    list_.write_text("src,dst,size,start\ns0,d0,1 kB,0.2\n# next\n\ns1,d1,2 kB,0.1\ns0,d1,1 kB,0.3\n")
    said = cli("run", tmp_path / "run.toml").out
    (line,) = [line for line in said.splitlines() if line.startswith("warning")]
    assert "workload[0].list: flows.csv: line 5 starts at 100 ms, before line 2 at 200 ms" in line
    sizes = midpath.run(tmp_path / "run.toml").flows["size_bytes"].to_pylist()
    assert sizes == [2000, 1000, 1000]
    list_.write_text("src,dst,size,start\ns0,d0,1 kB,0.2\ns1,d1,2 kB,0.2\n")
    assert midpath.run(tmp_path / "run.toml").warnings == []
