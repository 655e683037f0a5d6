// Package protocol has nothing of its own: below it are Nostr, its NIPs, GRASP and git's wire as values, each read from and written to
// the bytes that others send.
//
// Read nostr first: events, filters and messages are everywhere. Then nip34 and grasp for what a repository is, and gitwire for what git says.
//
// What is here never waits, never opens anything and never decides what is kept: bytes go in, values or an error come out.
//
// The packages:
//
//   - bip340: verification of signatures
//   - gitwire: git's HTTP protocol as values: requests, advertisements, reports
//   - grasp: relay URLs, "lists this service", maintainer sets
//   - negentropy: NIP-77 reconciliation, both roles
//   - nip11: the relay information document, ours and others'
//   - nip19: npub and naddr, as operators write them
//   - nip34: typed views of the git events that decide something, and addresses
//   - nip98: the authorization of an HTTP request by a signed event
//   - nostr: NIP-01 values and codec: events, filters, messages; signing
//   - pktline: the frames of git's protocols, and side-band
package protocol
