"""What a short text says, apart from how it happens to be worded.

`tokens` cuts a text into words and marks; `openings` takes off what only introduces it; `contractions`, `moments`,
`quantities` and `phrases` write what is left in one way; `statement` puts them together. `rearrangements` knows the few
orders of the same words that say the same.
"""
