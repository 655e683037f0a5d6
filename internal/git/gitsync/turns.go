package gitsync

import "math/rand/v2"

// alwaysFirst is how many groups of a fetch come first each time. They are mostly those of states, which stand before pull requests.
const alwaysFirst = 2

// inTurn puts the groups of a fetch in the order in which the fetch asks for them. One fetch can ask a server for few objects that it does not
// advertise. So the order of the groups after the first changes with each fetch: data that no server has any more keeps no other group from its
// turn.
func inTurn[T any](fetch uint64, groups []T) {
	if len(groups) <= alwaysFirst {
		return
	}
	rest := groups[alwaysFirst:]
	rand.New(rand.NewPCG(fetch, 0)).Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
}
