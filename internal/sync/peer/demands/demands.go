// Package demands learns what a relay demands before it answers: that whoever asks authenticates (NIP-42), that filters name
// kinds, and that filters do not ask for requests to vanish (NIP-62). It judges refusals and remembers what they have shown.
// Times are readings of a clock that counts from any fixed point.
package demands

// RequestMode says how a request went out. Refusals are judged by it: the request may have gone out before the demand was met.
type RequestMode struct {
	Authorized bool // it went out after the relay had accepted our AUTH
	Kindless   bool // a filter names no kinds of its own
	Mode       Mode
	Upper      bool // a filter has a tag name in upper case
	Lower      bool // such filters were left out
}
