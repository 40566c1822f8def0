"""The handlers of a change in place: distributions and litter go to the trash, wheels are installed where nothing is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from provision.applying.in_place import before_place, is_plain, put_away, read_before, walk
from provision.applying.steps import Context, Handler, gather, mend_sizes, refuse_hostile
from provision.condaprefix import owned_files
from provision.messages import message
from provision.model.finding import ApplyError, Evidence, Finding, Remedy
from provision.model.inventory import Inventory
from provision.model.plan import Step

if TYPE_CHECKING:
    from provision.ports import LocalFile


class RemovePackages:
    """Distributions of the inventory, by their metadata folder; files that another one owns too stay."""

    def do(self, context: Context, steps: Sequence[Step]) -> None:
        inventory = _inventory(context)
        infos = {step.args["info"] for step in steps}
        gone = {one.info: one for one in inventory.distributions if one.info in infos}
        kept = {path for one in inventory.distributions if one.info not in infos for path in one.files}
        paths = {path for one in gone.values() for path in one.files} - kept
        for info in gone:
            paths |= {
                info,
                *(f"{info}/{p}" for p in walk(context.effects.files, f"{context.folder}/{info}", "")),
            }
        put_away(context.effects.files, context.layout, paths, inventory.packages)
        context.effects.reporter.stage(
            message("applying.stage.removed"), ", ".join(step.subject for step in steps)
        )

    def holds(self, context: Context, steps: Sequence[Step]) -> bool:
        return not any(context.effects.files.stat(f"{context.folder}/{step.args['info']}") for step in steps)


class RemoveLitter:
    def do(self, context: Context, steps: Sequence[Step]) -> None:
        files, inventory = context.effects.files, _inventory(context)
        known = {*inventory.litter, *inventory.unowned}
        for path in (step.args["path"] for step in steps if step.args["path"] in known):
            inner = {path, *(f"{path}/{p}" for p in walk(files, f"{context.folder}/{path}", ""))}
            put_away(files, context.layout, inner, inventory.packages)
        context.effects.reporter.stage(
            message("applying.stage.removed"), message("applying.removed.remains", count=len(steps))
        )

    def holds(self, context: Context, steps: Sequence[Step]) -> bool:
        return not any(context.effects.files.stat(f"{context.folder}/{s.args['path']}") for s in steps)


class InstallInPlace:
    """What stands where a wheel will write, whoever put it there, goes to the trash first: installing only adds."""

    def do(self, context: Context, steps: Sequence[Step]) -> None:
        gather(context)
        wheels = [context.wheels[step.args["sha256"]] for step in steps]
        refuse_hostile(context, wheels)
        installer, files = context.effects.installer, context.effects.files
        coming = list(installer.places(context.folder, wheels))
        known: dict[str, bool] = {}
        if linked := [path for path in coming if not is_plain(files, context.folder, path, known)]:
            raise ApplyError(_linked(context.folder, linked))
        if theirs := sorted(owned_files(files, context.folder).intersection(coming)):
            raise ApplyError(_of_conda(context.folder, theirs))
        self._note(context, coming)
        put_away(files, context.layout, coming, _inventory(context).packages)
        installer.install(context.folder, wheels)
        mend_sizes(context, wheels)
        context.begun_check = installer.begin_contents_check(context.folder, wheels)
        context.effects.reporter.stage(
            message("applying.stage.installed"), message("applying.installed.packages", count=len(steps))
        )

    def _note(self, context: Context, coming: list[str]) -> None:
        before, _ = read_before(context.effects.files, context.layout)
        text = json.dumps({"paths": sorted(before), "coming": coming})
        context.effects.files.write(before_place(context.layout), text)

    def holds(self, context: Context, steps: Sequence[Step]) -> bool:
        wheels: list[LocalFile] = [context.wheels[step.args["sha256"]] for step in steps]
        return not context.effects.installer.wrong_sizes(context.folder, wheels)


def _linked(environment: str, paths: Sequence[str]) -> Finding:
    return Finding(
        "planted-link",
        "error",
        message("applying.planted-link.summary-2", environment=environment, paths=paths[0]),
        remedies=(Remedy(message("applying.planted-link.way-2")),),
    )


def _of_conda(environment: str, paths: Sequence[str]) -> Finding:
    return Finding(
        "conda-managed", "error",
        message("applying.conda-managed.summary", path=paths[0]),
        detail=message("applying.conda-managed.detail", count=len(paths)), evidence=(Evidence(f"{environment}/conda-meta"),),
        remedies=(Remedy(message("applying.conda-managed.way"), "provision apply PROFILE --environment .venv-gpu"),),
    )  # fmt: skip


def _inventory(context: Context) -> Inventory:
    if context.inventory is None:
        raise ApplyError(Finding("no-inventory", "error", message("applying.no-inventory.summary")))
    return context.inventory


IN_PLACE: dict[tuple[str, str], Handler] = {
    ("remove", "package"): RemovePackages(),
    ("remove", "litter"): RemoveLitter(),
    ("install", "in-place"): InstallInPlace(),
}
