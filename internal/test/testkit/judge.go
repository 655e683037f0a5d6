package testkit

import (
	"cmp"
	"sync/atomic"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// judge holds a client to the protocol. It belongs to the goroutine that serves the connection.
type judge struct {
	relay *FakeRelay
	used  map[string]use
	open  int // open REQs
	auths int
	noted atomic.Bool // a NOTICE was sent
}

// use says what a subscription id was used for, and whether that is over.
type use struct {
	neg     bool
	closed  bool // by the client
	refused bool // by the relay, which the client may not know yet
}

func (j *judge) fail(format string, args ...any) {
	j.relay.t.Helper()
	j.relay.t.Errorf("%s: "+format, append([]any{j.relay.URL}, args...)...)
}

// read parses a frame and judges it. It returns nil for a malformed frame.
func (j *judge) read(b []byte) nostr.ClientMessage {
	f := j.relay
	if f.MaxMessage > 0 && len(b) > f.MaxMessage {
		j.fail("message of %d bytes, %d allowed", len(b), f.MaxMessage)
	}
	m, err := nostr.ParseClient(b)
	if err != nil {
		j.fail("malformed frame %.200s: %v", b, err)
		return nil
	}
	switch m := m.(type) {
	case nostr.Req:
		j.begin(m.Sub, false)
		j.filters(m)
	case nostr.Close:
		j.end(m.Sub, false)
	case nostr.NegOpen:
		j.begin(m.Sub, true)
		if m.Filter.Limit != nil {
			j.fail("NEG-OPEN with a limit: %.200s", b)
		}
	case nostr.NegMsg:
		if u := j.used[m.Sub]; !u.neg || u.closed {
			j.fail("NEG-MSG for %q, which is not open", m.Sub)
		}
	case nostr.NegClose:
		j.end(m.Sub, true)
	case nostr.Auth:
		j.auth(m.Event)
	default:
		j.fail("unexpected message %T", m)
	}
	return m
}

func (j *judge) begin(sub string, neg bool) {
	if _, dup := j.used[sub]; dup {
		j.fail("subscription id %q used twice", sub)
	}
	if len(sub) > 20 {
		j.fail("subscription id %q is longer than some relays take", sub)
	}
	j.used[sub] = use{neg: neg}
	if neg {
		return
	}
	if j.open++; j.relay.MaxSubs > 0 && j.open > j.relay.MaxSubs {
		j.fail("%d subscriptions, %d allowed", j.open, j.relay.MaxSubs)
	}
}

func (j *judge) end(sub string, neg bool) {
	u, ok := j.used[sub]
	switch {
	case !ok, u.neg != neg:
		j.fail("%q is closed and was never opened", sub)
	case u.closed && !j.noted.Load(): // a NOTICE may mean that a CLOSE was thrown away, so the client may send it again
		j.fail("%q is closed twice", sub)
	}
	if ok && !neg && !u.closed && !u.refused {
		j.open--
	}
	u.closed = true
	j.used[sub] = u
}

// refused notes that the relay itself has ended a request.
func (j *judge) refused(sub string) {
	u := j.used[sub]
	if !u.neg && !u.closed && !u.refused {
		j.open--
	}
	u.refused = true
	j.used[sub] = u
}

// filters judges the filters of a REQ.
func (j *judge) filters(m nostr.Req) {
	f := j.relay
	if f.MaxFilters > 0 && len(m.Filters) > f.MaxFilters {
		j.fail("%d filters, %d allowed", len(m.Filters), f.MaxFilters)
	}
	most := 500
	if f.Info != nil {
		most = cmp.Or(f.Info.Limitation.MaxLimit, most)
	}
	for _, fl := range m.Filters {
		switch {
		case fl.Limit == nil || *fl.Limit > most:
			j.fail("a filter without limit, or one above %d: %s", most, fl.AppendJSON(nil))
		case len(fl.Tags) > 1:
			j.fail("a filter with several tags: %s", fl.AppendJSON(nil))
		case len(m.Filters) > 1 && *fl.Limit > 1:
			j.fail("several filters that are paged in one REQ")
		case isLive(fl) && (fl.Since != nil || fl.Until != nil):
			j.fail("a live filter with since or until: %s", fl.AppendJSON(nil))
		}
		if len(fl.IDs) > 500 {
			j.fail("%d ids", len(fl.IDs))
		}
		for _, t := range fl.Tags {
			if len(t.Values) == 0 || len(t.Values) > 500 {
				j.fail("a list of %d values", len(t.Values))
			}
		}
	}
}
