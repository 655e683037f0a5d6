package testkit

import (
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// OddMode says how a fake relay treats a filter with a value that it does not take: one of more than 255 bytes, with a NUL, or with Unloved in
// it.
type OddMode int

// The ways to treat a REQ or NEG-OPEN with such a value. The relay refuses it as a whole.
const (
	OddFine   OddMode = iota
	OddNotice         // a NOTICE that names no subscription and says what is wrong, as strfry did
	OddClosed         // CLOSED that says so
	OddVague          // CLOSED that does not say what is wrong
	OddSilent         // no answer
)

// Unloved makes a fake relay refuse a value that contains it, for no reason that anybody could know.
const Unloved = "unloved"

// OddText is the text of strfry for such a value.
const OddText = "ERROR: bad req: error parsing #a: filter item too large"

func (f *FakeRelay) hasOdd(filters ...nostr.Filter) bool {
	odd := func(v string) bool { return len(v) > 255 || strings.ContainsRune(v, 0) || strings.Contains(v, Unloved) }
	return f.Odd != OddFine && slices.ContainsFunc(filters, func(x nostr.Filter) bool {
		return slices.ContainsFunc(x.Tags, func(t nostr.TagFilter) bool { return slices.ContainsFunc(t.Values, odd) })
	})
}

// dislikes refuses a request with a value that the relay does not take, and reports whether it did. neg says that the request is a NEG-OPEN.
func (c *fakeConn) dislikes(sub string, neg bool, filters ...nostr.Filter) bool {
	f := c.relay
	if !f.hasOdd(filters...) {
		return false
	}
	c.refused(sub)
	switch {
	case f.Odd == OddNotice:
		c.send(nostr.AppendNotice(nil, OddText))
	case f.Odd == OddSilent:
	case neg:
		c.send(nostr.AppendNegErr(nil, sub, "error: bad filter", 0))
	case f.Odd == OddClosed:
		c.send(nostr.AppendClosed(nil, sub, OddText))
	default:
		c.send(nostr.AppendClosed(nil, sub, "error: could not query"))
	}
	return true
}
