"""`majorant serve`: drop a file of votes into a page on this machine, see the answer, label a few items."""
