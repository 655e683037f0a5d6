package main

import _ "embed"

// tried is the last section of the page: what was measured once and is not in graspd, so that nobody tries it again unaware.
//
//go:embed tried.md
var tried string
