//go:build race

package main

// raceDetector says that signatures take so long to check that the demo is no measure.
const raceDetector = true
