"""Progress for people: one line a finished stage, a bar with bytes while something long runs."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from provision.cli.language import local
from provision.cli.rendering import pad, paint, print_findings, say, size
from provision.model.finding import Finding

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class HumanReporter:
    """A Reporter on stderr (stdout stays for results). The bar shows on a terminal only."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._done = 0
        self._began = time.monotonic()

    def stage(self, title: str, text: str) -> None:
        self._close()
        if not self._quiet:
            say(f"  {paint(pad(local(title), 13), sys.stderr, fg='green')}{local(text)}", err=True)

    def start(self, title: str, total: int | None = None) -> None:
        self._close()
        title = local(title)
        self._done, self._began = 0, time.monotonic()
        if self._quiet or not sys.stderr.isatty():
            if not self._quiet and total:
                say(f"  {pad(title, 13)}{size(total)}", err=True)
            return
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TransferSpeedColumn,
        )
        from rich.progress import TimeRemainingColumn as Remaining

        bytes_columns = (
            (BarColumn(), DownloadColumn(), TransferSpeedColumn(), Remaining())
            if total
            else (SpinnerColumn(),)
        )
        text = TextColumn(f"  {pad(title, 12)}")
        self._bar = Progress(text, *bytes_columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(title, total=total)
        self._bar.start()

    def advance(self, done: int) -> None:
        self._done += done
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, advance=done)

    def note(self, finding: Finding) -> None:
        if not self._quiet:
            print_findings([finding])

    def close(self) -> None:
        self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
