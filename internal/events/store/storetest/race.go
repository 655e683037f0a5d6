//go:build race

package storetest

// UnderRace: the key-value store checks itself at every step when it is built for the race detector, and is some thirty
// times slower, so that tests which do the same many times do it a few times then.
const UnderRace = true
