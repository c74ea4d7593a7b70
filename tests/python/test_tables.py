import numpy as np
import pyarrow as pa

from midpath.tables import to_arrow


def test_buffers_become_columns():
    table = to_arrow(
        {
            "n": ("uint64", np.array([1, 2**63], "<u8").tobytes()),
            "x": ("float64", np.array([1.5, np.nan], "<f8").tobytes()),
            "b": ("bool", b"\x01\x00"),
            "s": ("str", np.array([1, 0], "<u4").tobytes(), ["a", "b"]),
        }
    )
    assert table.to_pydict() == {"n": [1, 2**63], "x": [1.5, None], "b": [True, False], "s": ["b", "a"]}
    assert table.schema.field("s").type == pa.dictionary(pa.int32(), pa.string())


def test_empty_columns():
    table = to_arrow({"x": ("float64", b""), "s": ("str", b"", [])})
    assert table.num_rows == 0
