package gitsync

import "math/rand/v2"

// alwaysFirst is how many of the groups of a fetch come first each time: those of states mostly, which are before the pull requests.
const alwaysFirst = 2

// inTurn puts the groups of a fetch in the order in which they are asked for. A server is asked for few at a time that it does not show, so
// the others are in another order each time, and what no server has any more keeps nothing else from being asked for.
func inTurn[T any](fetch uint64, groups []T) {
	if len(groups) <= alwaysFirst {
		return
	}
	rest := groups[alwaysFirst:]
	rand.New(rand.NewPCG(fetch, 0)).Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
}
