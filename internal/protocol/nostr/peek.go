package nostr

import "math"

// MaxStrings is how many strings the tags of one event in a message may have together. A string of two bytes takes eight times as much
// memory once it is parsed, so the length of a message alone bounds its memory badly. The largest state (NIP-34) has 40,000.
const MaxStrings = 1 << 16

// EventKind returns the kind of the event in an EVENT message, of which beginning is the first part, and whether that part shows the kind.
// The message may be a client's or a relay's.
func EventKind(beginning []byte) (kind Kind, shown bool) {
	c := scanner{s: string(beginning)}
	if verb, err := c.verb(); err != nil || verb != "EVENT" || c.expect(',') != nil {
		return 0, false
	}
	if c.next() == '"' { // a relay's has a subscription
		if _, err := c.str(); err != nil || c.expect(',') != nil {
			return 0, false
		}
	}
	return c.peekKind()
}

// KindOf returns the kind of an event as it is stored, of which beginning is the first part, and whether that part shows the kind.
func KindOf(beginning []byte) (kind Kind, shown bool) {
	c := scanner{s: string(beginning)}
	return c.peekKind()
}

// peekKind reads an object of which the end may be missing.
func (c *scanner) peekKind() (kind Kind, shown bool) {
	_ = c.object(func(k string) error {
		if k != "kind" || shown {
			return c.skip(maxDepth)
		}
		n, err := c.integer(math.MaxUint16)
		if err == nil && c.next() == 0 { // the end may be in the middle of it
			return c.fail("kind without end")
		}
		kind, shown = Kind(n), err == nil
		return err
	})
	return kind, shown
}
