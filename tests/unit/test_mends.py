"""What an environment of somebody else needs changed, and what is left alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from provision.diagnosing.case import Case
from provision.diagnosing.environments import Distribution, Environment, Files
from provision.diagnosing.mends import Mend, mend_of, only, unchanged, widened, without
from provision.knowledge import load_knowledge
from provision.model.inventory import Installed, Inventory

KNOWLEDGE = load_knowledge()
SITE = "lib/python3.10/site-packages"
ALL = ("distribution-broken", "distribution-twice", "files-missing", "files-changed", "family-conflict",
       "requirement-missing", "requirement-conflict")  # fmt: skip


def there(
    packages: Iterable[str], requires: Mapping[str, tuple[str, ...]] | None = None, elsewhere: Iterable[str] = (),
    conda: Mapping[str, str] | None = None, **files: Any,
) -> Case:  # fmt: skip
    """A case with `name==version` in the environment's own site and in another."""

    def made(text: str, site: str) -> Distribution:
        name, _, version = text.partition("==")
        told = (requires or {}).get(name, ())
        return Distribution(
            name=name, version=version, site=site, info=f"{site}/{name}.dist-info", requires=told
        )

    found = [
        *(made(p, f"/env/{SITE}") for p in packages),
        *(made(p, "/home/me/site-packages") for p in elsewhere),
    ]
    env = Environment(
        prefix="/env", kind="venv", version="3.10.13", target="linux-x86_64", distributions=tuple(found),
        conda=conda or {},
    )  # fmt: skip
    return Case(knowledge=KNOWLEDGE, environment=env, files=Files(**files))


def holding(*installed: Installed, **more: Any) -> Inventory:
    return Inventory(
        environment="/env", maker="venv", python="3.10", packages=SITE, distributions=installed, **more
    )


def one(name: str, version: str = "1.0", **more: Any) -> Installed:
    return Installed(
        name=name, version=version, info=more.pop("info", f"{SITE}/{name}-{version}.dist-info"), **more
    )


def wishes(mend: Mend) -> list[str]:
    return [wish.requirement(name) for name, wish in mend.wanted.items()]


def test_what_is_damaged_comes_again_in_its_version() -> None:
    case = there(["a==1.0", "b==2.0", "c==3.0", "d==4.0"], changed={"c": ("c.py",)})
    stock = holding(
        one("a", missing=(f"{SITE}/a/x.py",)),
        one("b", "2.0", broken="no metadata"),
        one("c", "3.0"),
        one("d", "4.0"),
    )
    mend = mend_of(case, stock, ALL)
    assert wishes(mend) == ["a==1.0", "b==2.0", "c==3.0"]
    assert mend.stays == {"d": "4.0"}
    assert not mend_of(case, stock, ()).wanted, "only what the examination found"


@pytest.mark.parametrize(
    "harmless",
    [
        one("a", missing=("bin/a.py",)),
        one("a", missing=(f"{SITE}/a/LICENSE",)),
        one("a", broken="no RECORD", info=f"{SITE}/a-1.0.egg-info"),
    ],
)
def test_what_is_no_damage(harmless: Installed) -> None:
    assert not mend_of(there(["a==1.0"]), holding(harmless), ALL).wanted


@pytest.mark.parametrize("versions", [("2.2.6",), ("1.26.4", "2.2.6")])
def test_a_version_that_must_not_be_does_not_come_again(versions: tuple[str, ...]) -> None:
    case = there(["tensorflow-cpu==2.10.1", *(f"numpy=={v}" for v in versions)])
    stock = holding(*(one("numpy", v, missing=(f"{SITE}/numpy/x.py",)) for v in versions))
    mend = mend_of(case, stock, ALL)
    assert wishes(mend) == ["numpy"]
    assert mend.wanted["numpy"].again
    assert "numpy<2" in [patch.requirement for patch in mend.ground]


def test_extras_and_limits_of_several_wishes_are_one() -> None:
    far = ("c[y]<3", "d @ https://example.org/d.whl", "e; python_version < '3'")
    case = there(["a==1.0", "b==1.0"], {"a": ("c[x]>=2",), "b": far})
    assert wishes(mend_of(case, holding(), ALL)) == ["c[x,y]>=2,<3"]


def test_a_framework_keeps_its_version() -> None:
    case = there(["torch==2.1.0", "torchvision==0.17.0"], {"torchvision": ("torch==2.2.0",)})
    assert wishes(mend_of(case, holding(), ALL)) == ["torchvision"]


def test_of_a_family_the_required_one_stays() -> None:
    names = ["opencv-python==4.11.0", "opencv-python-headless==4.11.0"]
    mend = mend_of(there([*names, "sight==1.0"], {"sight": ("opencv-python-headless",)}), holding(), ALL)
    assert (wishes(mend), list(mend.absent)) == (["opencv-python-headless==4.11.0"], ["opencv-python"])
    of_a_person = holding(one("opencv-python", "4.11.0", direct=True))
    assert not mend_of(there(names), of_a_person, ALL).absent, "what a person built is not for removing"
    missing = there(["opencv-python==4.11.0", "sight==1.0"], {"sight": ("opencv-python-headless",)})
    assert not mend_of(missing, holding(), ALL).wanted, "it has what sight needs"


@pytest.mark.parametrize(
    ("package", "stock"),
    [
        ("own==1.0", holding(one("own", direct=True, missing=(f"{SITE}/own/x.py",)))),
        ("own==0.1-custom", holding(one("own", "0.1-custom", missing=(f"{SITE}/own/x.py",)))),
        ("a/b==1.0", holding(one("a/b", missing=(f"{SITE}/own/x.py",)))),
        ("a@b==1.0", holding(one("a@b", missing=(f"{SITE}/own/x.py",)))),
    ],
)
def test_no_index_is_asked_for_what_came_from_none(package: str, stock: Inventory) -> None:
    name = package.partition("==")[0]
    case = there([package, "c==1.0", "d==1.0"], {name: ("c<1",), "d": ("c>=2",)})
    mend = mend_of(case, stock, ALL)
    assert name in mend.direct
    assert name not in mend.wanted
    assert mend.skipped == (name,)
    assert name not in widened(case, mend, f"because {name} and d").wanted


def test_what_conda_built_so_is_condas() -> None:
    stock = holding(one("a", direct=True, installer="conda", missing=(f"{SITE}/a/x.py",)))
    assert wishes(mend_of(there(["a==1.0"]), stock, ALL)) == ["a==1.0"]


def test_other_places_are_not_changed_nor_served() -> None:
    case = there(
        ["numpy==2.2.6", "tensorflow-cpu==2.10.1"], {"own": ("numpy>=2", "lost")}, elsewhere=["own==1.0"]
    )
    mend = mend_of(case, holding(one("numpy", "2.2.6")), ALL)
    assert wishes(mend) == ["numpy"]
    assert "own" not in widened(case, mend, "own").wanted
    assert "numpy>=2" in [patch.requirement for patch in mend.ground], "but what it requires counts"


def test_more_is_let_go_where_the_rest_forbids_it() -> None:
    case = there(["a==1.0", "b==1.0", "c==1.0", "torch==2.1.0"], {"a": ("b>=2",), "torch": ("b",), "c": ()})
    mend = mend_of(case, holding(), ALL)
    assert wishes(mend) == ["b"]
    wider = widened(case, mend, "b==2.0 depends on C>=2, and torch")
    assert wishes(wider) == ["b", "a", "c"]
    assert widened(case, wider, "").wanted == wider.wanted
    assert unchanged([("a", "1.0"), ("b", "2.0"), ("c", "1.0")], wider) == {"a", "c"}
    assert wishes(without(case, wider, ["c"])) == ["b", "a"]
    assert without(case, wider, ["c"]).stays == {"c": "1.0", "torch": "2.1.0"}
    assert wishes(only(case, wider, ["b"])) == ["b"]


def test_a_build_of_pytorch_comes_from_its_index() -> None:
    lost = {"missing": (f"{SITE}/x/x.py",)}
    case = there(["torch==2.1.0+cu118", "flash-attn==2.5.0+cu122torch2.3"])
    stock = holding(one("torch", "2.1.0+cu118", **lost), one("flash-attn", "2.5.0+cu122torch2.3", **lost))
    (index,) = mend_of(case, stock, ALL).indexes
    assert (index.name, index.packages) == ("pytorch-cu118", ("torch",))


def test_folders_that_are_left_of_a_framework() -> None:
    stock = holding(unowned=(f"{SITE}/tensorflow",), litter=(f"{SITE}/~umpy",))
    mend = mend_of(there(["a==1.0"]), stock, ALL)
    assert (mend.remains, list(mend.absent), mend.wanted) == (True, ["tensorflow"], {})
