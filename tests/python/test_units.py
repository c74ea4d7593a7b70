import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midpath.errors import UsageError
from midpath.units import SCALES, digits, parse, quantity

NBSP = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("kind", "value", "ci95", "text"),
    [
        ("seconds", 0.0612, None, f"61.2{NBSP}ms"),
        ("seconds", 0.0612, 0.00134, f"61.2 ± 1.3{NBSP}ms"),
        ("seconds", 0.99996, None, f"1.00{NBSP}s"),
        ("seconds", 1.5e-5, None, f"15.0{NBSP}µs"),
        ("seconds", 0.0, None, f"0{NBSP}s"),
        ("seconds", 4321.0, None, f"4,321{NBSP}s"),
        ("bps", 9.447e8, None, f"945{NBSP}Mbps"),
        ("bytes", 1448.0, None, f"1.45{NBSP}kB"),
        ("bytes", 0.001, None, f"<{NBSP}1{NBSP}B"),
        ("ratio", 0.0042, None, f"0.420{NBSP}%"),
        ("times", 1.5, 0.02, "1.50 ± 0.02×"),
        ("index", 0.98765, 0.0004, "0.988 ± 0.000"),
        ("count", 1234567, None, "1,234,567"),
        ("seconds", None, None, "–"),
        ("seconds", math.nan, None, "–"),
    ],
)
def test_quantities_read_well(kind, value, ci95, text):
    assert quantity(kind, value, ci95) == text


@given(st.sampled_from(sorted(SCALES)), st.floats(1e-12, 1e15), st.none() | st.floats(0, 1e12))
def test_every_quantity_has_a_text(kind, value, ci95):
    assert quantity(kind, value, ci95)


@given(st.floats(1e-5, 1e12))
def test_digits_keep_three(value):
    assert float(digits(value).replace(",", "")) == pytest.approx(value, rel=6e-3)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [("bps", "100Gbps", 1e11), ("bps", " 2.5 Mbps ", 2.5e6), ("bytes", "64 B", 64.0), ("bytes", "1e3kB", 1e6)],
)
def test_amounts_are_read(kind, text, value):
    assert parse(kind, text) == value


@pytest.mark.parametrize("text", ["", "64", "B", "64 bps", "6.4.1 B", "nan B", "64 B each"])
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(UsageError, match="one of B, kB, MB"):
        parse("bytes", text)
