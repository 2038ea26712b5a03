"""The command as other programs see it: streams, exit codes, speed."""

import os
import signal
import subprocess
import sys

import pytest

import illume
from illume.cli.messages import MAX_LENGTH, CommandError, ExitCode, UsageError, error_line, exit_code

ILLUME = (sys.executable, "-m", "illume")


def illume_process(*words, **options):
    return subprocess.run([*ILLUME, *map(str, words)], capture_output=True, text=True, check=False, **options)


def test_help_loads_nothing_heavy_and_lists_commands_and_exit_codes():
    code = (
        "import sys\nsys.argv = ['illume', '--help']\nfrom illume.cli import main\n"
        "try:\n    main()\nexcept SystemExit as left:\n    assert left.code == 0\n"
        "print({'torch', 'sklearn', 'pandas', 'pyarrow', 'matplotlib', 'scipy', 'fastapi'}"
        " & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines()[-1] == "set()"
    assert all(
        f"│ {name} " in answer.stdout
        for name in ("demo", "fit", "explain", "report", "serve", "show", "rules")
    )
    assert all(f" {code}  " in answer.stdout for code in (0, 1, 2, 130, 141))


@pytest.mark.parametrize(("given", "found"), [(None, "20"), ("26", "26")])
def test_threads_that_wait_for_linear_algebra_are_told_to_sleep_soon_before_it_is_loaded(given, found):
    code = (
        "import os, sys\nsys.argv = ['illume', '--version']\nfrom illume.cli import main\n"
        "assert 'numpy' not in sys.modules\ntry:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(os.environ['OPENBLAS_THREAD_TIMEOUT'])"
    )
    before = {name: value for name, value in os.environ.items() if name != "OPENBLAS_THREAD_TIMEOUT"}
    env = before | ({} if given is None else {"OPENBLAS_THREAD_TIMEOUT": given})
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert answer.stdout.splitlines()[-1] == found


def processor_seconds(*command):
    before = os.times()
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def test_help_takes_less_than_half_the_processor_time_of_importing_scikit_learn():
    # A ratio from one run: seconds depend on the processor and on what else it does.
    limit = processor_seconds(sys.executable, "-c", "import sklearn.ensemble")
    for words in [("--help",), ("--version",), ("fit", "--help")]:
        assert 0.0 < processor_seconds(*ILLUME, *words) < 0.5 * limit


def test_the_version_is_the_librarys():
    assert illume_process("--version").stdout == f"illume {illume.__version__}\n"


def test_without_words_help_is_shown(run):
    answer = run()
    assert answer.exit_code == 0
    assert "Usage: illume" in answer.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("fot",), "error: No such command 'fot'. Did you mean 'fit'? see illume --help\n"),
        (("show",), "error: Missing argument 'EXPLAINER'; see illume show --help\n"),
        (("show", "a.illume", "--jsn"), "error: No such option: --jsn"),
        (("explain", "a.illume", "b.csv", "--kind", "shap"), "error: Invalid value for '--kind'"),
        (("serve", "a.illume", "--timeout", "0"), "error: Invalid value for '--timeout'"),
        (("serve", "a.illume", "--max-rows", "0"), "error: Invalid value for '--max-rows'"),
    ],
)
def test_wrong_words_are_one_line_and_2(words, said):
    answer = illume_process(*words)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith(said)
    assert answer.stderr.count("\n") == 1


def test_a_failure_is_one_line_and_1_and_a_traceback_only_with_debug():
    words = ("show", "absent.illume")
    answer = illume_process(*words)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr == "error: the explainer absent.illume does not exist; create it with `illume fit`\n"
    debugged = illume_process(*words, "--debug")
    assert debugged.returncode == 1
    assert debugged.stderr.startswith("Traceback")
    assert debugged.stderr.endswith(answer.stderr)


def test_completion_can_be_had_and_knows_the_commands():
    setting = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    answer = illume_process("--show-completion", "bash", env=os.environ | setting)
    assert "_ILLUME_COMPLETE" in answer.stdout
    asked = {"_ILLUME_COMPLETE": "complete_bash", "COMP_WORDS": "illume r", "COMP_CWORD": "1"}
    assert illume_process(env=os.environ | asked).stdout.split() == ["rules", "report"]


def test_an_interrupt_is_130_and_leaves_no_file(folder, own_model, tmp_path):
    out, model = tmp_path / "loans.illume", ("--trust-model", "--model", own_model)
    words = ("fit", folder / "loans.csv", "--target", "decision", "--twin", "learned", *model, "-o", out)
    process = subprocess.Popen(
        [*ILLUME, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for line in process.stderr:
        if line.startswith("Fitting"):
            break
    process.send_signal(signal.SIGINT)
    shown, said = process.communicate(timeout=30)
    assert (process.returncode, shown) == (130, "")
    assert said.splitlines()[-1] == "error: interrupted"
    assert not list(tmp_path.iterdir())


def test_a_missing_typer_is_named(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['typer'] = None\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    answer = illume_process("--help", env=os.environ | {"PYTHONPATH": path})
    assert answer.returncode == 1
    assert answer.stderr == 'error: this needs typer; install it with: pip install "illume[cli]"\n'


def test_a_pipe_that_closes_early_ends_it_quietly(explainer, folder):
    words = [*ILLUME, "explain", explainer, folder / "new.csv", "--kind", "rules", "--json", "--quiet"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()  # as `head` does once it has seen enough
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_stdout_is_utf8_in_any_locale(explainer, folder):
    words = [*ILLUME, "explain", explainer, folder / "new.csv", "--kind", "rules", "--quiet"]
    asked = os.environ | {"PYTHONIOENCODING": "ascii"}
    answer = subprocess.run(words, capture_output=True, check=True, env=asked)
    assert "≤" in answer.stdout.decode("utf-8")
    assert answer.stderr == b""


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (CommandError("a\n  b"), 1, "a b"),
        (UsageError("a"), 2, "a"),
        (ValueError("a"), 1, "a"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 1, "not enough memory; use fewer rows at a time"),
        (
            PermissionError(13, "Permission denied", "a.csv"),
            1,
            "a.csv may not be read or written; check its permissions",
        ),
        (OSError(28, "No space left on device", "a.csv"), 1, "a.csv cannot be used: No space left on device"),
        (
            ZeroDivisionError("a"),
            1,
            "unexpected ZeroDivisionError: a; run again with --debug for the traceback",
        ),
    ],
)
def test_every_error_is_error_line_and_a_code(error, code, said):
    assert (exit_code(error), error_line(error)) == (code, said)


def test_a_long_message_is_cut_and_a_closed_pipe_has_its_own_code():
    assert exit_code(BrokenPipeError()) is ExitCode.PIPE_CLOSED
    assert error_line(CommandError("x" * 5000)) == "x" * MAX_LENGTH + " … (--debug shows all)"
