// Package events has nothing of its own: below it is what this relay accepts and keeps. Every event comes through one door (ingest), is
// judged by rules that are pure (policy), and stands in one log (store). What the refs of a repository are follows from it (refs, refdb).
//
// Read store first, then ingest: its Source.Submit is the way in, and store.Since is how everybody else learns of it.
//
// Nothing here connects to another relay or touches a git object, and nothing outside touches the store's keys: layout, index and kv are the
// store's own. What is here never answers OK before it is on disk.
//
// The packages:
//
//   - election: who writes the log of commits that several nodes share, and when another one tries to
//   - ingest: the door: verify, decide, commit
//   - policy: what is accepted, and the words of a refusal
//   - refdb: the refs of hosted repositories, in step with the events of the open batch: what waits, what a push may do, what is released
//   - refs: what a repository's refs are, by the states that are stored, and what a push to it may do
//   - store: the event log, its indexes, replacement and deletion, what waits for git data, and rows that change with events
//   - store/bucketlog: the log of commits in an object store, and a reader that waits for what comes into it
//   - store/commitlog: the log of commits that several stores share: what an entry is, and how one comes to be there
//   - store/index: reading one state of the store: lookups, queries over the indexes, and what the protocol has against an event
//   - store/kv: the key-value store under the events: tuning, lock, guard against a failing disk, reading its files without it
//   - store/latelog: a log whose newest commits are on one disk alone for a moment, until a slower one has them
//   - store/layout: the store's keys and values as they are on disk: tables, rows, records, and how each is parsed
//   - store/logtest: logs of commits for tests, and what every such log must do, as tests
//   - store/snapshot: copies of the store in an object store, with which an empty machine begins, and below which the log goes
//   - store/storecheck: checking a store, and building a damaged one anew from what is left
//   - store/storetest: what every event store must do, as tests, and a model of one
package events
