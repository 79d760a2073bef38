"""Is plain majority vote already the best possible rule for your votes?"""

__version__ = "0.1.0"
