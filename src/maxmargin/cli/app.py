"""The group of subcommands, and what becomes of errors: a message, and exit code 2."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from maxmargin import __version__
from maxmargin.cli.bench import bench
from maxmargin.cli.convert import convert
from maxmargin.cli.cv import cv
from maxmargin.cli.info import info
from maxmargin.cli.path import path
from maxmargin.cli.predict import predict
from maxmargin.cli.train import train

SHELLS = ("bash", "zsh", "fish")
#: Options of LIBLINEAR that are none here.
LIBLINEAR_LETTERS = ("-s", "-e", "-B", "-R", "-w", "-m", "-p", "-n", "-M")


def _print_completion(context: click.Context, _: click.Parameter, shell: str | None) -> None:
    if shell is None:
        return
    from click.shell_completion import get_completion_class

    make = get_completion_class(shell)
    assert make is not None  # click has all of SHELLS
    click.echo(make(context.command, {}, "maxmargin", "_MAXMARGIN_COMPLETE").source())
    context.exit()


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done; 1 the tolerance was not reached (the model is written all the same); 2 bad input.",
)
@click.version_option(__version__, prog_name="maxmargin")
@click.option(
    "--completion",
    type=click.Choice(SHELLS),
    callback=_print_completion,
    expose_value=False,
    is_eager=True,
    help='Print the completion script of a shell; for bash, add  eval "$(maxmargin --completion bash)"  to ~/.bashrc.',
)
def app() -> None:
    """Train linear support vector machines to a certified accuracy.

    \b
    maxmargin train train.svm model.mm      learn from a file
    maxmargin predict test.svm model.mm     how good is it on another file?
    maxmargin cv train.svm                  which C is best?
    maxmargin path train.svm                what does C do?
    maxmargin info model.mm                 what is in a file?

    Files: svmlight (the format of LIBLINEAR; also .gz, .bz2, .xz, .zst), .npz, .npy, .csv, .tsv, .parquet.
    """


for command in (train, predict, cv, path, convert, info, bench):
    app.add_command(command)


def run(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code; every foreseeable error becomes a message and code 2."""
    words = sys.argv[1:] if arguments is None else arguments
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the caller: its words go nowhere
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    try:
        code: Any = app.main(args=words, prog_name="maxmargin", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption):
            error = click.UsageError(error.format_message() + _advice(error.option_name), error.ctx)
        _print_json(words, error.format_message())
        error.show()
        return 2
    except (KeyboardInterrupt, click.exceptions.Abort):
        return _fail(words, f"interrupted; {_left(words)}", 130)
    except Terminated:
        return _fail(words, f"terminated; {_left(words)}", 143)
    except (BrokenPipeError, SystemExit):  # click exits when the reader of our output has gone, which is its right
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        return 0
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        return _fail(words, what, 2)
    except MemoryError as error:
        return _fail(words, f"not enough memory{f' ({error})' if str(error) else ''}", 2)
    except ValueError as error:
        return _fail(words, str(error), 2)
    except Exception:
        import traceback

        traceback.print_exc()
        return _fail(words, "this is a bug of maxmargin; please report it with the lines above", 70)


def _left(words: list[str]) -> str:
    """What a command that was cut short has left behind."""
    kept = any(word.split("=")[0] == "--checkpoint" for word in words)
    return "no model was written; --resume goes on from the checkpoint" if kept else "no file was written"


def _advice(option: str) -> str:
    """What somebody may have meant who gave an option that is not there."""
    if option == "-c":
        return " The weight of the losses is -C; LIBLINEAR's own letters go into a text: --liblinear '-s 3 -c 1'."
    if option == "-v":
        return " Cross-validation is  maxmargin cv DATA --folds 5; or in LIBLINEAR's words: --liblinear '-v 5'."
    if option in LIBLINEAR_LETTERS:
        return f" LIBLINEAR's options go into a text of their own, such as --liblinear '{option} ...'."
    return ""


class Terminated(BaseException):
    """The process was asked to end; raised so that unfinished files are removed."""


def raise_terminated(*_: object) -> None:
    """Handle SIGTERM."""
    raise Terminated


def _fail(words: list[str], message: str, code: int) -> int:
    _print_json(words, message)
    click.echo(f"maxmargin: {message}", err=True)
    return code


def _print_json(words: list[str], message: str) -> None:
    if "--json" in words:
        import json

        # predictions on standard output are not to be mixed with anything else
        click.echo(json.dumps({"error": message}), err=words[0] == "predict" and "-" in words[3:])
