"""Provider entries: built-in, from the user's file, and invalid ones."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

import cheaptalk as ct
from cheaptalk.models import (
    PROVIDERS,
    ModelName,
    ModelSettings,
    Provider,
    ProviderError,
    missing_requirement,
)
from cheaptalk.models.providers import VARIABLE, written
from cheaptalk.models.settings import routes, wire
from tests.conftest import Command

Write = Callable[[str], Path]
LAB = """
lab:
  url: https://gpu.example/v1
  key: LAB_API_KEY
  like: vllm
old-lab: {url: "https://gpu.example:81/v1?version=1", like: lab, header: api-key, key: OLD_KEY}
keyless: {url: "https://gpu.example/v1", like: lab}
local: {url: "http://127.0.0.1:9000/v1"}
other:
  url: https://other.example/v1
  key: OTHER_KEY
  models:
  - {pattern: "big-*", settings: {seed: random_seed}, reasoning: effort, levels: [low, high]}
  - {pattern: "*", settings: [temperature, max_tokens], routes: [tool, text]}
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Return a function that writes a user's provider file and reloads the providers."""

    def written(text: str) -> Path:
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        with_file.setenv(VARIABLE, str(path))
        PROVIDERS.forget()
        return path

    with pytest.MonkeyPatch.context() as with_file:
        yield written
    PROVIDERS.forget()


def test_user_entry_inherits_format_and_has_own_key(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(LAB)
    for name in ("VLLM_API_KEY", "OTHER_KEY", "LAB_API_KEY", "OLD_KEY"):
        monkeypatch.setenv(name, f"of-{name}")
    lab, old = ModelName.parse("lab/tiny"), ModelName.parse("old-lab/tiny")
    assert (lab.url, lab.key_header) == (
        "https://gpu.example/v1",
        {"Authorization": "Bearer of-LAB_API_KEY"},
    )
    assert old.endpoint("messages") == "https://gpu.example:81/v1/messages?version=1"
    assert old.key_header == {"api-key": "of-OLD_KEY"}
    assert ModelName.parse("local/tiny").key is None
    assert ModelName.parse("keyless/tiny").key is None
    assert wire(ModelSettings(reasoning="none"), "old-lab/tiny") == {
        "chat_template_kwargs": {"enable_thinking": False}
    }
    sent = wire(ModelSettings(seed=1, reasoning="low"), "other/big-1")
    assert sent == {"random_seed": 1, "reasoning_effort": "low"}
    assert routes(ModelSettings(), ModelName.parse("other/tiny")) == ("tool", "text")
    assert missing_requirement("lab/tiny") is None
    monkeypatch.delenv("LAB_API_KEY")
    assert missing_requirement("lab/tiny") == "set the environment variable LAB_API_KEY"
    assert missing_requirement("local/tiny") is None


def test_built_in_entries_survive_round_trip(write: Write) -> None:
    entries = {name: entry for name, entry in PROVIDERS.items() if entry.url}
    text = "\n".join(f"my-{name}: {written(entry)}" for name, entry in entries.items())
    write(text.replace("True", "true").replace("False", "false"))
    for name, entry in entries.items():
        assert written(PROVIDERS[f"my-{name}"]) == written(entry)


def test_invalid_file_error_names_place_without_key(write: Write, cheaptalk: Command) -> None:
    for text, why in [
        ("[lab]", "a provider file must be a mapping, NAME: {url: ..., key: ...}"),
        ("lab: {url: https://h\n  key: x}", "cannot be read as YAML: line 2"),
        (
            "lab: https://h/v1",
            "lab: an entry must be a mapping: {url: https://HOST/v1, key: VARIABLE}",
        ),
        ("lab: {key: LAB_KEY}", "lab: url is missing; add the server's URL"),
        ("openai: {url: https://h/v1}", "openai: a provider with this name exists already; choose"),
        ("a/b: {url: https://h/v1}", "a/b: a provider's name can contain letters, digits"),
        ("lab: {url: h/v1}", "lab: url: a URL must start with http://, https:// or"),
        ("lab: {url: 'https://$HOST/v1'}", "lab: url: write an environment variable as ${NAME}"),
        ("lab: {url: https://h/v1, api_key: sk-secret}", 'lab: no field "api_key"'),
        (
            "lab: {url: https://h/v1, key: sk-secret}",
            "lab: key: write an environment variable's name, such as LAB_API_KEY, not a key",
        ),
        ("lab: {url: 'https://me:secret@h/v1'}", "lab: url: remove user and password"),
        ("lab: {url: 'https://h/v1?api_key=secret'}", 'lab: url: remove "api_key" from the URL'),
        ("lab: {url: https://h/sk-secret-key/v1}", "lab: url: remove the key in its path"),
        ("lab: {url: https://h/v1, like: vlm}", 'like: no provider "vlm" (did you mean "vllm"?)'),
        ("lab: {url: https://h/v1, protocol: chta}", "lab: protocol: should be 'chat', 'messages'"),
        ("lab: {url: https://h/v1, models: []}", "lab: models: "),
        (
            "lab: {url: https://h/v1, models: [{pattern: x}]}",
            "models: add a last entry with the pattern",
        ),
        ("lab: {url: https://h/v1, models: [{settings: [sed]}]}", 'no setting "sed" (did you mean'),
        ("lab: {url: https://h/v1, models: [{routes: [text, tool]}]}", "last route must be text"),
    ]:
        path = write(text)
        with pytest.raises(ProviderError, match=re.escape(why)) as caught:
            ModelName.parse("lab/tiny")
        assert str(caught.value).startswith(f"{path}: ")
        assert "secret" not in str(caught.value)
    write("lab: {url: 'https://me:secret@h/v1'}")
    done = cheaptalk("plan", "quickstart", "--player", "x=lab/tiny")
    assert (done.status, "secret" in done.err) == (2, False)


def test_file_is_read_from_configuration_folder_only(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "providers.yaml").write_text(LAB)
    PROVIDERS.forget()
    assert "lab" not in PROVIDERS
    (tmp_path / "config/cheaptalk").mkdir(parents=True)
    (tmp_path / "config/cheaptalk/providers.yaml").write_text(LAB)
    PROVIDERS.forget()
    assert "lab" in PROVIDERS


def test_entry_can_be_registered_in_code() -> None:
    ct.register(Provider("https://gpu.example/v1", "LAB_API_KEY"), name="lab")
    try:
        assert ModelName.parse("lab/tiny").url == "https://gpu.example/v1"
        assert wire(ModelSettings(seed=7), "lab/tiny") == {"seed": 7}
        ct.register(Provider("https://gpu.example/v2", "LAB_API_KEY"), name="lab")
        assert ModelName.parse("lab/tiny").url == "https://gpu.example/v2"
    finally:
        PROVIDERS.remove("lab")
    with pytest.raises(ValidationError, match="not a key"):
        Provider("https://gpu.example/v1", "sk-secret")


def test_provider_urls_and_key_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    azure = {"AZURE_OPENAI_ENDPOINT": "https://lab.openai.azure.com/", "AZURE_OPENAI_API_KEY": "k"}
    bedrock = {"AWS_REGION": "us-west-2", "AWS_BEARER_TOKEN_BEDROCK": "k"}
    bedrock_url = "https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1"
    for model, environment, url in [
        ("mistral/mistral", {"MISTRAL_API_KEY": "k"}, "https://api.mistral.ai/v1"),
        ("groq/openai/gpt", {"GROQ_API_KEY": "k"}, "https://api.groq.com/openai/v1"),
        ("azure-openai/mine", azure, "https://lab.openai.azure.com/openai/v1"),
        ("bedrock/openai.gpt-oss-20b-1:0", bedrock, bedrock_url),
    ]:
        for name in environment:
            monkeypatch.delenv(name, raising=False)
        plural = "s" if len(environment) > 1 else ""
        assert (
            missing_requirement(model)
            == f"set the environment variable{plural} {' and '.join(environment)}"
        )
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        parsed = ModelName.parse(model)
        assert missing_requirement(model) is None
        bearer = {"Authorization": "Bearer k"}
        header = {"api-key": "k"} if environment is azure else bearer
        assert (parsed.url, parsed.key_header) == (url, header)


def test_secrets_in_environment_url_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    for endpoint, why in [
        ("https://me:hunter2@lab.example", "remove user and password from the URL"),
        ("https://lab.example?api-key=hunter2", 'remove "api-key" from the URL'),
        ("lab.hunter2.example", "the resulting URL does not start with http"),
    ]:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", endpoint)
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
        problem = missing_requirement("azure-openai/mine") or ""
        assert problem.startswith(f"AZURE_OPENAI_ENDPOINT: {why}")
        assert "hunter2" not in problem


def test_command_lists_providers_without_keys(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "sk-secret-of-groq")
    monkeypatch.delenv("XAI_API_KEY", raising=False)
    table, entry, data = (
        cheaptalk("model", "providers", *rest) for rest in ((), ("groq",), ("--json",))
    )
    assert all(done.status == 0 and "sk-secret" not in done.out for done in (table, entry, data))
    assert ["xai", "https://api.x.ai/v1", "XAI_API_KEY", "no"] in [
        line.split() for line in table.out.splitlines()
    ]
    assert json.loads(data.out)["groq"]["key_is_set"]
    assert "key: GROQ_API_KEY" in entry.out
    assert '"trouble": "set the environment variable XAI_API_KEY"' in data.out
    for unknown, suggestion in (("groc", "groq"), ("google", "gemini")):
        done = cheaptalk("model", "providers", unknown)
        assert done.status == 2
        assert f'unknown provider "{unknown}" (did you mean "{suggestion}"' in done.said
