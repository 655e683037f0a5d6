// Package store owns the event log of this relay and everything derived from it: the indexes, which version of a
// replaceable event is the current one, what was deleted, what expires, and what was seen and decided against. It
// decides nothing about whether an event is wanted; it only applies the rules of the protocol (NIP-01 replacement,
// NIP-09, NIP-40, NIP-62) to what it is given. The ingest writer is the only one who writes events, through one Batch
// at a time; any number of readers use Views and the feed, and see nothing that is not durable. The store has no
// goroutine of its own.
//
// Here is what serves: who opens, writes and follows a store. Below it, layout says how keys and values look, kv runs the engine and knows
// its files, and index reads one state. Above it, mend checks a store and builds it anew. They are apart so that a reader who looks for how a
// query is answered, or for what a damaged file costs, need not read how a deletion is carried out.
package store
