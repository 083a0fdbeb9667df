"""Commands as they were typed, to be typed again."""

import shlex
from collections.abc import Collection

import typer


def retyped(context: typer.Context, *more: str, without: Collection[str] = ("json",)) -> str:
    """The command as it was typed.

    Args:
        more: options to be added where it lacks them.
        without: parameters, by their names in Python, that are left out.
    """
    words = ["cheaptalk", str(context.info_name)]
    for one in context.command.params:
        name, value = str(one.name), context.params.get(str(one.name))
        source = context.get_parameter_source(name)
        if value is None or source is None or source.name != "COMMANDLINE" or name in without:
            continue
        if one.param_type_name == "argument":
            words.append(str(value))
        elif not isinstance(value, bool):
            for each in value if isinstance(value, list | tuple) else [value]:
                words += [one.opts[0], str(each)]
        else:
            words.append((one.opts if value else one.secondary_opts)[0])
    return shlex.join([*words, *(option for option in more if option not in words)])
