//go:build !race

package storetest

// UnderRace tells whether this is built for the race detector.
const UnderRace = false
