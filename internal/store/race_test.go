//go:build race

package store_test

// underRace: the key-value store checks itself at every step when it is built for the race detector, and is some thirty
// times slower, so that tests which do the same with many seeds do it with few.
const underRace = true
