"""Writes what a shell wants of the command: its man page, and completions for bash, zsh and fish.

    python scripts/shell_files.py            writes them below python/shell, from where wheels install them
    python scripts/shell_files.py --check    fails if that would change them

Completions are words in a file. To ask the command at each Tab would take a second.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from midpath.cli import app

# What is in `data` goes to the top of the environment: .venv/share/man and so on.
SHARE = Path(__file__).parents[1] / "python" / "shell" / "data" / "share"
HELP = ("-h", "--help")
# Typer's own, which would install the completions that are in these files.
LEFT_OUT = {"--install-completion", "--show-completion"}
MAN_HEAD = """.TH MIDPATH 1 "" "midpath" "User commands"
.SH NAME
midpath \\- {about}
.SH SYNOPSIS
\\fBmidpath\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]
.SH DESCRIPTION
Simulates congestion control on any topology. A scenario is a TOML file; a result is a folder.
With \\fB\\-\\-json\\fR, where there is one, JSON is printed in place of text. Ctrl-C stops at any time.
.SH COMMANDS"""
MAN_TAIL = """.SH EXIT STATUS
0: done. 1: failed, or a claim does not hold. 2: bad input; nothing was written. 130: stopped by Ctrl-C.
.SH SEE ALSO
\\fBmidpath cite\\fR says how to cite a result. See also midpathd\\-node(8), midpathd\\-ndn(8), midpathd\\-rpm(8)"""
BASH = """# bash completion for midpath; scripts/shell_files.py wrote it.
_midpath() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" path="" word words=""
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$path $word" in
            {paths}) path="$path $word" ;;
        esac
    done
    case "$path" in
{cases}
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}
complete -o default -F _midpath midpath
"""
ZSH = """#compdef midpath
# zsh completion for midpath; scripts/shell_files.py wrote it.
_midpath() {{
    local path_="" word
    local -a words_
    for word in "${{(@)words[2,CURRENT-1]}}"; do
        case "$path_ $word" in
            {paths}) path_="$path_ $word" ;;
        esac
    done
    case "$path_" in
{cases}
    esac
    _describe midpath words_ || _files
}}
_midpath "$@"
"""
FISH = "# fish completion for midpath; scripts/shell_files.py wrote it.\n"


@dataclass(frozen=True)
class Word:
    """An option or a command that may come next."""

    text: str
    help: str


@dataclass(frozen=True)
class Command:
    """One command of the tree."""

    path: tuple[str, ...]
    help: str
    arguments: tuple[str, ...]
    options: tuple[tuple[tuple[str, ...], str, str], ...]
    inner: tuple[Word, ...]

    def words(self) -> list[Word]:
        """What may come after it."""
        options = [Word(name, about) for names, _, about in self.options for name in names if name.startswith("--")]
        return [*self.inner, *options]


def walk(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each command, those of a group after the group, with the words that call it."""
    yield path, command
    for name, one in inner(command).items():
        yield from walk(one, (*path, name))


def inner(command: Any) -> dict[str, Any]:
    """The commands of a group."""
    found: dict[str, Any] = getattr(command, "commands", {})
    return found


def commands(command: Any) -> Iterator[Command]:
    """Each command, those of a group after the group."""
    for path, one in walk(command):
        yield Command(
            path,
            one.help or "",
            tuple(param.metavar or param.name.upper() for param in one.params if param.param_type_name == "argument"),
            (*(_option(param) for param in _options(one)), (HELP, "", "Show this message and exit.")),
            tuple(Word(name, first_sentence(next_one.help)) for name, next_one in inner(one).items()),
        )


def _options(command: Any) -> Iterator[Any]:
    for param in command.params:
        if param.param_type_name == "option" and not LEFT_OUT & set(param.opts):
            yield param


def _option(param: Any) -> tuple[tuple[str, ...], str, str]:
    value = "" if param.is_flag else param.metavar or "VALUE"
    return (*param.opts, *param.secondary_opts), value, param.help or ""


def first_sentence(text: str | None) -> str:
    """Up to the first full stop or colon at the end of a word."""
    return re.split(r"[.:](?:\s|$)", text or "", maxsplit=1)[0].replace("\n", " ")


def roff(text: str) -> str:
    """Text that troff prints as it stands."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", safe, flags=re.MULTILINE)


def manual(found: list[Command]) -> str:
    """The man page: a section for all commands, a paragraph for each."""
    lines = [MAN_HEAD.format(about=roff(first_sentence(found[0].help)))]
    for one in found:
        if one.inner and one.path:
            continue
        name = " ".join(("midpath", *one.path))
        arguments = "".join(f" \\fI{roff(argument)}\\fR" for argument in one.arguments)
        lines.append(f".SS \\fB{roff(name)}\\fR{arguments}" if one.path else ".SS Without a command")
        if one.path:
            lines.append(roff(one.help).replace("\n\n", "\n.PP\n"))
        for names, value, about in one.options:
            if one.path and names == HELP:
                continue
            heads = ", ".join(f"\\fB{roff(name)}\\fR" for name in names)
            lines += [".TP", heads + (f" \\fI{roff(value)}\\fR" if value else ""), roff(about)]
    return "\n".join([*lines, MAN_TAIL]) + "\n"


def bash(found: list[Command]) -> str:
    """A case for each command."""
    cases = [f'        "{_path(one)}") words="{" ".join(word.text for word in one.words())}" ;;' for one in found]
    return BASH.format(paths=_paths(found), cases="\n".join(cases))


def zsh(found: list[Command]) -> str:
    """The same with what each word is for."""
    cases = []
    for one in found:
        words = " ".join(_quoted(f"{word.text}:{word.help}") for word in one.words())
        cases.append(f'        "{_path(one)}") words_=({words}) ;;')
    return ZSH.format(paths=_paths(found), cases="\n".join(cases))


def fish(found: list[Command]) -> str:
    """A line for each word."""
    lines = []
    groups = " ".join(one.path[0] for one in found if one.inner and one.path)
    for one in found:
        seen = [f"__fish_seen_subcommand_from {name}" for name in one.path]
        others = " ".join(word.text for word in one.inner)
        if one.inner:
            seen.append(f"not __fish_seen_subcommand_from {others}")
        elif len(one.path) == 1:
            # `run` is also a command of groups.
            seen.append(f"not __fish_seen_subcommand_from {groups}")
        condition = "; and ".join(seen)
        begin = f'complete -c midpath -n "{condition}"' if seen else "complete -c midpath"
        lines += [f"{begin} -a {word.text} -d {_quoted(word.help)}" for word in one.inner]
        for names, value, about in one.options:
            for name in names:
                option = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                lines.append(f"{begin} {option}{' -r' if value else ''} -d {_quoted(about)}")
    return FISH + "\n".join(lines) + "\n"


def _path(one: Command) -> str:
    return "".join(f" {word}" for word in one.path)


def _paths(found: list[Command]) -> str:
    return " | ".join(f'"{_path(one)}"' for one in found if one.path)


def _quoted(text: str) -> str:
    safe = text.replace("'", "’")
    return f"'{safe}'"


def files() -> dict[Path, str]:
    """What is written, by place."""
    found = list(commands(typer.main.get_command(app)))
    return {
        SHARE / "man" / "man1" / "midpath.1": manual(found),
        SHARE / "bash-completion" / "completions" / "midpath": bash(found),
        SHARE / "zsh" / "site-functions" / "_midpath": zsh(found),
        SHARE / "fish" / "vendor_completions.d" / "midpath.fish": fish(found),
    }


def main() -> int:
    """Writes the files, or checks them."""
    wanted = files()
    if "--check" in sys.argv[1:]:
        return int(any(not path.is_file() or path.read_text(encoding="utf-8") != text for path, text in wanted.items()))
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
