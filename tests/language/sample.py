"""Print a random sample of the project's text for an editor to review.

Run ``python -m tests.language.sample --seed 3``: 60 sentences of the docs, 60 strings of the
command line, 40 first lines of docstrings and 60 names. The same seed gives the same sample.
"""

import argparse
import random
from collections.abc import Sequence

from tests.language import text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, required=True, help="Seed of the sample.")
    chance = random.Random(parser.parse_args().seed)  # noqa: S311 - a sample, not a secret
    sentences = [sentence for sentence in text.docs_sentences() if len(sentence.split()) > 3]
    docstrings, names = text.docstrings_and_names()
    lines = [docstring.splitlines()[0] for docstring in docstrings]
    show("Docs", chance.sample(sentences, 60))
    show("Command line", chance.sample(text.cli_strings(), 60))
    show("Docstrings", chance.sample(lines, 40))
    show("Names", chance.sample(names, 60))


def show(title: str, sample: Sequence[str]) -> None:
    print(f"\n## {title}\n")  # noqa: T201 - a program
    for number, passage in enumerate(sample, 1):
        print(f"{number:2}. {passage}")  # noqa: T201 - a program


if __name__ == "__main__":
    main()
