from __future__ import annotations

from pathlib import Path

import pytest

from kernaut.authors.keys import key_variable
from kernaut.authors.llm import address_of
from kernaut.authors.models import require_provider
from kernaut.cli.config import read_config
from kernaut.errors import InputError
from kernaut.plugins import bundled
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
        ("[campaign]\nsede = 7\n", ["campaign.sede", "seed, max_rounds, max_tool_calls, max_tokens, max_cost"]),
        ("[campain]\nseed = 7\n", ["unknown key campain", "llm, ensemble, bandit, campaign, execution"]),
        ("[campaign]\nseed = 'x'\n", ["campaign.seed = 'x'"]),
        ("[execution]\nopen_files = 2.5\n", ["execution.open_files = 2.5"]),
        ("[execution]\nrequest_seconds = -1.0\n", ["sandbox limit request_seconds"]),
        ("campaign = 3\n", ["campaign = 3"]),
        ("seed =\n", ["Expected TOML"]),
        (f"seed = {'[' * 3000}", ["Expected TOML", "recursion"]),
    ],
)
def test_a_wrong_file_is_named_with_what_is_known(tmp_path: Path, text: str, parts: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        read_config(written(tmp_path, text), for_models=True)
    assert all(part in caught.value.message for part in parts), caught.value.message


ENSEMBLE = """
[llm]
provider = "openrouter"
model = "one"
timeout_seconds = 60
input_price = 1.0
output_price = 2
[llm.extra_body]
temperature = 0.7
[[ensemble]]
weight = 2
[[ensemble]]
model = "two"
[[ensemble]]
provider = "ollama"
model = "three"
[[ensemble]]
provider = "offline"
weight = 0.5
[bandit]
window = 5
[execution]
memory_mib = 300
"""


def test_members_inherit_what_their_provider_shares(tmp_path: Path) -> None:
    config = read_config(written(tmp_path, ENSEMBLE), for_models=True)
    (one, w1), (two, w2), (three, w3), (offline, w4) = config.members()
    assert offline is None
    assert one is not None and two is not None and three is not None
    assert (w1, w2, w3, w4) == (2.0, 1.0, 1.0, 0.5)
    assert (one.name, two.name, three.name) == ("openrouter/one", "openrouter/two", "ollama/three")
    assert (two.timeout_seconds, two.input_price, dict(two.extra_body)) == (60.0, 1.0, {"temperature": 0.7})
    assert (three.timeout_seconds, three.input_price, dict(three.extra_body)) == (60.0, None, {})
    assert (config.bandit.window, config.bandit.warmup_runs) == (5, 2)
    assert read_config(written(tmp_path, "[llm]\nmodel = 3\n"), for_models=False).members() == []


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[llm]\nprovider = 'openai'\n", ["no model", "[llm]"]),
        ("[[ensemble]]\nmodel = 'm'\n", ["no provider", "member 1"]),
        ("[llm]\nprovider = 'openai'\nmodel = 'm'\ntimeout_seconds = 0.0\n", ["timeout_seconds above 0"]),
        ("[llm]\nprovider = 'openai'\nmodel = 'm'\n[llm.extra_body]\nstream = true\n", ["extra_body", "stream"]),
        (
            "[llm]\nprovider = 'openai'\nmodel = 'm'\nextra_body = {a = {api_key = 'x'}}\n",
            ["extra_body.a.api_key", "no key"],
        ),
        ("[llm]\nprovider = 'openai'\nmodel = 'm'\nextra_body = {a = ['Bearer x']}\n", ["extra_body.a", "no key"]),
        ("[llm]\nprovider = 'compatible'\nmodel = 'm'\nbase_url = 'http://h/sk-abcdefgh1'\n", ["base_url", "no key"]),
        ("[llm]\nprovider = 'openai'\nmodel = 'm'\napi_key = 'sk-secret-123'\n", ["llm.api_key", "api_key_env"]),
        ("[llm]\nprovider = 'openai'\nmodel = ['sk-secret-123']\n", ["llm.model: "]),
        ("[campaign]\nruns_at_once = 0\n", ["campaign.runs_at_once"]),
    ],
)
def test_a_wrong_model_is_named_and_no_value_of_it_is_shown(tmp_path: Path, text: str, parts: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        read_config(written(tmp_path, text), for_models=True)
    assert all(part in caught.value.message for part in parts), caught.value.message
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["openai", "openrouter", "local-ollama", "compatible", "mixed-ensemble"])
def test_every_bundled_configuration_is_read(name: str) -> None:
    config = read_config(bundled("configs", f"{name}.toml"), for_models=True)
    for settings, _ in config.members():
        if settings is not None:
            require_provider(settings)
            assert address_of(settings)
            assert key_variable(settings) in (None, "OPENAI_API_KEY", "OPENROUTER_API_KEY", "MODEL_API_KEY")
    assert len(config.members()) == (3 if name == "mixed-ensemble" else 1)
