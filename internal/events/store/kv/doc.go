// Package kv runs the key-value store under the events (pebble, "the engine"). It tunes the engine for a small machine (Tuning), takes the lock
// that keeps a second process out, and guards a disk that has failed once from the engine (Guard). It also works on the engine's files where the
// engine itself cannot help: it reads logs and tables without the engine, so that a damaged place costs no more than what stands there (ReadWAL,
// ReadTable), cuts the logs of a copy where they cannot be read, and puts a store that was built anew into the place of the old one by renaming.
// The package knows no event. Of the keys it knows only which are the log, as these get tables of their own.
package kv
