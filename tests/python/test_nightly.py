"""Which tests `make test` leaves to `make nightly`, and that CONTRIBUTING.md names them."""

from types import SimpleNamespace

import pytest

from conftest import ROOT, runs


def item(*guarded):
    marks = [pytest.mark.nightly(*guarded).mark] if guarded else []
    return SimpleNamespace(path=ROOT / "tests/python/test_a.py", iter_markers=lambda _: marks)


@pytest.mark.parametrize(
    ("guarded", "which", "changed", "does"),
    [
        ((), "changed", [], True),
        ((), "only", None, False),
        (("docs/a.md",), "only", None, True),
        (("docs/a.md",), "changed", ["docs/b.md", "crates/core/src/lib.rs"], False),
        (("docs/a.md",), "changed", ["docs/a.md"], True),
        (("scripts/a.py", "docs/"), "changed", ["docs/a.md"], True),
        (("docs/a.md",), "changed", ["tests/python/test_a.py"], True),
        (("docs/a.md",), "changed", None, True),
    ],
    ids=["no mark", "no mark, nightly", "nightly", "others", "its page", "its folder", "itself", "git cannot tell"],
)
def test_a_marked_test_runs_where_what_it_guards_has_changed(guarded, which, changed, does):
    assert runs(item(*guarded), which, changed) is does


def test_each_file_with_such_tests_is_named():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    marked = [file.name for file in (ROOT / "tests/python").glob("test_*.py") if ".mark.nightly(" in file.read_text()]
    assert [name for name in marked if name != "test_nightly.py" and f"| `{name}`" not in page] == []
    assert len(marked) > 5
