//go:build race

package hosting_test

const raceDetector = true
