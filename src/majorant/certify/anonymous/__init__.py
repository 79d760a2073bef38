"""The claim about rules that ignore who voted, for two classes, from histograms of votes."""
