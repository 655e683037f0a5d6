//go:build !race

package relay_test

// slower is how much smaller the large tests are under the race detector.
const slower = 1
