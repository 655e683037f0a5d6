// Package demands is what a relay demands before it answers: that who asks authenticates (NIP-42), that filters name kinds,
// and that they do not ask for requests to vanish (NIP-62). It judges refusals and keeps what they have shown. Times are
// those of a clock that counts from any fixed point.
package demands

// Manner is how a request went out. A refusal is judged by it: what the relay demands may be met since.
type Manner struct {
	Authorized bool // after the relay had accepted our AUTH
	Kindless   bool // a filter names no kinds of its own
	Mode       Mode
}
