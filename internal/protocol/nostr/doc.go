// Package nostr has the values of NIP-01 and their codec: events, filters, and every message between a client and a relay, with NIP-42,
// NIP-45 and NIP-77. The package decides what is well-formed, which id an event has and whether a signature is genuine. The package never
// decides whether anybody wants an event. All other packages use these types. Nothing in this package touches a clock, the network or the
// disk.
package nostr
