"""The command ``study invite``, which writes invitations for a mail merge."""

from __future__ import annotations

from pathlib import Path

import cheaptalk as ct
from cheaptalk.atomic_files import whole_file
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.lookup import find_study, opened
from cheaptalk.cli.shared.printing import say
from cheaptalk.cli.shared.sentences import counted


def invite(
    study: opt.Study,
    addresses: Path | None = None,
    /,
    store: opt.Store = opt.DEFAULT_STORE,
    url: str = "http://127.0.0.1:8643",
    out: Path = Path("invitations.csv"),
    reminders: bool = False,
) -> None:
    """Write personal links for a mail merge; no mail is sent.

    Addresses are stored only in the file of identities next to the store.

    Args:
        addresses: CSV file with a column address or email, and any other columns.
        url: Use this address of the participants' pages, e.g.
            https://lab.example.org/s/STUDY.
        out: Write the table to this file.
        reminders: Include only people who have not completed or left the study.
    """
    found = find_study(study, store, None, None, None, prefer_stored=True).study
    if found.people is None or found.people.recruitment.source != "code":
        raise ct.studies.StudyError(
            f"{found.name}: personal links require people with codes; set recruitment: "
            "{source: code} under people"
        )
    identities = ct.records.Identities(ct.web.identities_path(store))
    new = 0
    if addresses is not None:
        try:
            text = addresses.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ct.CheaptalkError(
                f"{addresses} cannot be read as text in UTF-8: {error}"
            ) from None
        new = ct.records.invite(identities, found.name, ct.records.read_addresses(text))
    invitations = ct.records.invitations_of(identities, found.name)
    ended: set[str] = set()
    if reminders:
        with opened(store) as existing:
            if existing is not None:
                ended = ct.records.ended_codes(existing, found.name, identities)
    with whole_file(out) as file:
        file.write(ct.records.mail_merge(invitations, found.name, url, ended))
    out.chmod(0o600)
    rest = [invitation for invitation in invitations if invitation.code not in ended]
    say(f"{counted(len(rest), 'invitation')} written to {out} ({new:,} new)")
