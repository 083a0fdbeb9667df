"""Entries of providers: ours, those of a user's file, and what is wrong with some."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

import cheaptalk as ct
from cheaptalk.models import PROVIDERS, ModelName, ModelSettings, Provider, ProviderError, missing
from cheaptalk.models.model_strings import hint
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
    """Writes a user's file of providers, which is then read."""

    def written(text: str) -> Path:
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        with_file.setenv(VARIABLE, str(path))
        PROVIDERS.forget()
        return path

    with pytest.MonkeyPatch.context() as with_file:
        yield written
    PROVIDERS.forget()


def test_an_entry_of_one_s_own_is_spoken_to_like_another_and_has_its_own_key(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(LAB)
    for name in ("VLLM_API_KEY", "OTHER_KEY", "LAB_API_KEY", "OLD_KEY"):
        monkeypatch.setenv(name, f"of-{name}")
    lab, old = ModelName.parse("lab/tiny"), ModelName.parse("old-lab/tiny")
    assert (lab.url, lab.key_header) == (
        "https://gpu.example/v1", {"Authorization": "Bearer of-LAB_API_KEY"},
    )  # fmt: skip
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
    assert missing("lab/tiny") is None
    monkeypatch.delenv("LAB_API_KEY")
    assert missing("lab/tiny") == "set the environment variable LAB_API_KEY"
    assert missing("local/tiny") is None


def test_ours_can_be_written_to_a_file_and_read_again(write: Write) -> None:
    ours = {name: entry for name, entry in PROVIDERS.items() if entry.url}
    text = "\n".join(f"my-{name}: {written(one)}" for name, one in ours.items())
    write(text.replace("True", "true").replace("False", "false"))
    for name, entry in ours.items():
        assert written(PROVIDERS[f"my-{name}"]) == written(entry)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[lab]", "a provider file must be a mapping, NAME: {url: ..., key: ...}"),
        ("lab: {url: https://h\n  key: x}", "cannot be read as YAML: line 2"),
        ("lab: https://h/v1",
        "lab: an entry must be a mapping: {url: https://HOST/v1, key: VARIABLE}"),
        ("lab: {key: LAB_KEY}", "lab: url: is missing; add the server's URL"),
        ("openai: {url: https://h/v1}", "openai: a provider with this name exists already; choose"),
        ("a/b: {url: https://h/v1}", "a/b: a provider's name can contain letters, digits"),
        ("lab: {url: h/v1}", "lab: url: a URL must start with http://, https:// or"),
        ("lab: {url: 'https://$HOST/v1'}", "lab: url: write an environment variable as ${NAME}"),
        ("lab: {url: https://h/v1, api_key: sk-secret}", "lab: no field \"api_key\""),
        ("lab: {url: https://h/v1, key: sk-secret}",
         "lab: key: write an environment variable's name, such as LAB_API_KEY, not a key"),
        ("lab: {url: 'https://me:secret@h/v1'}", "lab: url: remove user and password"),
        ("lab: {url: 'https://h/v1?api_key=secret'}", 'lab: url: remove "api_key" from the URL'),
        ("lab: {url: https://h/sk-secret-key/v1}", "lab: url: remove the key in its path"),
        ("lab: {url: https://h/v1, like: vlm}", 'like: no provider "vlm" (did you mean "vllm"?)'),
        ("lab: {url: https://h/v1, protocol: chta}", "lab: protocol: should be 'chat', 'messages'"),
        ("lab: {url: https://h/v1, models: []}", "lab: models: "),
        ("lab: {url: https://h/v1, models: [{pattern: x}]}",
        'models: add a last entry with the pattern'),
        ("lab: {url: https://h/v1, models: [{settings: [sed]}]}", 'no setting "sed" (did you mean'),
        ("lab: {url: https://h/v1, models: [{routes: [text, tool]}]}", "last route must be text"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_said_with_its_place_and_no_key(
    text: str, why: str, write: Write, cheaptalk: Command
) -> None:
    path = write(text)
    with pytest.raises(ProviderError, match=re.escape(why)) as caught:
        ModelName.parse("lab/tiny")
    assert str(caught.value).startswith(f"{path}: ")
    done = cheaptalk("plan", "quickstart", "--player", "x=lab/tiny")
    assert done.status == 2
    assert "secret" not in done.err + str(caught.value)


def test_a_file_is_found_in_the_configuration_s_folder_and_never_beside_a_study(
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


def test_an_entry_is_registered_in_a_program() -> None:
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


@pytest.mark.parametrize(
    ("model", "environment", "url", "header"),
    [
        ("mistral/mistral-large-latest", {"MISTRAL_API_KEY": "k"}, "https://api.mistral.ai/v1",
         {"Authorization": "Bearer k"}),
        ("deepseek/deepseek-chat", {"DEEPSEEK_API_KEY": "k"}, "https://api.deepseek.com/v1",
         {"Authorization": "Bearer k"}),
        ("groq/openai/gpt-oss-20b", {"GROQ_API_KEY": "k"}, "https://api.groq.com/openai/v1",
         {"Authorization": "Bearer k"}),
        ("xai/grok-4", {"XAI_API_KEY": "k"}, "https://api.x.ai/v1", {"Authorization": "Bearer k"}),
        ("azure-openai/mine",
         {"AZURE_OPENAI_ENDPOINT": "https://lab.openai.azure.com/", "AZURE_OPENAI_API_KEY": "k"},
         "https://lab.openai.azure.com/openai/v1", {"api-key": "k"}),
        ("bedrock/openai.gpt-oss-20b-1:0",
         {"AWS_REGION": "us-west-2", "AWS_BEARER_TOKEN_BEDROCK": "k"},
         "https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1",
         {"Authorization": "Bearer k"}),
    ],
)  # fmt: skip
def test_where_a_provider_s_calls_and_its_key_go(
    model: str,
    environment: dict[str, str],
    url: str,
    header: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in environment:
        monkeypatch.delenv(name, raising=False)
    several = "s" if len(environment) > 1 else ""
    assert missing(model) == f"set the environment variable{several} {' and '.join(environment)}"
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = ModelName.parse(model)
    assert missing(model) is None
    assert (found.url, found.key_header) == (url, header)


@pytest.mark.parametrize(
    ("endpoint", "why"),
    [
        ("https://me:hunter2@lab.example", "remove user and password from the URL"),
        ("https://lab.example?api-key=hunter2", 'remove "api-key" from the URL'),
        ("lab.hunter2.example", "the resulting URL does not start with http"),
    ],
)
def test_a_url_in_the_environment_holds_no_secret(
    endpoint: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", endpoint)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    said = missing("azure-openai/mine") or ""
    assert said.startswith(f"AZURE_OPENAI_ENDPOINT: {why}")
    assert "hunter2" not in said


def test_the_command_lists_providers_and_never_a_key(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "sk-secret-of-groq")
    monkeypatch.delenv("XAI_API_KEY", raising=False)
    told = [
        cheaptalk("model", "providers"),
        cheaptalk("model", "providers", "groq"),
        cheaptalk("model", "providers", "--json"),
    ]
    assert all(done.status == 0 and "sk-secret" not in done.out for done in told)
    assert ["xai", "https://api.x.ai/v1", "XAI_API_KEY", "no"] in [
        line.split() for line in told[0].out.splitlines()
    ]
    assert json.loads(told[2].out)["groq"]["key_is_set"]
    assert "key: GROQ_API_KEY" in told[1].out
    assert '"trouble": "set the environment variable XAI_API_KEY"' in told[2].out
    for wrong, right in (("groc", "groq"), ("gogle", "gemini"), ("google", "gemini")):
        done = cheaptalk("model", "providers", wrong)
        assert done.status == 2
        assert f'unknown provider "{wrong}" (did you mean "{right}"' in done.said


def test_models_of_the_new_makers_are_told_their_provider() -> None:
    assert hint("deepseek-chat") == "for the model write deepseek/deepseek-chat"
