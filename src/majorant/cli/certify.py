"""`majorant certify`: is majority vote optimal for these votes?"""

from __future__ import annotations

import click

from majorant.cli.options import Grouped, show, takes
from majorant.cli.progress import at_work
from majorant.cli.source import Engine, Source, input_options, memory_options
from majorant.errors import ConfigError
from majorant.options import Claim, Common, Seed, Shown


@click.command(cls=Grouped)
@input_options
@memory_options
@takes(Claim, Common, Seed, Shown)
def certify(source: Source, engine: Engine, claim: str | None, level: float, seed: int) -> None:
    """Certify whether majority vote is as good as the best possible rule.

    \b
    Exit codes (for --claim; by default the gold claim if it is decided, else the anonymous one):
      0    optimal
      1    not optimal
      2    bad arguments or input
      3    open: these votes cannot tell
      130  interrupted
    """
    with engine.open(source) as votes:
        from majorant.evidence.certificate.claims import certification
        from majorant.render.certificate import certificate_summary, certificate_text, dependence_summary
        from majorant.render.notes import account_facts

        with at_work("certifying"):
            certificate = certification(votes, level=level, rng=seed).certificate
    chosen = certificate.standing if claim is None else getattr(certificate, claim)
    if chosen is None:
        need = "gold labels (--gold or --gold-file)" if claim == "gold" else "workers who vote on several items"
        raise ConfigError(f"--claim {claim} is not possible for these votes: it needs {need}.")
    summary = {
        "input": account_facts(votes.account),
        **certificate_summary(certificate),
        "dependence": dependence_summary(certificate.dependence),
    }
    text = certificate_text(certificate)
    show(summary, [text], quiet=[text])
    raise SystemExit({"optimal": 0, "not optimal": 1, "open": 3}[chosen.verdict])
