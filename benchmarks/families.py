"""The families of the public data sets: sets of one origin, which resemble each other, so that they count once.

A set that is not listed is a family of its own.
"""

FAMILIES = {
    "SP": "sentiment polarity",
    "SP_amt": "sentiment polarity",
    "CF": "weather",
    "CF_amt": "weather",
    "ZenCrowd_in": "ZenCrowd",
    "ZenCrowd_us": "ZenCrowd",
    "snow_temporal": "Snow et al.",
    "snow_wsd": "Snow et al.",
    "snow_disgust": "Snow et al.",
    "ruters": "Label-Aggregation",
    "fej2013": "Label-Aggregation",
    "llmbar_six": "LLMBar",
    "llmbar_65": "LLMBar",
    "mtbench_pairs": "LLMBar",
    "chexpert_eleven": "CheXpert",
    "chexpert_soft": "CheXpert",
    "code_java": "software engineering judges",
    "code_summary_java": "software engineering judges",
    "alt_summeval": "AltTest",
    "alt_lgbteen": "AltTest",
}


def family_of(name: str) -> str:
    """The family of a data set."""
    return FAMILIES.get(name, name)
