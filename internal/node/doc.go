// Package node puts the parts of one relay together in the order in which data flows, runs them, and ends them in the opposite order. The
// package builds every relay: the one that serves, those of the demo, the target of an import and those of simulated worlds. The relays
// differ by fields of Config. Parts of a Node read what the store and the disk have; its Term is all that writes. Read Config, then Node, Term and
// parts.
//
// Nothing imports node but the commands and the demo, and node never decides what its parts do.
package node
