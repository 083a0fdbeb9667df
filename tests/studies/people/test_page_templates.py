"""Templates of custom pages: what they may contain, and pages that hostile values cannot change."""

import pytest
from markupsafe import Markup

from cheaptalk.studies.people.page_texts.page_templates import check_page_template, render_page

FIELDS = {"fair": Markup("<input name=fair>"), "age": Markup("<input name=age>")}
BOTH = "{{ fields.fair }}{{ fields.age }}"


def check(text: str) -> None:
    check_page_template("mine.jinja", text, list(FIELDS), ["student", "base"], ["scheme.png"])


def page(text: str, value: str = "yes") -> str:
    return render_page(text, FIELDS, lambda _: value, lambda name: f"/images/{name}", "de")


def test_template_arranges_fields_values_and_images() -> None:
    text = (
        '<table class="rows"><tr><td>{{ fields.age }}</td></tr></table>{{ fields["fair"] }}'
        '{% if language == "de" %}<p>Sie: {{ values.student }}</p>{% endif %}'
        '{{ image("scheme.png", "The scheme") }}'
    )
    check(text)
    assert page(text) == (
        '<table class="rows"><tr><td><input name=age></td></tr></table><input name=fair>'
        '<p>Sie: yes</p><img src="/images/scheme.png" alt="The scheme">'
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{{ fields.fair }}", "it does not render the item age; add {{ fields.age }}"),
        (BOTH + "{{ fields.agee }}", 'line 1: unknown name "agee" (did you mean "age"?) in fields'),
        (BOTH + "{{ values.old }}", 'line 1: unknown name "old"'),
        (BOTH + "{{ participant }}", 'unknown variable "participant"'),
        (BOTH + '{{ image("other.png") }}', 'line 1: image "other.png" not found'),
        (BOTH + "{% include 'a' %}", "line 1: include is not permitted"),
        (BOTH + "{% autoescape false %}{% endautoescape %}", "is not permitted; use only HTML"),
        (BOTH + "\n{{ '<b>'|safe }}", "line 2: filter is not permitted; use only HTML, fields"),
        (BOTH + "{% for i in range(9) %}{% endfor %}", "line 1: for is not permitted"),
        (BOTH + "{{ 'x' * 1000000000 }}", "line 1: mul is not permitted"),
        (BOTH + "{{ values.student.upper() }}", "line 1: only image can be called"),
        (BOTH + "{{ fields.age }}", "it renders the item age twice"),
        (BOTH + "{% if %}", "line 1: Expected an expression"),
        (BOTH + "{% if values.student > 3 %}{% endif %}", "cannot be rendered: TypeError"),
        (BOTH + "{{ image.__globals__ }}", "line 1: only fields and values have members"),
        (BOTH + "\n<script>alert(1)</script>", "line 2: <script> is not permitted"),
        (BOTH + '<{{ "script" }}>', "<script> is not permitted"),
        (BOTH + "</form><p>", "</form> is not permitted"),
        (BOTH + '<p onclick="alert(1)">', "the attribute onclick is not permitted"),
        (BOTH + '<p style="color: red">', "the attribute style is not permitted"),
        (BOTH + '<button formaction="/console">', "<button> is not permitted"),
        (BOTH + '<a href="javascript:alert(1)">', 'the link "javascript:alert(1)" must start'),
        (BOTH + '<img src="https://a.example/b.png">', 'write {{ image("https://a.example/b.png"'),
        (BOTH + "<!-- note -->", "HTML comments are not permitted; write {# ... #}"),
        ('<p title="{{ fields.fair }}">{{ fields.age }}', "can't be part of an attribute"),
    ],
)
def test_invalid_templates_are_explained(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=r"^mine\.jinja") as raised:
        check(text)
    assert problem in str(raised.value)


def test_fields_that_a_condition_hides_are_added() -> None:
    text = "{% if values.student == 'no' %}" + BOTH + "{% endif %}<p>End</p>"
    check(text)
    assert page(text) == "<p>End</p><input name=fair><input name=age>"


def test_entered_text_is_not_read_as_a_field() -> None:
    fields = FIELDS | {"age": Markup("<input name=age value='\ue000field fair\ue001'>")}
    shown = render_page("{{ fields.age }}{{ fields.fair }}", fields, str, str, "en")
    assert shown.count("<input name=fair>") == 1


@pytest.mark.parametrize(
    "value", ["<script>", "' onclick=alert(1)", "\ue000field age\ue001", "\ue000image x\ue001"]
)
def test_answers_change_only_text(value: str) -> None:
    text = BOTH + "<p {{ values.student }}>{{ values.student }}</p>"
    shown = page(text, value)
    assert "<script" not in shown
    assert "onclick=alert(1)>" not in shown
    assert shown.count("<input name=age>") == shown.count("<input name=fair>") == 1
