"""scripts/circles.py: which imports close a circle that crosses folders."""

from pathlib import Path

import pytest

import script

SCRIPT = Path(__file__).parents[2] / "scripts" / "circles.py"


@pytest.fixture(scope="module")
def circles():
    return script.load(SCRIPT)


def crate(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


DOWNWARD = {
    "lib.rs": "pub mod ground;\npub mod roles;\npub mod queue;\n",
    "ground.rs": "pub struct Limit;\n",
    "roles.rs": "mod port;\npub use port::Port;\n",
    "roles/port.rs": "use crate::ground::Limit;\npub trait Port { fn limit(&self) -> Limit; }\n",
    "queue.rs": "mod fifo;\npub use fifo::Fifo;\npub use crate::ground::Limit;\n",
    "queue/fifo.rs": "use crate::roles::Port;\npub struct Fifo;\n",
}


def wide(circles, tmp_path, capsys, **changes):
    files = DOWNWARD | {name.replace("__", "/") + ".rs": text for name, text in changes.items()}
    found = circles.report(crate(tmp_path / "crates/x/src", files), all_of_them=False, root=tmp_path)
    return found, capsys.readouterr().out


def test_what_reads_downward_has_none(circles, tmp_path, capsys):
    assert wide(circles, tmp_path, capsys) == (0, "")


def test_an_import_that_closes_a_circle_of_two_folders_is_named(circles, tmp_path, capsys):
    up = "use crate::queue::Fifo;\nuse crate::ground::Limit;\npub trait Port { fn of(f: Fifo) -> Limit; }\n"
    found, said = wide(circles, tmp_path, capsys, roles__port=up)
    assert found == 1
    assert "queue, roles in a circle" in said
    assert "roles -> queue: port.rs -> fifo.rs by crate::queue::Fifo" in said


def test_a_path_in_the_code_is_an_import_too(circles, tmp_path, capsys):
    up = "use crate::ground::Limit;\npub trait Port { fn of(f: &crate::queue::Fifo) -> Limit; }\n"
    assert wide(circles, tmp_path, capsys, roles__port=up)[0] == 1


def test_a_name_that_is_handed_on_is_looked_up_where_it_stands(circles, tmp_path, capsys):
    # `Limit` stands in ground.rs, whoever hands it on.
    through = "use crate::queue::Limit;\npub trait Port { fn limit(&self) -> Limit; }\n"
    assert wide(circles, tmp_path, capsys, roles__port=through) == (0, "")


def test_tests_comments_and_strings_do_not_count(circles, tmp_path, capsys):
    text = (
        "use crate::ground::Limit;\n// use crate::queue::Fifo;\npub trait Port { fn limit(&self) -> Limit; }\n"
        'const SAID: &str = "crate::queue::Fifo";\n'
        "#[cfg(test)]\nmod tests {\n    use crate::queue::Fifo;\n    fn f() { if true { } }\n}\n"
    )
    assert wide(circles, tmp_path, capsys, roles__port=text) == (0, "")


def test_a_circle_inside_a_folder_is_no_circle_of_folders(circles, tmp_path, capsys):
    inside = {
        "queue__fifo": "use super::drr::Drr;\npub struct Fifo;\n",
        "queue__drr": "use super::Fifo;\npub struct Drr;\n",
    }
    assert wide(circles, tmp_path, capsys, **inside) == (0, "")
    assert circles.report(tmp_path / "crates/x/src", all_of_them=True, root=tmp_path) == 0
    assert "drr, fifo in a circle" in capsys.readouterr().out
