"""`majorant certify`: is majority vote optimal for these votes?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from majorant.cli.options import Grouped, claim_option, common_options, level_option, show
from majorant.cli.progress import at_work
from majorant.cli.source import EngineChoice, Job, Source, input_options, memory_options
from majorant.errors import ConfigError

if TYPE_CHECKING:
    from majorant.backend import Backend
    from majorant.evidence.certificate.certificate import Certificate

EXIT_CODE = {"optimal": 0, "not optimal": 1, "open": 3}


@click.command(cls=Grouped)
@input_options
@claim_option
@memory_options
@level_option
@common_options
def certify(
    source: Source,
    engine: EngineChoice,
    claim: str | None,
    level: float,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Certify whether majority vote is as good as the best possible rule.

    \b
    Exit codes (for the gold claim if it decides, else the anonymous one, or the one of --claim):
      0    optimal
      1    not optimal
      2    bad arguments or input
      3    open: these votes cannot tell
      130  interrupted
    """
    with engine.backend(Job(source=source)) as backend:
        from majorant.evidence.certificate.claims import certification

        with at_work("certifying", quiet=quiet or backend.whole is None):
            certificate = certification(backend, level=level, rng=seed).certificate
        code = _exit_code(certificate, claim)
    _show(backend, certificate, as_json=as_json)
    raise SystemExit(code)


def _show(backend: Backend, certificate: Certificate, *, as_json: bool) -> None:
    from majorant.render.certificate import certificate_summary, certificate_text, dependence_summary
    from majorant.render.notes import account_facts

    summary = {
        "input": account_facts(backend.votes.account),
        **certificate_summary(certificate),
        "dependence": dependence_summary(certificate.dependence),
    }
    show(summary, certificate_text(certificate), as_json=as_json)


def _exit_code(certificate: Certificate, claim: str | None) -> int:
    chosen = certificate.standing if claim is None else getattr(certificate, claim)
    if chosen is None:
        need = "gold labels (--gold or --gold-file)" if claim == "gold" else "workers who vote on several items"
        raise ConfigError(f"--claim {claim}: these votes have no such claim; it needs {need}.")
    return EXIT_CODE[chosen.verdict]
