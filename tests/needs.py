"""What some tests need and not every machine has; `make test` says at its end what it went without."""

NO_DATA = "the public data sets are not here: let MAJORANT_DATA name their folder, or run majorant data get NAME"
