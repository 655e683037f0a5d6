// Package sim runs whole graspds, wired as the binary does, against each other and
// against relays that judge them, inside a testing/synctest bubble: weeks pass in
// a second, the network, the disks and the clocks are under the test's control.
// Only tests use it.
package sim
