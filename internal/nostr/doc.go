// Package nostr holds the values of NIP-01 and their codec: events, filters, and every message that a client and a
// relay exchange, with NIP-42, NIP-45 and NIP-77 included. It decides what is well-formed, what an event's id is and
// whether a signature is genuine; it never decides whether an event is wanted. Everything above it uses these types,
// and nothing in here touches a clock, the network or the disk.
package nostr
