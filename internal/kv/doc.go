// Package kv is the key-value store under the events (pebble, "the engine") as graspd runs it: how it is tuned for a small machine
// (Tuning), the lock that keeps a second process out, the guard that keeps the engine from a disk that has failed once, and what is done
// with its files where the engine itself cannot help: logs and tables are read without it, so that a damaged place costs no more than what
// stands there (ReadWAL, ReadTable), a copy's logs are cut where they cannot be read, and a store that was built anew takes the place of
// the old one by renaming. The package knows no event; of the keys it knows only which of them are the log, which gets tables of its own.
package kv
