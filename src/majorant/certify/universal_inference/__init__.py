"""Split e-values for any number of classes, voters alike or named: tables of votes, comparisons, constrained EM."""
