//go:build !race

package sim_test

const slower = 1
