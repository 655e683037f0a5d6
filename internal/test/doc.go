// Package test has nothing of its own: below it is what tests alone use. The product never imports it.
//
// Read testkit first for scripted relays and events, sim for whole worlds in a bubble of time, and arch for the rules of this tree.
//
// The packages:
//
//   - arch: the rules of this tree
//   - cluster: nodes that share a log of commits, killed, frozen and cut off in one bubble of time
//   - corpus: seeded, realistic events of git, each with the truth about what becomes of it
//   - sim: whole relays against each other and against relays that judge them, in one bubble of time
//   - testkit: scripted relays that judge their client, and events
//   - testkit/itertest: the contract of an iterator
//   - testkit/lives: how many random lives tests live
//   - testkit/pipe: network connections in memory
package test
