"""Handlers for the steps of a conda environment. Undo is the transaction's: the generation is deleted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from provision.condaprefix import conda_labels, conda_owners
from provision.messages import joined, message
from provision.model.finding import ApplyError, Evidence, Finding, Remedy
from provision.model.plan import Step
from provision.ports import CondaInstaller

if TYPE_CHECKING:
    from provision.applying.steps import Context


class CreatePrefix:
    """An empty folder that every tool takes for a conda environment."""

    def do(self, context: Context, steps: Sequence[Step]) -> None:
        files = context.effects.files
        files.make_folder(context.folder)
        files.make_folder(str(PurePath(context.folder) / "conda-meta"))
        files.write(str(PurePath(context.folder) / "conda-meta" / "history"), "")

    def holds(self, context: Context, steps: Sequence[Step]) -> bool:
        return (
            context.effects.files.stat(str(PurePath(context.folder) / "conda-meta" / "history")) is not None
        )


class FetchConda:
    def do(self, context: Context, steps: Sequence[Step]) -> None:
        total = sum(step.args["size"] or 0 for step in steps)
        context.effects.reporter.start(message("applying.stage.fetching"), total or None)
        gather(context)
        context.effects.reporter.stage(
            message("applying.stage.fetched"),
            message("applying.fetched.conda", count=len(steps), size=f"{total / 1e6:,.1f}"),
        )

    def holds(self, context: Context, steps: Sequence[Step]) -> bool:
        return all(context.effects.files.stat(path) for path in context.conda_files.values())


def gather(context: Context) -> None:
    """Every conda package of the lock as a local file, its hash checked."""
    if not context.conda_files:
        found = engine(context).fetch(context.lock.conda, context.effects.reporter.advance)
        context.conda_files = dict(found)


def engine(context: Context) -> CondaInstaller:
    assert context.effects.conda is not None, "a conda lock is applied with an engine for conda"
    return context.effects.conda


class InstallConda:
    def do(self, context: Context, steps: Sequence[Step]) -> None:
        gather(context)
        asked = [step.subject for step in steps if step.args.get("asked")]
        engine(context).install(
            context.folder, context.layout.environment, context.lock.conda, context.conda_files, asked
        )
        context.effects.reporter.stage(
            message("applying.stage.installed"), message("applying.installed.conda", count=len(steps))
        )
        self._scripts(context)

    def _scripts(self, context: Context) -> None:
        """Post-link scripts run where the profile says so, in the order of the lock; the others are named."""
        left = []
        for artifact in context.lock.conda:
            script = _script(context, artifact.name)
            if script is None:
                continue
            if artifact.name in context.lock.link_scripts:
                engine(context).run_script(context.folder, script, artifact)
                context.effects.reporter.stage(
                    message("applying.stage.ran"), message("applying.ran.script", name=artifact.name)
                )
            else:
                left.append((artifact.name, script))
        if left:
            context.effects.reporter.note(_not_run(left))

    def holds(self, context: Context, steps: Sequence[Step]) -> bool:
        found = set(conda_labels(context.effects.files, context.folder))
        wanted = {artifact.label for artifact in context.lock.conda}
        if found != wanted:
            raise ApplyError(_other_packages(sorted(wanted - found), sorted(found - wanted)))
        return True


def _script(context: Context, name: str) -> str | None:
    for script in (f"bin/.{name}-post-link.sh", f"Scripts/.{name}-post-link.bat"):
        if context.effects.files.stat(str(PurePath(context.folder) / script)) is not None:
            return script
    return None


def check_owners(context: Context) -> None:
    """One writer a package: no wheel may have written over what conda owns. Raises ApplyError."""
    doubles = [double for double in conda_owners(context.effects.files, context.folder) if double.shared]
    if doubles:
        raise ApplyError(tuple(_two_owners(d.distribution, d.conda, d.shared) for d in doubles))


def _two_owners(distribution: str, conda: str, shared: int) -> Finding:
    return Finding(
        "two-owners", "error",
        message("applying.two-owners.summary", distribution=distribution, shared=shared, conda=conda),
        remedies=(Remedy(message("applying.two-owners.way")),),
    )  # fmt: skip


def _not_run(left: Sequence[tuple[str, str]]) -> Finding:
    names = ", ".join(name for name, _ in left)
    return Finding(
        "link-scripts-not-run", "warning",
        message("applying.link-scripts-not-run.summary", names=names),
        detail=message("applying.link-scripts-not-run.detail"),
        evidence=tuple(Evidence(script, name) for name, script in left),
        remedies=(Remedy(message("applying.link-scripts-not-run.way", names=names)),),
    )  # fmt: skip


def _other_packages(missing: Sequence[str], unwanted: Sequence[str]) -> Finding:
    parts = [message("applying.install-incomplete.missing-conda", names=missing)] if missing else []
    parts += [message("applying.install-incomplete.unwanted-conda", names=unwanted)] if unwanted else []
    return Finding(
        "install-incomplete",
        "error",
        message("applying.install-incomplete.summary", parts=joined(parts, "; ")),
    )
