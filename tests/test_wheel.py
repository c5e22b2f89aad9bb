"""The wheel carries the library, its type marker, and data, notebooks, configurations and examples as its resources."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUNDLED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"][
    "wheel"
]["force-include"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-build-isolation"]
    done = subprocess.run(
        [*command, "--no-deps", "--wheel-dir", str(folder), str(ROOT)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_carries_what_a_checkout_has(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for source in [*ROOT.glob("kernaut/**/*.py"), *ROOT.glob("kernaut/py.typed"), *ROOT.glob("widgets/**/*.py")]:
        assert str(source.relative_to(ROOT)) in names
    assert set(BUNDLED) == {"data", "notebooks", "configs", "examples"}
    for folder, target in BUNDLED.items():
        files = [
            path for path in (ROOT / folder).rglob("*") if path.is_file() and ".ipynb_checkpoints" not in path.parts
        ]
        assert files, f"{folder} is empty, which a clean checkout cannot hold and the build refuses"
        for path in files:
            assert f"{target}/{path.relative_to(ROOT / folder)}" in names
    assert not [name for name in names if name.startswith("tests/")]


def test_an_installed_wheel_finds_its_resources(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    script = (
        "import kernaut\nfrom kernaut.plugins import bundled\n"
        "print(kernaut.__file__)\nfor name in ('data', 'notebooks', 'configs', 'examples'): print(bundled(name, 'README.md'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\n{script}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 5
    assert all(line.startswith(str(tmp_path / "site" / "kernaut")) for line in lines), lines
    assert all("_bundled" in line for line in lines[1:])
