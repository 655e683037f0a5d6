// Package layout says how the store's keys and values look on disk (format 7): one ordered key space, its tables (key.go), and what stands in
// each. Every value has a type, which parses and appends its bytes, and every key has a function. The package holds nothing, reads nothing and
// decides nothing, so that whoever serves, reads or mends a store speaks of the same rows. Rules of the protocol stand here only where a key or
// a value follows from them: which tags have rows, which kinds a deletion concerns, how long something is remembered.
package layout
