// Package store has the event log of this relay and everything that follows from it: the indexes, which version of a replaceable event is
// the current one, what was deleted, what expires, and what was seen and decided against. The package does not decide whether anybody wants
// an event: it applies the rules of the protocol (NIP-01 replacement, NIP-09, NIP-40, NIP-62) to the events that it gets. The ingest writer
// alone writes events, through one Batch at a time. Any number of readers use Views and the feed, and see nothing that is not durable. The
// store has no goroutine of its own.
//
// This package has what serves: opening, writing and following a store. Below it, layout says how keys and values look, kv runs the engine
// and knows its files, and index reads one state. Above it, storecheck checks a store and builds it anew. These are packages of their own so that
// a reader who looks for how a query is answered, or for what a damaged file costs, need not read how a deletion is carried out.
package store
