"""The command line: `mnistpro-replay [GLOBAL] COMMAND [GLOBAL] ...`."""

from __future__ import annotations

import sys

import typer

from . import (
    analyze,
    audit,
    beliefs,
    context,
    counterfactual,
    dashboard,
    export,
    formats,
    ingest,
    replay,
    report,
    run,
    store,
    world,
)
from .context import OPTIONS, NotHeld, UsageError, stop

app = typer.Typer(
    name="mnistpro-replay",
    help="Trajectory analysis and replay for glimpse-based perception.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Global options, before or after the command: --store PATH  --config FILE  --json  -q  -v",
)


@app.callback()
def _globals() -> None:
    """Trajectory analysis and replay for glimpse-based perception."""


_MODULES = (
    world,
    ingest,
    run,
    store,
    replay,
    analyze,
    audit,
    counterfactual,
    beliefs,
    report,
    dashboard,
    formats,
    export,
)
for module in _MODULES:
    module.register(app)


def main() -> None:
    """Run a command; every failure is one line on stderr and an exit status."""
    try:
        arguments = context.take_globals(sys.argv[1:])
        app(args=arguments, prog_name="mnistpro-replay", standalone_mode=True)
    except UsageError as error:
        stop(str(error), 2)
    except NotHeld as error:
        stop(str(error), 1)
    except KeyboardInterrupt:
        stop("interrupted; the same command goes on where it was", 130)
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(0) from None
    except Exception as error:
        if OPTIONS.verbose:
            raise
        _explain(error)


def _explain(error: Exception) -> None:
    from ..schemas import StopAsking
    from ..schemas.extras import MissingExtra
    from ..traces.ingest import NothingFound
    from ..traces.store import StoreError

    wrong_call = (StoreError, NothingFound, MissingExtra, StopAsking, BlockingIOError, FileNotFoundError)
    if isinstance(error, wrong_call):
        stop(str(error), 2)
    stop(f"{type(error).__name__}: {error} (-v shows where)", 1)


if __name__ == "__main__":
    main()
