// Package policy decides what this relay keeps: one pure decision for every event, the same for clients and for sync. It
// sees what is served through a View. It never looks at replacement, deletion or what has been decided before, which are
// the store's rules. Package ingest asks it for each event in turn.
package policy
