"""One table of options: named as in Python, and spelled in errors as on the command line."""

from inspect import signature
from typing import get_type_hints

import pytest
import typer

from illume import Explainer
from illume.cli.app import app
from illume.cli.messages import CommandError, ExitCode, error_line, exit_code, flag
from illume.cli.options import AttributionOptions, CounterfactualOptions, RuleOptions, Wishes
from illume.errors import OptionError, Setting, UnknownCategoryError

METHODS = {
    AttributionOptions: Explainer.__call__,
    RuleOptions: Explainer.rules,
    Wishes: Explainer.counterfactuals,
    CounterfactualOptions: Explainer.counterfactuals,
}
COMMANDS = typer.main.get_command(app).commands


def flags(command):
    return {each.name: each.opts for each in COMMANDS[command].params}


@pytest.mark.parametrize("kind", METHODS)
def test_options_are_those_of_the_librarys_method(kind):
    known = {*signature(METHODS[kind]).parameters, "threshold"}  # of attributions, one asks the explainer
    assert set(get_type_hints(kind)) <= known


def test_options_of_counterfactuals_are_the_same_in_all_commands():
    for command in ("explain", "report", "explore", "serve"):
        given = {each.name: each for each in COMMANDS[command].params}
        for name in get_type_hints(Wishes):
            same = next(each for each in COMMANDS["explain"].params if each.name == name)
            assert (given[name].opts, given[name].help) == (same.opts, same.help)


def test_errors_name_every_option_as_the_command_line_does():
    found = flags("explain") | flags("explore") | flags("fit")
    for kind in METHODS:
        for name in get_type_hints(kind):
            assert flag(Setting(name)) in found[name]
    for setting in (Setting("output_names"), Setting("link"), Setting("twin"), Setting("rows")):
        assert any(flag(setting) in each for each in found.values())
    no_hold = next(each for each in COMMANDS["explore"].params if each.name == "hold_model")
    assert flag(Setting("hold_model", value=False)) in no_hold.secondary_opts


@pytest.mark.parametrize("name", ["quiet", "debug"])
def test_every_command_can_be_quiet_and_can_show_tracebacks(name):
    assert all(name in flags(command) for command in COMMANDS)


def test_only_settings_are_spelled_as_options_and_values_of_the_user_stay():
    error = OptionError(Setting("desired_class"), " 'threshold' is not known; use ", Setting("threshold"))
    assert str(error) == "desired_class 'threshold' is not known; use threshold"
    assert error_line(error) == "--desired 'threshold' is not known; use --threshold"
    assert (error.option, exit_code(error)) == ("desired_class", ExitCode.USAGE)


def test_errors_without_settings_read_as_in_python_and_categories_name_the_option():
    assert error_line(CommandError("twin='learned'")) == "twin='learned'"
    error = UnknownCategoryError("town", "'Ulm'", 3, "", "map it", "new.csv")
    assert "in row 3 of new.csv" in error_line(error)
    assert error_line(error).endswith("with --unknown ignore")
