"""The console's languages: marked texts, complete catalogues and the choice of a language."""

import ast
import re
from pathlib import Path

import jinja2
import pytest

from cheaptalk.rules.game_spec import LANGUAGES, LOCALE
from cheaptalk.web.console import translation
from cheaptalk.web.console.sentences import sentences
from cheaptalk.web.console.translation import CONSOLE_LANGUAGES, HtmlTranslation
from tests.web.console.office import Office
from tests.web.test_languages import english_lines

CONSOLE = Path(translation.__file__).parent
TRANSLATED = {
    "All studies": "Alle Studien",
    "Deleted <b>%(x1)s</b>.": "<b>%(x1)s</b> gelöscht.",
    "yes, of course": "ja, natürlich",
    "%(x1)s of %(x2)s": "%(x2)s, davon %(x1)s",
    "Search": "Suche",
    "Name": "Name der Studie",
}


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("<h1>All studies</h1>", "<h1>Alle Studien</h1>"),
        ("<p>Deleted <b>{{ name }}</b>.</p>", "<p><b>&lt;A&gt;</b> gelöscht.</p>"),
        ("{{ 'yes, of course' if name else 'no' }}", "ja, natürlich"),
        ("{% if name %}{{ one }} of {{ two }}{% endif %}", "2, davon 1"),
        ('<input placeholder="Search" value="Search" name="{{ \'All studies\' }}">',
         '<input placeholder="Suche" value="Search" name="All studies">'),
        ("{% macro field(label) %}<b>{{ label }}</b>{% endmacro %}{{ field('Name') }}",
         "<b>Name der Studie</b>"),
        ("<b>All studies</b>{{ name }}</p>", "<b>Alle Studien</b>&lt;A&gt;</p>"),
        ("{{ name == 'All studies' }} {# Search #}<script>Search</script>",
         "False <script>Search</script>"),
        ("<option{{ ' selected' if name }}>{{ name }}</option>",
         "<option selected>&lt;A&gt;</option>"),
        ("<i>100 % sure</i>", "<i>100 % sure</i>"),
    ],
)  # fmt: skip
def test_texts_of_templates_are_translated_and_nothing_else(source: str, shown: str) -> None:
    environment = jinja2.Environment(
        autoescape=True, extensions=["jinja2.ext.i18n", HtmlTranslation]
    )
    environment.install_gettext_callables(  # type: ignore[attr-defined]
        lambda text: TRANSLATED.get(text, text), lambda one, several, _: several, newstyle=True
    )
    assert environment.from_string(source).render(name="<A>", one=1, two=2) == shown


def test_console_is_in_the_languages_with_a_catalogue() -> None:
    assert {"en", "de"} <= {*CONSOLE_LANGUAGES} <= {*LANGUAGES}
    for code in CONSOLE_LANGUAGES[1:]:
        assert (LOCALE / code / "console.po").exists()


def test_notices_are_in_catalogues_instead_of_composed() -> None:
    """Only literal texts can be translated; values belong into their placeholders."""
    for path in CONSOLE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "go":
                assert not any(isinstance(text, ast.JoinedStr) for text in node.args[1:]), path


async def test_language_follows_the_browser_and_then_the_user_s_choice(office: Office) -> None:
    browser = await office.log_in_as()
    browser.client.headers["Accept-Language"] = "de-CH,de;q=0.9"
    assert '<html lang="de" dir="ltr">' in (await browser.get("/")).text
    assert '<html lang="en" dir="ltr">' in (await browser.get("/?lang=en")).text
    assert "<h1>Studies</h1>" in (await browser.get("/")).text  # remembered
    browser.client.headers["Accept-Language"] = "fr"
    assert "<h1>Studien</h1>" in (await browser.get("/?lang=de")).text


async def test_pages_and_notices_are_in_german(office: Office) -> None:
    browser = await office.log_in_as()
    browser.client.headers["Accept-Language"] = "de"
    notice = await browser.follow(await browser.post("/new-study", name="pilot"))
    assert "pilot wurde angelegt." in notice
    paths = ["/", "/accounts", "/account", "/log", "/start", "/new-study", "/form?change=pilot"]
    tabs = re.findall(r'href="/console(/studies/pilot/[^"]+)"', notice)
    assert len(tabs) >= 5
    for path in [*paths, *tabs, "/studies/pilot/delete"]:
        page = (await browser.get(path)).text.replace("The question that this study answers.", "")
        page = re.sub("<(textarea|option|code|li|small|span).*?</\\1>", "", page, flags=re.DOTALL)
        assert english_lines([page]) == set(), path
    missing = await browser.get("/studies/none/overview")
    assert "Alle Studien" in missing.text


@pytest.mark.parametrize(
    ("sentence", "german"),
    [
        ("A study named pilot already exists; choose another name.",
         "Eine Studie namens pilot gibt es bereits; wählen Sie einen anderen Namen."),
        ('games.0: horizon: should be a whole number, not "many"',
         'games.0: horizon: muss eine ganze Zahl sein, nicht "many"'),
        ("6 of 1,206 matches ended, 3 of them forfeited; 1 failed",
         "6 von 1.206 Partien beendet, 3 davon aufgegeben; 1 fehlgeschlagen"),
        ("Paying participants costs 100.00 USD for 50 places.",
         "Die Bezahlung der Teilnehmenden kostet 100,00 USD für 50 Plätze."),
        ("1,018 matches failed; resume the run to retry",
         "1.018\xa0Partien fehlgeschlagen; setzen Sie den Lauf fort, um es erneut zu versuchen"),
        ("too many wrong passwords; try again in 2 minutes",
         "zu viele falsche Passwörter; versuchen Sie es in 2\xa0Minuten erneut"),
        ('"Data" is not a player of this study; remove it',
         "„Data“ ist kein Spieler dieser Studie; entfernen Sie ihn"),
        ("no catalogue has this", "no catalogue has this"),
    ],
)  # fmt: skip
def test_composed_sentences_are_translated_but_not_names(sentence: str, german: str) -> None:
    assert sentences("de").translated(sentence) == german
    assert sentences("en").translated(sentence) == sentence
