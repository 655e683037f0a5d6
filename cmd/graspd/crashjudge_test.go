package main

import (
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// judge checks a data directory that nobody uses: it is sound, it has all that is certain but what something took
// away, and the rules hold for what is there.
func (h *crash) judge(what, dir string, certain []*event) {
	h.t.Helper()
	if code, out, errs := checked(h.t, dir); code != exitOK {
		h.t.Fatalf("%s: check: exit code %d\n%s%s", what, code, out, errs)
	}
	there := make(map[nostr.ID]*event)
	for line := range strings.Lines(exported(h.t, dir)) {
		e, err := nostr.ParseEvent([]byte(strings.TrimSpace(line)))
		if err != nil {
			h.t.Fatalf("%s: %v in %s", what, err, line)
		}
		there[e.ID] = e
	}
	causes := newCauses(there, h.book.certain())
	causes.passed(h.book.all())
	now := time.Now().Unix()
	for _, e := range certain {
		if there[e.ID] == nil && !causes.tookAway(e, now) {
			h.t.Errorf("%s: %s of kind %d is gone, one of %d that are certain; %d are there", what, e.ID, e.Kind, len(certain), len(there))
		}
	}
	inForce := newCauses(there, nil)
	for _, e := range there {
		if h.book.offered[e.ID] == nil {
			h.t.Errorf("%s: %s was published by nobody", what, e.ID)
		}
		if inForce.replaced(e) || inForce.deleted(e) {
			h.t.Errorf("%s: %s is there in spite of what replaced or deleted it", what, e.ID)
		}
	}
}

// causes are the events that take others away.
type causes struct {
	versions  map[string][]*event // by address
	deletions map[string][]*event // by what they name, and their author
	requests  map[nostr.PubKey]int64
}

func newCauses(there map[nostr.ID]*event, certain []*event) *causes {
	c := &causes{map[string][]*event{}, map[string][]*event{}, map[nostr.PubKey]int64{}}
	for _, e := range there {
		c.add(e)
	}
	for _, e := range certain {
		c.add(e)
	}
	return c
}

func (c *causes) add(e *event) {
	if a := e.Address(); a != "" {
		c.versions[a] = append(c.versions[a], e)
	}
	switch e.Kind {
	case nostr.KindDeletion:
		for _, t := range e.Tags {
			key := t.Value() + e.PubKey.String()
			c.deletions[key] = append(c.deletions[key], e)
		}
	case nostr.KindVanish:
		c.requests[e.PubKey] = max(c.requests[e.PubKey], e.CreatedAt)
	}
}

// passed adds versions that may have been stored, unanswered, and were deleted
// since: they took older ones away before.
func (c *causes) passed(offered []*event) {
	for _, e := range offered {
		if a := e.Address(); a != "" && c.deleted(e) {
			c.versions[a] = append(c.versions[a], e)
		}
	}
}

func (c *causes) tookAway(e *event, now int64) bool {
	at, expires := e.Expiration()
	until, left := c.requests[e.PubKey]
	return expires && at <= now || left && e.CreatedAt <= until || c.replaced(e) || c.deleted(e)
}

func (c *causes) replaced(e *event) bool {
	return slices.ContainsFunc(c.versions[e.Address()], func(v *event) bool {
		return v.ID != e.ID && (v.CreatedAt > e.CreatedAt || v.CreatedAt == e.CreatedAt && v.ID.Compare(e.ID) < 0)
	})
}

func (c *causes) deleted(e *event) bool {
	if e.Kind == nostr.KindDeletion || e.Kind == nostr.KindVanish {
		return false
	}
	by := e.PubKey.String()
	if len(c.deletions[e.ID.String()+by]) > 0 {
		return true
	}
	return e.Address() != "" && slices.ContainsFunc(c.deletions[e.Address()+by], func(d *event) bool { return d.CreatedAt >= e.CreatedAt })
}
