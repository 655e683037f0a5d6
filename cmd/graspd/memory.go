package main

import "runtime/debug"

// garbagePercent is how much garbage may gather before it is collected, over what lives. Half of what lives is the store's
// block cache, which makes none: with Go's usual 100 the process takes as much again for nothing.
const garbagePercent = 50

// boundGarbage sets that, unless the operator has set GOGC.
func boundGarbage(env lookup) {
	if _, set := env("GOGC"); !set {
		debug.SetGCPercent(garbagePercent)
	}
}
