// Package index reads one state of the store: a snapshot, or the open batch over the database. Reader finds events by the rows that layout
// forms: it looks ids, addresses, marks, records and waits up, answers filters (Query, Pairs, Marks, About, Count), and says what the
// protocol has against an event (Rule). It writes nothing. The store above it chooses the state, and package storecheck reads a store by the same
// Reader as the code that serves it.
//
// A query becomes conditions of index ranges (plan.go). Reader reads the cheapest condition in the order of the answer (scan.go), checks the
// others for each row (probe.go), and reads the events a window at a time (window.go). Most keys that a decision asks for are not there: Sketch
// knows that without a read.
package index
