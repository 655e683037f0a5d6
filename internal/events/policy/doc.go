// Package policy decides what this relay keeps: one pure decision for every event, the same for clients and for sync. It
// sees the served events through a View. The store, not this package, knows replacement, deletion and earlier decisions.
// Package ingest asks policy for each event in turn.
package policy
