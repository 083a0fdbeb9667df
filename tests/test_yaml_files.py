"""YAML files: malicious ones are rejected before they use time or memory."""

import json

import pytest

from cheaptalk.yaml_files import parse_yaml


def bomb(merge: bool) -> str:
    """Return a few lines of YAML that expand to 10^11 values."""
    lines = ["a0: &a0 {k0: 1}" if merge else "a0: &a0 [x]"]
    for number in range(1, 12):
        ten = ", ".join([f"*a{number - 1}"] * 10)
        lines.append(f"a{number}: &a{number} " + (f"{{<<: [{ten}]}}" if merge else f"[{ten}]"))
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (bomb(merge=False), "more than 1,000,000 values with expanded anchors; write fewer"),
        (bomb(merge=True), "more than 1,000,000 values with expanded anchors; write fewer"),
        ("a: &a [*a]", "line 1, column 4: an anchor contains itself; replace the alias"),
        ("a: &a {b: {c: *a}}", "an anchor contains itself"),
        ("[" * 20_000, "values are nested too deeply; use fewer levels"),
        (
            "instances: " + "9" * 10_000,
            "line 1, column 12: a number has 10,000 characters; shorten it",
        ),
        ("instances: 0x" + "f" * 10_000, "a number has 10,002 characters"),
        ("instances: " + ":".join(["59"] * 10_000), "a number has 29,999 characters"),
        ("on: 2020-13-45", '"2020-13-45" cannot be read .*; put it in quotes'),
        ("instances: !!int many", 'line 1, column 12: "many" cannot be read'),
        ("instances: !!int ''", 'line 1, column 12: "" cannot be read'),
        ("swap: !!bool maybe", '"maybe" cannot be read'),
        ("when: !!timestamp soon", '"soon" cannot be read'),
        ("x" * 1_000_001, "1,000,001 characters exceed the maximum of 1,000,000"),
        ("run: !!python/object/apply:os.getcwd []", "could not determine a constructor"),
    ],
)
def test_invalid_or_malicious_yaml_is_rejected(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_yaml(text)


def test_anchors_and_merges_are_read() -> None:
    text = "a: &a {x: 1}\nb: {<<: *a, y: 2}\nc: [*a, *a]"
    assert parse_yaml(text) == {"a": {"x": 1}, "b": {"x": 1, "y": 2}, "c": [{"x": 1}, {"x": 1}]}


def test_surrogate_pairs_of_json_are_decoded() -> None:
    data = {"name": "\U0001f600 caf\u00e9", "\U0001f91d": ["\U0001f600"]}
    assert parse_yaml(json.dumps(data)) == data


@pytest.mark.parametrize("half", ["\\ud83d", "\\ude00"])
def test_lone_surrogates_are_rejected(half: str) -> None:
    with pytest.raises(ValueError, match="half of a surrogate pair") as caught:
        parse_yaml(f'{{"name": "a{half}b"}}')
    assert str(caught.value) == (
        f"line 1, column 10: {half} is half of a surrogate pair; write the character itself"
    )
