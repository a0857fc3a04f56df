"""The group of subcommands, and what becomes of errors: a message, and exit code 2."""

from __future__ import annotations

import sys
from typing import Any

import click

from maxmargin import __version__
from maxmargin.cli.bench import bench
from maxmargin.cli.convert import convert
from maxmargin.cli.info import info
from maxmargin.cli.predict import predict
from maxmargin.cli.train import train

SHELLS = ("bash", "zsh", "fish")


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
    maxmargin info model.mm                 what is in a file?

    Files: svmlight (the format of LIBLINEAR; also .gz, .bz2, .xz, .zst), .npz, .npy, .csv, .tsv, .parquet.
    """


for command in (train, predict, convert, info, bench):
    app.add_command(command)


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code; every foreseeable error becomes a message and code 2."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        code: Any = app.main(args=words, prog_name="maxmargin", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        error.show()
        return 2
    except (KeyboardInterrupt, click.exceptions.Abort):
        return _fail(words, "interrupted; nothing was written", 130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone, which is its right
        return 0
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        return _fail(words, what, 2)
    except MemoryError as error:
        return _fail(words, f"not enough memory{f' ({error})' if str(error) else ''}", 2)
    except (ValueError, TypeError) as error:
        return _fail(words, str(error), 2)


def _fail(words: list[str], message: str, code: int) -> int:
    if "--json" in words:
        import json

        click.echo(json.dumps({"error": message}))
    click.echo(f"maxmargin: {message}", err=True)
    return code
