"""Every way in which a command can end has its exit status, and errors are one sentence."""

import pytest

import cheaptalk as ct
from cheaptalk.cli import main
from tests.conftest import Command


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (ct.StudyError("no [good] study"), 2, "error: no [good] study"),
        (ct.StoreError("no store"), 2, "error: no store"),
        (OSError(28, "No space left on device"), 1, "error: [Errno 28] No space left on device"),
        (FileNotFoundError(2, "No such file", "x/y"), 1, "error: x/y: No such file"),
        (BrokenPipeError(32, "Broken pipe"), 1, "error: [Errno 32] Broken pipe"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_an_error_has_a_status_and_is_told_in_one_sentence(
    cheaptalk: Command,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    status: int,
    said: str,
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setitem(main.__globals__, "app", fail)
    done = cheaptalk("games")
    assert (done.status, done.said) == (status, said)


def test_it_says_its_version(cheaptalk: Command) -> None:
    done = cheaptalk("--version")
    assert (done.status, done.out) == (0, f"cheaptalk {ct.__version__}\n")


def test_a_fault_of_the_program_itself_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setitem(main.__globals__, "app", fail)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        main()


@pytest.mark.parametrize(
    "line", [["--\u202ex"], ["run", "a", "--workers", "\u202ex"], ["run", "a", "\x1b[2Jx"]]
)
def test_what_was_typed_wrong_is_shown_by_its_codes(cheaptalk: Command, line: list[str]) -> None:
    done = cheaptalk(*line)
    assert done.status == 2
    assert "\\u202ex" in done.said or "\\x1b[2Jx" in done.said
    assert not {"\u202e", "\x1b"} & set(done.said)
