import pytest

from illume.cli.errors import LONGEST, Code, CommandError, UsageError, code_of, one_line


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (CommandError("a\n  b"), 1, "a b"),
        (UsageError("a"), 2, "a"),
        (ValueError("a"), 1, "a"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 1, "not enough memory; give fewer rows at a time"),
        (
            PermissionError(13, "Permission denied", "a.csv"),
            1,
            "a.csv may not be read or written; check its permissions",
        ),
        (OSError(28, "No space left on device", "a.csv"), 1, "a.csv cannot be used: No space left on device"),
        (
            ZeroDivisionError("a"),
            1,
            "unexpected ZeroDivisionError: a; run it again with --debug for the traceback",
        ),
    ],
)
def test_every_error_is_one_line_and_a_code(error, code, said):
    assert (code_of(error), one_line(error)) == (code, said)


def test_a_reader_that_left_has_its_own_code():
    assert code_of(BrokenPipeError()) is Code.PIPE_CLOSED


def test_a_long_story_is_cut():
    assert one_line(CommandError("x" * 5000)) == "x" * LONGEST + " … (--debug shows all)"
