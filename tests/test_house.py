"""The house itself: packages, wheel, contract, doctests, and what the code may not say."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import mnistpro_replay

ROOT = Path(__file__).parent.parent
ROOMS = ("schemas", "traces", "replay", "analysis", "dashboard", "cli")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def folders_with_code() -> set[str]:
    found = {"mnistpro_replay"}
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            found.add("mnistpro_replay." + ".".join(path.parent.relative_to(ROOT).parts))
    return found


def test_every_package_is_listed() -> None:
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == folders_with_code()


def test_every_data_file_is_listed() -> None:
    listed = PROJECT["tool"]["setuptools"]["package-data"]
    for room in ROOMS:
        for path in (ROOT / room).rglob("*"):
            if (
                not path.is_file()
                or path.suffix in (".py", ".pyc", ".nbi", ".nbc")
                or path.name == "README.md"
            ):
                continue
            owner = next(p for p in path.parents if (p / "__init__.py").exists())
            package = "mnistpro_replay." + ".".join(owner.relative_to(ROOT).parts)
            inside = path.relative_to(owner)
            assert any(inside.match(pattern) for pattern in listed.get(package, [])), (
                f"{path} is in no package-data"
            )


def modules() -> list[str]:
    return [
        m.name
        for m in pkgutil.walk_packages(mnistpro_replay.__path__, "mnistpro_replay.")
        if m.name.split(".")[1] in ROOMS
    ]


def test_doctests() -> None:
    attempted = 0
    for name in modules():
        if name.endswith((".train", ".__main__")):
            continue
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            if "extra" in str(error) or error.name in (
                "torch",
                "onnx",
                "mcp",
                "pydantic_ai",
                "inspect_ai",
                "minari",
            ):
                continue
            raise
        result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
        assert result.failed == 0, name
        attempted += result.attempted
    assert attempted > 10


def test_public_face() -> None:
    for name in mnistpro_replay.__all__:
        assert getattr(mnistpro_replay, name) is not None
    with pytest.raises(AttributeError):
        mnistpro_replay.nothing_of_that_name  # noqa: B018


def test_no_bare_room_is_importable_elsewhere() -> None:
    code = f"import importlib.util as u; print([n for n in {ROOMS!r} if u.find_spec(n)])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout.strip() == "[]"


def test_the_project_speaks_of_itself_alone() -> None:
    """No machine path and no registry host in what is committed."""
    words = re.compile(r"(?<![\w.])/(?:work|root)/|pypi\.org|registry\.npmjs|files\.pythonhosted")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix in (".py", ".md", ".toml", ".sql", ".js", ".css", ".yaml", "") and path.is_file():
            found = words.search(path.read_text(errors="replace"))
            assert not found or name == "tests/test_house.py", f"{name}: {found and found[0]}"


@pytest.mark.wheel
def test_wheel_installs_nothing_but_the_package_and_runs(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as zipped:
        names = zipped.namelist()
    tops = {name.split("/")[0] for name in names}
    assert {t for t in tops if not t.endswith(".dist-info")} == {"mnistpro_replay"}
    inside = {"mnistpro_replay." + ".".join(n.split("/")[1:-1]) for n in names if n.endswith(".py")}
    assert {n.rstrip(".") for n in inside} == folders_with_code()
    site = tmp_path / "site"
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        str(site),
        str(wheel),
    ]
    subprocess.run(command, check=True)
    env = os.environ | {"PYTHONPATH": str(site)}
    code = "import mnistpro_replay, sys; print(mnistpro_replay.__file__)"
    where = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=tmp_path, capture_output=True, text=True
    )
    assert str(site) in where.stdout
    done = subprocess.run(
        [sys.executable, "-m", "mnistpro_replay.cli.main", "demo", "--out", "d", "--episodes", "3"],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "d" / "store" / "runs").is_dir()
