"""Tailored linear inversion: every model in which majority is not optimal meets a linear statistic made for it."""
