"""Public data sets by name: where to download them, what they contain, and how their repeated votes count."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import resources
from pathlib import Path

from majorant.arguments import validated
from majorant.errors import ConfigError, DataError
from majorant.read import read_with
from majorant.read.options import ReadOptions
from majorant.votes import Votes


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A published file: its path in the data folder, its address, and its SHA-256."""

    path: str
    url: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A public data set; `items`, `workers` and `rows` are the numbers expected when it is read."""

    name: str
    about: str
    votes: RemoteFile
    gold: RemoteFile | None = None
    columns: str | None = None  # the columns in order, if the file has no header
    repeats: str = "error"
    items: int
    workers: int
    rows: int
    licence: str
    citation: str

    @property
    def files(self) -> tuple[RemoteFile, ...]:
        """The files of the data set."""
        return (self.votes,) if self.gold is None else (self.votes, self.gold)


def _toolkit(name: str, commit: str, digest: str) -> RemoteFile:
    toolkit = "https://raw.githubusercontent.com/orchidproject/active-crowd-toolkit"
    return RemoteFile(f"active-crowd-toolkit/{name}.csv", f"{toolkit}/{commit}/Data/{name}.csv", digest)


def _product(name: str, digest: str) -> RemoteFile:
    at_scale = "https://raw.githubusercontent.com/yuan-li/truth-inference-at-scale"
    place = f"{at_scale}/ff6d32971fb3ca17e2f0c784a126d8b26495dbce/data/crowd_truth_inference/d_jn-product/{name}.csv"
    return RemoteFile(f"crowd-truth-inference/d_jn-product/{name}.csv", place, digest)


FIRST = "2c0c194e85ca126545bd830d811ec39151bdd448"
SECOND = "b0204e0329bc1d6718c0e890bc571a5cfa954d7e"
NO_LICENCE = "none stated by the publisher"
VENANZI = "M. Venanzi, O. Parson, A. Rogers, N. Jennings: The ActiveCrowdToolkit, HCOMP 2015"
SIMPLE, TIMED = "worker,item,label,gold", "worker,item,label,gold,seconds"
REGISTRY: Mapping[str, Dataset] = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            name="SP",
            about="Sentiment of sentences from film reviews: 0 negative, 1 positive.",
            votes=_toolkit("SP", SECOND, "a83cf48092dc61bbb8986fdb0c1a17f658ba8555bddffc9e9ca26b95d514236f"),
            columns=SIMPLE, items=4999, workers=203, rows=27746, licence=NO_LICENCE, citation=VENANZI,
        ),
        Dataset(
            name="SP_amt",
            about="Sentiment of film reviews, 20 votes on each of 500, with the seconds each vote took.",
            votes=_toolkit("SP_amt", SECOND, "fec6f3027202d33016b8b06083c83118d6d237e671b8bd4c22d0aa979e41ba0a"),
            columns=TIMED, items=500, workers=143, rows=10000, licence=NO_LICENCE, citation=VENANZI,
        ),
        Dataset(
            name="ZenCrowd_in",
            about="Does a web address describe an entity of a news text? Workers in India; repeated votes all count.",
            votes=_toolkit("ZenCrowd_in", FIRST, "c5eabf0b145ce04122a77e28e3d765045ba65c3b16edee2dc0c5106418e92f5a"),
            columns=TIMED, repeats="each", items=2040, workers=25, rows=11205, licence=NO_LICENCE, citation=VENANZI,
        ),
        Dataset(
            name="ZenCrowd_us",
            about="Does a web address describe an entity of a news text? Workers in the US; repeated votes all count.",
            votes=_toolkit("ZenCrowd_us", SECOND, "e64c95ba430ea42b69a7ffec64b12ed2d844b9403fd053f7a28df2494cfa1b10"),
            columns=TIMED, repeats="each", items=2040, workers=74, rows=12190, licence=NO_LICENCE, citation=VENANZI,
        ),
        Dataset(
            name="MS",
            about="Genre of music clips, 1 to 10.",
            votes=_toolkit("MS", FIRST, "fb9e0b146723c93dac71d1ed601a736cf94fed3b444f4921d6c4e57b4505c06a"),
            columns=SIMPLE, items=700, workers=44, rows=2945, licence=NO_LICENCE, citation=VENANZI,
        ),
        Dataset(
            name="CF",
            about="Sentiment of tweets about the weather, 0 to 4.",
            votes=_toolkit("CF", FIRST, "18bc4dc1780ce1f2b2f9ffedc493f4b8f9a4590a3fde8dce2e5d3367bcc8686e"),
            columns=SIMPLE, items=300, workers=461, rows=1720, licence=NO_LICENCE, citation=VENANZI,
        ),
        Dataset(
            name="CF_amt",
            about="The same tweets about the weather with 20 votes each and their seconds; 5 rows are exact copies.",
            votes=_toolkit("CF_amt", SECOND, "c44d4bf3cbf08f343072d86a10e9085ab91885a2b4bbb1d0d03eb2cd461f6c5b"),
            columns=TIMED, items=300, workers=110, rows=6030, licence=NO_LICENCE, citation=VENANZI,
        ),
        Dataset(
            name="D-Product",
            about="Do two product descriptions mean the same product? 0 no, 1 yes; three votes each.",
            votes=_product("label", "525098daa3d9aa4919160ecef7daaf65a42d2b92c01ffbb5b5ff17b63110b366"),
            gold=_product("truth", "cd86cc6574fa1693520085eb4b4919e6676afbdffbf53b708edadeeb0150d2f6"),
            items=8315, workers=176, rows=24945,
            licence="MIT (the repository that publishes it)",
            citation="Y. Zheng, G. Li, Y. Li, C. Shan, R. Cheng: Truth Inference in Crowdsourcing, PVLDB 2017",
        ),
    )
}  # fmt: skip


BUNDLED: Mapping[str, str] = {  # small simulated data sets included in the package
    "reviews": "A simulated crowd: 600 reviews, 5 votes each by 40 workers of unequal skill.",
    "judges": "A simulated panel: 400 answers, 6 judges who share mistakes, 30 gold labels.",
}


def find(name: str) -> Dataset:
    """The data set with that name, in upper or lower case."""
    known = {key.casefold(): dataset for key, dataset in REGISTRY.items()}
    if name.casefold() not in known:
        raise ConfigError(f"There is no data set {name!r}. Choose one of {', '.join([*BUNDLED, *REGISTRY])}.")
    return known[name.casefold()]


def local_path(file: RemoteFile) -> Path | None:
    """Where the file already is: in the folder MAJORANT_DATA, or in the download cache; None if in neither."""
    for folder in (os.environ.get("MAJORANT_DATA"), _cache()):
        path = Path(folder).expanduser() / file.path if folder else None
        if path is not None and path.is_file():
            if sha256(path.read_bytes()).hexdigest() != file.sha256:
                raise DataError(
                    f"{path} is not the published file (its SHA-256 differs). Remove it to download it again."
                )
            return path
    return None


def _cache() -> Path:
    import pooch

    return Path(pooch.os_cache("majorant"))


def get(name: str) -> tuple[Path, ...]:
    """The files of a data set, downloaded and checked if they are not here yet: votes, then gold if separate."""
    if name.casefold() in BUNDLED:
        return (Path(str(resources.files("majorant"))) / "data" / f"{name.casefold()}.csv",)
    return tuple(local_path(file) or _download(file) for file in find(name).files)


def _download(file: RemoteFile) -> Path:
    import pooch

    target = _cache() / file.path
    try:
        downloaded = pooch.retrieve(
            file.url, f"sha256:{file.sha256}", fname=target.name, path=target.parent, progressbar=False
        )
    except (OSError, ValueError) as error:
        raise DataError(
            f"{file.url} cannot be downloaded ({type(error).__name__}). If you are offline, put the file at "
            f"{file.path} in a folder and set the environment variable MAJORANT_DATA to that folder."
        ) from None
    return Path(downloaded)


@validated
def load(name: str) -> Votes:
    """Load the votes and gold labels of a public data set, counting repeated votes as its publishers intended."""
    if name.casefold() in BUNDLED:
        bundled = read_with(get(name)[0], ReadOptions())
        return replace(bundled, account=replace(bundled.account, source=f"data:{name.casefold()}"))
    dataset = find(name)
    votes, *gold = get(name)
    gold_file = gold[0] if gold else None
    return read_with(votes, ReadOptions(columns=dataset.columns, gold_file=gold_file, repeats=dataset.repeats))
