package testkit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// req answers a REQ, or does what the relay's habits and temper ask for instead.
func (c *fakeConn) req(m nostr.Req) {
	f := c.relay
	if c.demands(m) || c.dislikes(m.Sub, false, m.Filters...) {
		return
	}
	if f.Refuse != nil {
		if frame := f.Refuse(m.Sub, m.Filters); frame != "" {
			c.refused(m.Sub)
			c.send([]byte(frame))
			return
		}
	}
	if b, ok := f.tooMuch(m); ok {
		c.refuse(m, b)
		return
	}
	if c.troubled(m.Sub) {
		return
	}
	c.mu.Lock()
	tooMany := f.Subs.exceeded(len(c.subs) + 1)
	late := tooMany && f.Subs.How == ByNoticeLate
	if !tooMany || late {
		c.subs[m.Sub] = m.Filters
	}
	c.mu.Unlock()
	if tooMany && !late {
		c.refuse(m, f.Subs)
		return
	}
	if !c.stored(m) {
		return
	}
	c.eose(m)
	if late {
		c.mu.Lock()
		delete(c.subs, m.Sub)
		c.mu.Unlock()
		c.refused(m.Sub)
		c.send(nostr.AppendNotice(nil, f.Subs.Text))
	}
}

// tooMuch returns the bound that a REQ exceeds, if it exceeds one.
func (f *FakeRelay) tooMuch(m nostr.Req) (Bound, bool) {
	if f.Filters.exceeded(len(m.Filters)) {
		return f.Filters, true
	}
	for _, fl := range m.Filters {
		n := len(fl.IDs)
		for _, t := range fl.Tags {
			n = max(n, len(t.Values))
		}
		if f.Values.exceeded(n) {
			return f.Values, true
		}
		if f.Zero == ZeroRefused && fl.Limit != nil && *fl.Limit == 0 {
			return Bound{How: ByClosed, Text: "error: invalid limit 0"}, true
		}
	}
	return Bound{}, false
}

// refuse refuses a REQ in the way of the bound.
func (c *fakeConn) refuse(m nostr.Req, b Bound) {
	c.refused(m.Sub)
	switch b.How {
	case ByClosed:
		c.send(nostr.AppendClosed(nil, m.Sub, b.Text))
	case ByEOSE:
		c.send(nostr.AppendNotice(nil, b.Text))
		c.send(nostr.AppendEOSE(nil, m.Sub))
	default:
		c.send(nostr.AppendNotice(nil, b.Text))
	}
}

// troubled does to a request what the relay's temper has in store. It reports whether the request gets no other answer.
func (c *fakeConn) troubled(sub string) bool {
	t := c.relay.temper()
	if c.chance(t.Junk) {
		c.send([]byte(`["EVENT","` + sub + `",{"id":"zz"}]`))
	}
	if c.chance(t.Big) {
		c.send(slices.Concat([]byte(`["NOTICE","`), bytes.Repeat([]byte("big "), 1<<18), []byte(`"]`)))
	}
	if c.chance(t.Notice) {
		c.send(nostr.AppendNotice(nil, c.pick(noticeTexts)))
	}
	if c.chance(t.Unknown) {
		c.send(nostr.AppendEOSE(nil, fmt.Sprint("x", sub)))
	}
	if c.chance(t.Closed) {
		c.refused(sub)
		c.send(nostr.AppendClosed(nil, sub, c.pick(closedTexts)))
		return true
	}
	if c.chance(t.Silence) {
		c.relay.lose()
		return true
	}
	return false
}

// stored sends the stored events; false when the REQ or the connection ended in the middle.
func (c *fakeConn) stored(m nostr.Req) bool {
	t := c.relay.temper()
	for _, fl := range m.Filters {
		give, found := c.event, c.match(fl)
		if isLive(fl) {
			give = c.show
		}
		for i, e := range found {
			if i == len(found)/2 && c.chance(t.Break) {
				c.ended(m.Sub, "rate-limited: slow down")
				return false
			}
			if c.chance(t.Drop) {
				c.end(errors.New("dropped in the middle of a page"))
				return false
			}
			if c.chance(t.Forged) {
				c.event(m.Sub, forge(e))
			}
			if c.chance(t.Mismatch) {
				c.event(m.Sub, Mark(Someone(-1), e.CreatedAt, 1, "not what you asked for"))
			}
			give(m.Sub, e)
			if c.chance(t.Double) {
				give(m.Sub, e)
			}
		}
	}
	return true
}

// isLive reports whether a filter asks for events to come and not for stored ones.
func isLive(fl nostr.Filter) bool { return fl.Limit != nil && *fl.Limit <= 1 && len(fl.IDs) == 0 }

// forge returns a copy of an event with another content under the same id.
func forge(e *nostr.Event) *nostr.Event {
	x := nostr.Event{ID: e.ID, PubKey: e.PubKey, CreatedAt: e.CreatedAt, Kind: e.Kind, Tags: e.Tags, Content: e.Content + " forged", Sig: e.Sig}
	return &x
}

// eose sends the EOSE of a REQ, unless habits or temper say otherwise.
func (c *fakeConn) eose(m nostr.Req) {
	f, t := c.relay, c.relay.temper()
	zero := len(m.Filters) > 0
	for _, fl := range m.Filters {
		zero = zero && fl.Limit != nil && *fl.Limit == 0
	}
	switch {
	case f.NoEOSE.Load(), zero && f.Zero == ZeroMute:
		return
	case c.chance(t.LateEOSE):
		c.mu.Lock()
		c.late[m.Sub] = true
		c.mu.Unlock()
		return
	}
	c.send(nostr.AppendEOSE(nil, m.Sub))
	if c.chance(t.Double) {
		c.send(nostr.AppendEOSE(nil, m.Sub))
	}
	if !zero && c.chance(t.End) {
		c.ended(m.Sub, "")
	}
}

// ended ends a REQ by the relay's will, with a CLOSED.
func (c *fakeConn) ended(sub, reason string) {
	c.refused(sub)
	c.mu.Lock()
	delete(c.subs, sub)
	c.mu.Unlock()
	c.send(nostr.AppendClosed(nil, sub, reason))
}
