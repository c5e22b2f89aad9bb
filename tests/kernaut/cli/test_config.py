from __future__ import annotations

from pathlib import Path

import pytest

from kernaut.cli.config import read_config
from kernaut.errors import InputError
from kernaut.sandbox.limits import Limits


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_settings_are_read(tmp_path: Path) -> None:
    text = "[campaign]\nseed = 7\nmax_rounds = 4\n[execution]\nrequest_seconds = 3\nmemory_mib = 256\n"
    config = read_config(written(tmp_path, text), for_models=True)
    assert (config.campaign.seed, config.campaign.max_rounds, config.campaign.max_tool_calls) == (7, 4, None)
    assert config.execution.limits() == Limits(request_seconds=3.0, memory_mib=256)
    assert read_config(None, for_models=True).execution.limits() == Limits()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[campaign]\nsede = 7\n", ["campaign.sede", "seed, max_rounds, max_tool_calls"]),
        ("[campain]\nseed = 7\n", ["unknown key campain", "campaign, execution"]),
        ("[campaign]\nseed = 'x'\n", ["campaign.seed = 'x'"]),
        ("[execution]\nopen_files = 2.5\n", ["execution.open_files = 2.5"]),
        ("[execution]\nrequest_seconds = -1.0\n", ["sandbox limit request_seconds"]),
        ("campaign = 3\n", ["campaign = 3"]),
        ("seed =\n", ["Expected TOML"]),
    ],
)
def test_a_wrong_file_is_named_with_what_is_known(tmp_path: Path, text: str, parts: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        read_config(written(tmp_path, text), for_models=True)
    assert all(part in caught.value.message for part in parts), caught.value.message


def test_language_models_are_refused_where_they_would_be_called(tmp_path: Path) -> None:
    path = written(tmp_path, "[llm]\nmodel = 'm'\n[[ensemble]]\nweight = 1\n[execution]\nmemory_mib = 300\n")
    with pytest.raises(InputError, match="Got llm, ensemble: this version has no authors"):
        read_config(path, for_models=True)
    assert read_config(path, for_models=False).execution.memory_mib == 300
