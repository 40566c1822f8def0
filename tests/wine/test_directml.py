"""A bundled profile on Windows, from its committed lock to trained: TensorFlow 2.10 with the DirectML plugin.

About 340 MB are fetched and 1.5 GB written. Proven: the lock installs, the plugin's DLL loads, both training loops learn.
Not proven: anything of a card. Wine has no DirectX 12 adapter, so it trains on the CPU, and the receipt says so.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.wine.machine import ROOT, Windows, seen

pytestmark = pytest.mark.wine


def test_the_directml_stack_is_applied_and_trains(windows: Windows, tmp_path: Path) -> None:
    if not windows.uv_starts:
        pytest.skip("uv.exe does not start under this Wine (it needs Wine 9 or later)")
    words = ("apply", seen(ROOT / "profiles" / "amd-directml.yaml"), "--locked", "--json", "--device", "cpu")
    more = ("--environment", f"C:\\{tmp_path.name}\\env", "--python", seen(windows.python("3.10")))
    settings = {
        **windows.network(),
        "PROVISION_CACHE": f"C:\\{tmp_path.name}\\cache",
        "UV_LINK_MODE": "hardlink",
    }
    ran = windows.provision(
        tmp_path, *words, *more, "--force", "Wine has no adapter", timeout=1500, **settings
    )
    assert ran.code == 0, ran.out
    receipt = ran.document["receipt"]
    assert (receipt["verdict"], receipt["device_demanded"], receipt["device_used"]) == (
        "passed",
        "directml",
        "/CPU:0",
    )
    assert receipt["proves"].startswith("The software half only")
    job = next(job for job in receipt["jobs"] if job["job"] == "tensorflow")
    assert (job["version"], job["verdict"]) == ("2.10.0", "passed")
    assert job["losses"][-1] < job["losses"][0] / 2
