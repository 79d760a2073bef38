"""`majorant certify`: is majority vote optimal for these votes?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from majorant.cli.options import Grouped, claim_option, common_options, level_option, share_option, show
from majorant.cli.progress import at_work
from majorant.cli.source import EngineChoice, Job, Source, input_options, memory_options
from majorant.errors import ConfigError

if TYPE_CHECKING:
    from majorant.backend import Backend
    from majorant.evidence.certificate.certificate import Certificate
    from majorant.evidence.certificate.gold import LabelsLoss
    from majorant.votes import Votes

EXIT_CODE = {"optimal": 0, "not optimal": 1, "open": 3}


@click.command(cls=Grouped)
@input_options
@claim_option
@click.option(
    "--labels", metavar="FILE", help="Also evaluate existing labels: a table with the columns item and label."
)
@click.option(
    "--plug-in", metavar="METHOD", help="Treat a method's estimate as the truth instead (no confidence level)."
)
@share_option("--share", 1.0, "With --plug-in: estimate from this random share of the items.", min_open=True)
@memory_options
@level_option
@common_options
def certify(
    source: Source,
    engine: EngineChoice,
    claim: str | None,
    labels: str | None,
    plug_in: str | None,
    share: float,
    level: float,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Certify whether majority vote is as good as the best possible rule.

    \b
    Exit codes (for the gold claim if it decides, else the anonymous one, or the one of --claim):
      0    optimal; with --plug-in: optimal at the estimate
      1    not optimal; with --plug-in: not optimal at the estimate
      2    bad arguments or input
      3    open: these votes cannot tell
      130  interrupted
    """
    if plug_in is None and share != 1:
        raise ConfigError("--share is for --plug-in METHOD: the certificate uses all items.")
    if plug_in is not None and labels is not None:
        raise ConfigError("--labels and --plug-in are two questions: ask one at a time.")
    if engine.flag and (labels or plug_in):
        raise ConfigError(
            "--labels and --plug-in look at every item in memory: leave out --memory, or give the votes of a random "
            "sample of the items."
        )
    if plug_in is not None:
        votes = source.read()
        raise SystemExit(_plug_in(votes, plug_in, share, seed, as_json=as_json))
    with engine.backend(Job(source=source)) as backend:
        from majorant.evidence.certificate.claims import certification

        with at_work("certifying", quiet=quiet or backend.whole is None):
            certificate = certification(backend, level=level, rng=seed).certificate
        code = _exit_code(certificate, claim)
    _show(backend, certificate, as_json=as_json, labels=labels)
    raise SystemExit(code)


def _show(backend: Backend, certificate: Certificate, *, as_json: bool, labels: str | None) -> None:
    from majorant.render.certificate import certificate_summary, certificate_text, dependence_summary, labels_loss_lines
    from majorant.render.notes import account_facts
    from majorant.render.plain import to_plain

    summary = {
        "input": account_facts(backend.votes.account),
        **certificate_summary(certificate),
        "dependence": dependence_summary(certificate.dependence),
    }
    judged: list[str] = []
    if labels is not None and backend.whole is not None:
        loss = _judge_labels(backend.whole, labels, certificate.level)
        summary["labels"] = {"source": labels, **to_plain(loss)}
        judged = ["", *labels_loss_lines(labels, loss)]
    show(summary, "\n".join([certificate_text(certificate), *judged]), as_json=as_json)


def _judge_labels(votes: Votes, labels: str, level: float) -> LabelsLoss:
    from majorant.evidence.certificate.gold import labels_loss
    from majorant.pipeline import aggregate
    from majorant.read.gold import read_labels

    return labels_loss(votes, read_labels(labels, votes), level=level, fit=aggregate(votes, "dawid-skene"))


def _plug_in(votes: Votes, method: str, share: float, seed: int, *, as_json: bool) -> int:
    from majorant.evidence.certificate.plug_in import plug_in
    from majorant.pipeline import aggregate
    from majorant.render.certificate import plug_in_summary, plug_in_text

    verdict = plug_in(votes, lambda sample: aggregate(sample, method, rng=seed), share=share, rng=seed)
    show(plug_in_summary(verdict), plug_in_text(verdict), as_json=as_json)
    return 0 if verdict.optimal else 1


def _exit_code(certificate: Certificate, claim: str | None) -> int:
    chosen = certificate.standing if claim is None else getattr(certificate, claim)
    if chosen is None:
        need = "gold labels (--gold or --gold-file)" if claim == "gold" else "workers who vote on several items"
        raise ConfigError(f"--claim {claim}: these votes have no such claim; it needs {need}.")
    return EXIT_CODE[chosen.verdict]
