"""Constraints over columns: what stands in an entry that is no row. docs/adr/0090 says why they are as they are.

`build` and `read` make them, `simplify` and `project` bring them into normal form, `decide` answers questions,
`calls` puts in what outside sources say, `instances` finds rows, `text` prints what `read` reads.
"""
