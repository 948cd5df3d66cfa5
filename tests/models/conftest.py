"""Every test here asks a local server, quickly and with a planted key."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fake_server import KEY, FakeServer, quick  # noqa: F401

from mnistpro_replay.cli import context
from mnistpro_replay.cli.main import main


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Call the program as a user would, with a model `local`; gives exit status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def call(
        *words: str, server: FakeServer | None = None, model: str = "openai-compatible/m"
    ) -> tuple[int, str, str]:
        address = server.url(model.partition("/")[0]) if server else "http://127.0.0.1:9/v1"
        settings = (
            f'model = "{model}"\napi_key_env = "PLANTED_KEY"\nprice = [2.0, 10.0]\nbase_url = "{address}"\n'
        )
        Path("mnistpro-replay.toml").write_text(f"[predictors.local]\n{settings}")
        monkeypatch.setattr(context, "OPTIONS", context.OPTIONS)
        for name, value in vars(context.Globals()).items():
            setattr(context.OPTIONS, name, value)
        monkeypatch.setattr(sys, "argv", ["mnistpro-replay", *words])
        try:
            main()
            status = 0
        except SystemExit as stopped:
            status = int(stopped.code or 0)
        out, err = capsys.readouterr()
        assert KEY not in out + err
        return status, out, err

    return call
