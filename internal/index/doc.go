// Package index reads one state of the store: a snapshot, or the open batch over the database. Reader finds events by the rows that layout
// forms: it looks ids, addresses, marks, records and waits up, answers filters (Query, Pairs, Marks, About, Count), and says what the
// protocol has against an event (Rule). It writes nothing. The store above it decides which state that is, and what mends a store reads by
// the same Reader as what serves it.
//
// A query becomes conditions of index ranges (plan.go); the cheapest condition is read in the order of the answer (scan.go), the others are looked
// at for each row (probe.go), and the events are read a window at a time (window.go). Most of what a decision asks for is not there: Sketch
// knows that without a read.
package index
