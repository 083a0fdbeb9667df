"""Texts for participants: Markdown, placeholders, translations and files."""

import base64
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import cheaptalk as ct
from cheaptalk.studies import StudyError, parse_study
from cheaptalk.studies.people.page_texts.markdown import rendered
from cheaptalk.studies.people.page_texts.texts import missing_translations
from cheaptalk.studies.people.protocol import Protocol

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"></svg>'


def html(text: str, value: str = "", *, inline: bool = False) -> str:
    return rendered(text, lambda _: value, lambda name: f"/images/{name}", inline=inline)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Title\n\nA **bold** word.", "<h2>Title</h2>\n<p>A <strong>bold</strong> word.</p>\n"),
        ("- one\n- two", "<ul>\n<li>one</li>\n<li>two</li>\n</ul>\n"),
        (
            "![The scheme](my%20scheme.png)",
            '<p><img src="/images/my scheme.png" alt="The scheme"></p>\n',
        ),
        (
            "[a](https://a.example)",
            '<p><a href="https://a.example" target="_blank" rel="noopener noreferrer">a</a></p>\n',
        ),
        ("five * two _ three", "<p>five * two _ three</p>\n"),
        ("    indented", "<p>indented</p>\n"),
    ],
)
def test_markdown_is_rendered(text: str, expected: str) -> None:
    assert html(text) == expected


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt&colon;alert(1))",
        "[x](data:text/html,<script>)",
        "<javascript:alert(1)>",
        "![x](data:image/svg+xml;base64,PHN2Zz4=)",
        "[x](//evil.example)",
        '![" onerror="alert(1)](a.png)',
        "[x]: javascript:alert(1)\n\n[x]",
        "`<script>`\n\n```\n<script>\n```",
        "| <script> |\n|---|\n| <b> |",
    ],
)
def test_hostile_markdown_stays_text(hostile: str) -> None:
    shown = html(hostile).casefold()
    for danger in ("<script", "<img src=x", 'href="j', 'href="d', 'href="/', 'src="d', '" onerror'):
        assert danger not in shown


@pytest.mark.parametrize("text", ["> " * 5_000 + "x", "[" * 5_000, "*a **b " * 2_000, "{" * 5_000])
def test_deeply_nested_markdown_is_rendered(text: str) -> None:
    assert len(html(text)) < 10 * len(text)


MARKS = (
    "*", "_", "`", "[x](", "![", "](", ")", "<", ">", "{age}", "{{", "}}", "|", "|--:|", "\n", "- ",
    "\n\n", "1. ", "# ", "> ", "&colon;", "javascript:", "https://a.b", '"', "'", "\\", "script",
    "onerror=", "\ue000", "\ue001", "a", " ",
)  # fmt: skip


class Elements(HTMLParser):
    """Collects the elements and attributes of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {tag, *(f"{tag} {name}" for name, _ in attrs)}
        address = next((value or "" for name, value in attrs if name == "href"), "")
        scheme = re.match("[a-z]+:|/", address, re.IGNORECASE)
        assert scheme is None or scheme[0] in ("http:", "https:", "mailto:"), address


@given(st.lists(st.sampled_from(MARKS), max_size=30), st.lists(st.sampled_from(MARKS), max_size=6))
def test_any_text_and_value_render_only_known_elements(text: list[str], value: list[str]) -> None:
    page = html("".join(text), "".join(value))
    blocks = {"p", "h2", "ul", "ol", "ol start", "li", "blockquote", "hr", "pre", "code", "br"}
    inline = {"em", "strong", "a", "a href", "a target", "a rel", "img", "img src", "img alt"}
    tables = {"table", "thead", "tbody", "tr", "th", "td", "th class", "td class"}
    assert Elements(page).found <= blocks | inline | tables


def test_values_are_never_read_as_markdown_or_html() -> None:
    value = "**x** <b> [y](https://z) ![a](b.png) `c`"
    escaped = "**x** &lt;b&gt; [y](https://z) ![a](b.png) `c`"
    assert html("You: {age}", value) == f"<p>You: {escaped}</p>\n"
    assert html("*{age}* `{age}`", value) == f"<p><em>{escaped}</em> <code>{escaped}</code></p>\n"
    link = html("[go](https://x.example/?id={age})", "a b&c=d", inline=True)
    assert 'href="https://x.example/?id=a%20b%26c%3Dd"' in link


def test_double_braces_and_other_braces_are_text() -> None:
    assert html("{{age}} { x } {A} \\{", "1", inline=True) == "{age} { x } {A} {"


def study(text: str, **people: Any) -> dict[str, Any]:
    path = [{"consent": text}, "games"]
    return {
        "name": "pilot",
        "games": [{"game": "bargaining"}],
        "players": {"people": {"person": "browser"}},
        "people": {"path": path} | people,
    }


def written(folder: Path, data: dict[str, Any]) -> Path:
    path = folder / "pilot.yaml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return path


def test_images_beside_the_study_file_become_part_of_the_study(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "scheme.png").write_bytes(PNG)
    (tmp_path / "lab.svg").write_bytes(SVG)
    data = study("See ![it](images/scheme.png).", logo="lab.svg")
    loaded = ct.load_study(written(tmp_path, data))
    assert loaded.people is not None
    contents = {
        name: base64.b64decode(content.partition(",")[2])
        for name, content in loaded.people.files.items()
    }
    assert contents == {"images/scheme.png": PNG, "lab.svg": SVG}
    assert parse_study(loaded.written(), "copy") == loaded


@pytest.mark.parametrize(
    ("text", "people", "problem"),
    [
        ("![x](missing.png)", {}, "people.files: missing.png not found; put the file into"),
        ("![x](https://a.example/b.png)", {}, 'the image "https://a.example/b.png" is not among'),
        ("![x](../b.png)", {}, 'the image "../b.png" is not among the study\'s files'),
        ("![x](fake.png)", {}, "fake.png is not an image of type image/png"),
        ("![x](big.png)", {}, "big.png is larger than 1,000,000 bytes"),
        ("[x](page)", {}, 'the link "page" must start with https:// or mailto:'),
        ("Hi", {"logo": "/etc/passwd"}, '"/etc/passwd" is not among the study\'s images'),
        ("Hi", {"files": {"a.png": "../a.png"}}, "is not the content of an image"),
        ("Hi", {"files": {"a.exe": "x"}}, '"a.exe" is not the name of an image or template'),
        ({"english": "Hi"}, {}, '"english" is not the code of a language'),
    ],
)
def test_invalid_texts_and_files_are_explained(
    tmp_path: Path, text: Any, people: dict[str, Any], problem: str
) -> None:
    (tmp_path / "fake.png").write_bytes(b"<svg>")
    (tmp_path / "big.png").write_bytes(PNG + b"0" * 1_000_000)
    data = study(text, **people)
    data["people"]["path"][0] = {"consent": {"text": text}}
    with pytest.raises(StudyError) as raised:
        ct.load_study(written(tmp_path, data))
    assert problem in str(raised.value)


def test_python_code_names_files_by_path(tmp_path: Path) -> None:
    (tmp_path / "scheme.png").write_bytes(PNG)
    data = study("![x](a.png)", files={"a.png": tmp_path / "scheme.png"})
    people = parse_study(data, "python").people
    assert people is not None
    assert people.files["a.png"].startswith("data:image/png;base64,")


def test_data_from_elsewhere_names_no_files(tmp_path: Path) -> None:
    (tmp_path / "scheme.png").write_bytes(PNG)
    data = study("Hi", files={"scheme.png": str(tmp_path / "scheme.png")})
    with pytest.raises(StudyError, match="is not the content of an image"):
        parse_study(data, "elsewhere")


def test_missing_translations_are_listed() -> None:
    items = [
        {
            "name": "a",
            "ask": {"en": "A?", "de": "A?"},
            "choices": [{"en": "yes", "de": "ja"}, "no"],
        },
        {"name": "b", "ask": {"de": "B?", "fr": "B ?"}, "choices": ["1", "2"]},
    ]
    protocol = Protocol.model_validate({"path": [{"survey": items}, "games"]})
    assert {text.location: text.codes for text in missing_translations(protocol)} == {
        "path.0.survey.items.a.ask": ["fr"],
        "path.0.survey.items.a.choices.options.0": ["fr"],
        "path.0.survey.items.a.choices.options.1": ["de", "fr"],
        "path.0.survey.items.b.ask": ["en"],
    }
    assert (
        missing_translations(Protocol.model_validate({"path": [{"debrief": "Bye"}, "games"]})) == []
    )
