"""The built-in providers and their models.

Supported settings follow the providers' documentation as of November 2026.
"""

from cheaptalk.models.calls import Route
from cheaptalk.models.providers import CHAT, LOCAL, SAMPLING, Family, Level, Provider, same

ANSWER_TOKENS = 4_096
"""Default ``max_tokens`` of Anthropic's models, excluding reasoning."""
LOCAL_TOKENS = 1_024
"""Default ``max_tokens`` of in-process models."""
EXACT = {"provider": {"require_parameters": True}}
"""Makes OpenRouter reject unsupported settings instead of silently dropping them."""
ALL: tuple[Level, ...] = ("none", "minimal", "low", "medium", "high")
SOME: tuple[Level, ...] = ("minimal", "low", "medium", "high")
THREE: tuple[Level, ...] = ("low", "medium", "high")
SWITCH: tuple[Level, ...] = ("none", "high")
"""Reasoning levels of models that can only turn reasoning on or off."""

OPENAI = CHAT | {"max_tokens": "max_completion_tokens"}
OPENAI_REASONING = {"max_tokens": "max_completion_tokens"} | same("seed", "stream")
GEMINI = SAMPLING | same("max_tokens", "stop", "stream")
MESSAGES = {"max_tokens": "max_tokens", "stop": "stop_sequences"}
MISTRAL = GEMINI | {"seed": "random_seed"}
XAI_REASONING = SAMPLING | same("max_tokens", "seed", "stream")
BEDROCK = GEMINI | {"max_tokens": "max_completion_tokens"}
TOOL: tuple[Route, ...] = ("tool", "text")
TEXT: tuple[Route, ...] = ("text",)
FORMS: tuple[Route, ...] = ("schema", "text")

OPENAI_MODELS = (
    Family("gpt-[5-9]*chat*", OPENAI),
    Family("gpt-5.[1-9]*", OPENAI_REASONING | SAMPLING, "effort", ("none", *THREE), either=True),
    Family("gpt-5*", OPENAI_REASONING, "effort", SOME),
    Family("gpt-[6-9]*", OPENAI_REASONING, "effort", ("none", *THREE)),
    Family("o[1-9]*", OPENAI_REASONING, "effort", THREE),
    Family("gpt-3.5*", OPENAI, routes=TOOL),
    Family("gpt-4", OPENAI, routes=TOOL),
    Family("gpt-4-*", OPENAI, routes=TOOL),
    Family("gpt-4o-2024-05-13", OPENAI, routes=TOOL),
    Family("*", OPENAI),
)
CLAUDE = (
    Family("claude-3-7*", MESSAGES | SAMPLING, "budget", ALL, budget=True, either=True, hottest=1,
           routes=TOOL, answer_tokens=ANSWER_TOKENS),
    Family("claude-[23]*", MESSAGES | SAMPLING, hottest=1, routes=TOOL,
           answer_tokens=ANSWER_TOKENS),
    Family("claude-*-4-[0-6]*", MESSAGES | SAMPLING, "budget", ALL, budget=True, either=True,
           hottest=1, routes=TOOL, answer_tokens=ANSWER_TOKENS),
    Family("*", MESSAGES, "adaptive", THREE, routes=TOOL, answer_tokens=ANSWER_TOKENS),
)  # fmt: skip
GPT_OSS = Family("*gpt-oss*", CHAT, "effort", THREE)

OURS = {
    "openai": Provider(
        "https://api.openai.com/v1", "OPENAI_API_KEY", batch="openai", maker=True,
        models=OPENAI_MODELS,
    ),
    "anthropic": Provider(
        "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", protocol="messages",
        batch="anthropic", maker=True, aliases=("claude",), models=CLAUDE,
    ),
    "gemini": Provider(
        "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", maker=True,
        aliases=("google", "googleai", "google-genai", "google_genai"),
        models=(
            Family("gemini-2.5-pro*", GEMINI, "gemini", SOME, budget=True),
            Family("gemini-2.5*", GEMINI, "gemini", ALL, budget=True),
            Family("gemini-[3-9]*", GEMINI, "gemini", SOME),
            Family("*", GEMINI),
        ),
    ),
    "mistral": Provider(
        "https://api.mistral.ai/v1", "MISTRAL_API_KEY", maker=True,
        aliases=("mistralai", "mistral-ai", "mistral_ai"),
        models=(
            Family("mistral-small-latest", MISTRAL, "effort", SWITCH, hottest=1.5, streamed={}),
            Family("mistral-small-26*", MISTRAL, "effort", SWITCH, hottest=1.5, streamed={}),
            Family("mistral-medium-3-5*", MISTRAL, "effort", SWITCH, hottest=1.5, streamed={}),
            Family("*", MISTRAL, hottest=1.5, streamed={}),
        ),
    ),
    "deepseek": Provider(
        "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", maker=True,
        aliases=("deepseek-ai", "deep-seek"),
        models=(
            Family("deepseek-chat", GEMINI, routes=TOOL),
            Family("deepseek-reasoner", same("max_tokens", "stop", "stream"), routes=TEXT),
            Family("*", GEMINI, "thinking", ("none", "low", "high"), either=True, reasons=True,
                   routes=TOOL),
        ),
    ),
    "groq": Provider(
        "https://api.groq.com/openai/v1", "GROQ_API_KEY", aliases=("groqcloud",),
        models=(GPT_OSS, Family("*", CHAT)),
    ),
    "xai": Provider(
        "https://api.x.ai/v1", "XAI_API_KEY", maker=True, aliases=("grok", "x-ai", "x.ai"),
        models=(
            Family("grok-3-mini*", XAI_REASONING, "effort", ("low", "high")),
            Family("grok-4.3*", XAI_REASONING, "effort", ("none", *THREE)),
            Family("grok-*non-reasoning*", CHAT),
            Family("grok-[4-9]*", XAI_REASONING),
            Family("*", CHAT),
        ),
    ),
    "azure-openai": Provider(
        "${AZURE_OPENAI_ENDPOINT}/openai/v1", "AZURE_OPENAI_API_KEY", header="api-key",
        aliases=("azure", "azureopenai", "azure_openai", "azure-ai", "azureai"),
        advice="use your deployment's name as NAME, and set AZURE_OPENAI_ENDPOINT to the URL of "
        "your resource",
        models=OPENAI_MODELS,
    ),
    "bedrock": Provider(
        "https://bedrock-runtime.${AWS_REGION}.amazonaws.com/openai/v1",
        "AWS_BEARER_TOKEN_BEDROCK", aliases=("aws", "amazon", "aws-bedrock", "amazon-bedrock"),
        models=(Family("*gpt-oss*", BEDROCK, "effort", THREE), Family("*", BEDROCK)),
    ),
    "openrouter": Provider(
        "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", aliases=("open-router",),
        models=(
            Family("anthropic/claude-*4.[7-9]*", same("max_tokens", "stop", "stream"),
                   always=EXACT),
            Family("*", CHAT, "openrouter", ALL, budget=True, always=EXACT),
        ),
    ),
    "together": Provider(
        "https://api.together.xyz/v1", "TOGETHER_API_KEY",
        aliases=("togetherai", "together_ai", "together-ai"),
        models=(Family("openai/gpt-oss*", CHAT, "effort", THREE), Family("*", CHAT)),
    ),
    "vllm": Provider(
        "http://localhost:8000/v1", "VLLM_API_KEY", needs_key=False,
        models=(GPT_OSS, Family("*", CHAT, "switch", SWITCH)),
    ),
    "ollama": Provider(
        "http://localhost:11434/v1", "OLLAMA_API_KEY", needs_key=False,
        models=(
            Family("*gpt-oss*", CHAT, "effort", THREE, routes=FORMS),
            Family("*", CHAT, "effort", SWITCH, routes=FORMS),
        ),
    ),
    "openai-compatible": Provider(needs_key=False, aliases=("openai_compatible", "custom")),
    "agent": Provider(needs_key=False, protocol="agent", models=(Family("*", {}, routes=FORMS),)),
    "remote": Provider(needs_key=False, protocol="remote", models=(Family("*", {}, routes=FORMS),)),
    "hf": Provider(
        needs_key=False, protocol="in process", aliases=("huggingface", "hugging-face"),
        models=(Family("*", LOCAL, "switch", SWITCH, routes=TEXT, answer_tokens=LOCAL_TOKENS),),
    ),
    "script": Provider(
        needs_key=False, protocol="script",
        models=(Family("*", CHAT, "level", ALL, budget=True, streamed={}),),
    ),
}  # fmt: skip
"""Providers by the first part of a model string."""
