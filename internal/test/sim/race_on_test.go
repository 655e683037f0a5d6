//go:build race

package sim_test

// slower is by how much the race detector lowers the number of worlds, and the size of scenarios.
const slower = 5
