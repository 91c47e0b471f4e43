"""Options that commands share. Every setting is an option: --section.key VALUE.

    @click.command()
    @env_argument
    @takes_settings
    @click.option("--tag")
    def command(env, settings, tag):
        config = resolve(find_env(env), settings)

Order does not matter: `train my_env --tag x --train.seed 3` is `train --train.seed=3 my_env
--tag x`. Values are checked by config.resolve, which knows the environment.
"""
from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from ..base import trust, ui
from ..base.errors import UsageError, nearest
from ..settings.key_hints import RENAMED, SHORT, meant
from ..settings.table import KEYS, used_keys
from . import completing

if TYPE_CHECKING:
    from click.parser import _OptionParser

Decorated = TypeVar("Decorated", bound=Callable[..., Any] | click.Command)

env_argument = click.argument("env", required=False, metavar="[ENV]",
                              shell_complete=completing.envs)
format_option = click.option("--format", "format_", type=click.Choice(["text", "json"]),
                             default="text", show_default=True,
                             help="text for people, json for programs.")
runs_dir_option = click.option("--runs-dir", type=click.Path(file_okay=False, path_type=Path),
                               help="The folder of all runs.  [default: runs/ of the project]")
model_option = click.option(
    "--load-model-path", "model", metavar="MODEL", default="best", show_default=True,
    shell_complete=completing.models,
    help="The policy: 'best' or 'latest' of the newest run, a run's number or folder (its best), "
         "a checkpoint file, or PufferLib's weights (.bin).")


def _say_more(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    ui.verbose = value
    return value


verbose_option = click.option("--verbose", "-v", is_flag=True, callback=_say_more,
                              help="Print compiler commands and ini settings without effect.")


def _trust(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    trust.asks = not ctx.resilient_parsing
    if value and not ctx.resilient_parsing:
        trust.trust_everything()
    return value


trust_option = click.option("--trust", is_flag=True, expose_value=False, callback=_trust,
                            help="Trust the code and storage that another person's run, checkpoint "
                                 "or sweep names.")

_SETTING = re.compile(r"--([A-Za-z_][\w-]*\.[\w.-]+)(?:=(.*))?", re.DOTALL)
_NEGATIVE = re.compile(r"-(\d|\.\d|inf|nan)", re.IGNORECASE)


def takes_settings(command: Decorated) -> Decorated:
    """Decorator: the command accepts --section.key options and gets them as `settings`, and the
    file of --config as `ini`."""
    file = click.Option(["--config", "ini"], metavar="FILE", help="Settings that override the "
                        "environment's ini, such as a sweep's best.ini.",
                        type=click.Path(exists=True, dir_okay=False, path_type=Path))
    option = _Settings(["--section.key", "settings"], metavar="VALUE", type=click.UNPROCESSED,
                       help="Any setting, such as --train.learning-rate 0.01; `puffer-sdk config "
                            "ENV` lists all.")
    if isinstance(command, click.Command):
        command.params += [option, file]
    else:
        command.__dict__.setdefault("__click_params__", []).extend([file, option])
    return command


class _AnySetting(list[str]):
    """The option's names, for shell completion: every --section.key is one of them."""

    asked = ""          # the name that was looked up last

    def __contains__(self, name: object) -> bool:
        self.asked = str(name) if _SETTING.fullmatch(str(name)) else self.asked
        return self.asked == name or super().__contains__(name)


class _Settings(click.Option):
    """Takes the --section.key options out of the arguments before click sees the rest."""

    any_setting = _AnySetting()

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Values of the setting that click has just found among our names."""
        return completing.setting_values(self.any_setting.asked, incomplete)

    def add_to_parser(self, parser: _OptionParser, ctx: click.Context) -> None:
        parse_args = parser.parse_args

        def parse(args: list[str]) -> tuple[dict[str, object], list[str], list[click.Parameter]]:
            if ctx.resilient_parsing:               # completion: half a line is no error
                self.opts = self.any_setting = _AnySetting(self.opts)
                gathered: dict[str, str] = {}
                rest = drop_settings(args)
            else:
                gathered, rest = gather_settings(args)
            try:
                values, left, order = parse_args(args=rest)
            except click.NoSuchOption as error:
                raise _unknown_option(error) from None
            values["settings"] = gathered
            return values, left, order

        vars(parser)["parse_args"] = parse

    def value_from_envvar(self, ctx: click.Context) -> None:
        return None


def gather_settings(args: list[str]) -> tuple[dict[str, str], list[str]]:
    """Settings {'train.learning_rate': '0.01'} and the other arguments.

    If an option comes twice, the last one counts. Raises UsageError for one without a value.
    """
    settings: dict[str, str] = {}
    rest: list[str] = []
    args = list(args)
    while args:
        arg = args.pop(0)
        match = _SETTING.fullmatch(arg)
        if arg == "--":
            rest += [arg, *args]
            break
        if not match:
            rest.append(arg)
            continue
        name, value = match[1].replace("-", "_"), match[2]
        if value is None:
            if not args or (args[0].startswith("-") and not _NEGATIVE.match(args[0])):
                raise _missing_value(arg, name, args[0] if args else None)
            value = args.pop(0)
        settings.pop(name, None)
        settings[name] = value
    return settings, rest


def drop_settings(args: list[str]) -> list[str]:
    """The arguments that are not settings, of a line that is still being typed."""
    try:
        return gather_settings(args)[1]
    except UsageError:                              # the last one has no value yet
        return drop_settings(args[:-1])


def _missing_value(arg: str, name: str, following: str | None) -> UsageError:
    key = KEYS.get(name)
    hint = f"{arg} VALUE, or {arg}=VALUE if the value begins with a dash"
    if key is None and not name.startswith("env."):
        close = meant(*name.split(".", 1))
        hint = f"did you mean {close.flag}?" if close else hint
    return UsageError(f"{arg} has no value", where="command line",
                      expected=key.expected if key else "a value",
                      actual=following if following is not None else "nothing", hint=hint)


def _unknown_option(error: click.NoSuchOption) -> UsageError:
    """The same error, with a hint at the setting that may have been meant."""
    option = error.option_name
    word = option.lstrip("-").replace("-", "_")
    exact = [key.flag for key in used_keys() if key.name == word]
    if other := SHORT.get(word) or (not exact and RENAMED.get(word)):
        exact = [KEYS[other].flag]
    own = [name for name in error.possibilities or [] if name.startswith("--")]
    if exact:
        hint = f"did you mean {' or '.join(exact)}?"
    elif own:
        hint = f"did you mean {' or '.join(own)}?"
    else:
        close = nearest(word, [key.name for key in used_keys()])
        flags = [key.flag for key in used_keys() if key.name == close]
        path = error.ctx.command_path if error.ctx else "puffer-sdk"
        hint = f"did you mean {' or '.join(flags)}?" if flags else f"{path} --help"
    return UsageError(f"there is no option {option}", where="command line", hint=hint)
