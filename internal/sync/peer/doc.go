// Package peer is the life of one remote relay: Peer turns what is wanted of the relay (package want), the frames of one
// connection and the passing of time into requests, and owns what is in flight, what is confirmed and what was learned of the
// relay. It is values and functions only; package relaysync owns the goroutines and performs the effects. What can be decided without
// the rest of a peer, packages of values decide, below this one. Read peer.go first, and input.go and effect.go
// for what a peer is told and has done.
package peer
