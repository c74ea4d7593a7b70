"""Comparisons: several schemes on the same scenario and seeds, and variants of a scenario side by side.

runs         the plan, and the folder of a comparison
comparison   rows, ratios, what is to be known beside them; `groups` are rows by group of flows, `same` alike runs
variants     the comparisons of a scenario's variants
verdict      sentences; `asked` is what the schemes ask for
"""
