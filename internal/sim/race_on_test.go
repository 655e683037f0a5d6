//go:build race

package sim_test

// slower is by how much the race detector lowers the number of worlds.
const slower = 5
