// Package store owns the event log of this relay and everything derived from it: the indexes, which version of a
// replaceable event is the current one, what was deleted, what expires, and what was seen and decided against. It
// decides nothing about whether an event is wanted; it only applies the rules of the protocol (NIP-01 replacement,
// NIP-09, NIP-40, NIP-62) to what it is given. The ingest writer is the only one who writes events, through one Batch
// at a time; any number of readers use Views and the feed, and see nothing that is not durable. The store has no
// goroutine of its own, but while it proves events for a check or a repair.
package store
