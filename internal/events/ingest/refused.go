package ingest

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
)

// Bounds of the refusals that are kept, as strangers cause them. Beyond either the oldest go: of those that one address or relay has
// brought, or of all.
const (
	MostRefused     = 100
	mostRefusedFrom = 25
	mostWhy         = 2000 // bytes of a reason
	mostAddress     = 300  // bytes of an address
)

// refusals keeps the last refusals, the newest last, so that an operator can say why something is not here. The writer notes, and anybody
// reads. It is in memory alone.
type refusals struct {
	mu   sync.Mutex // guards list
	list []refusal
}

// refusal is one refusal. by is the party that brought the event, which nobody is shown.
type refusal struct {
	status.Refused
	by string
}

// saw notes a verdict that was told, if it refuses what a client sent, or an announcement of a relay that names this one. Most of what other
// relays have is not for this one, and is no news.
func (d *Door) saw(it *item, v policy.Verdict) {
	if v.OK() || v.Outcome == policy.Failed {
		return
	}
	from := ""
	if it.from != store.Direct {
		if it.event.Kind != nip34.KindRepository || v.Outcome == policy.Superseded || v.Outcome == policy.Invalid {
			return
		}
		a, err := nip34.ParseAnnouncement(it.event)
		if rules := d.rules.Load(); err != nil || !rules.Service.Lists(a) {
			return
		}
		from = it.src.conf.Label
	}
	d.refusals.note(it.event, from, it.label, v.Reason, d.now())
}

// note adds a refusal, or counts it with the one that it repeats.
func (r *refusals) note(e *nostr.Event, from, by, why string, now time.Time) {
	x := refusal{status.Refused{
		Last: status.Moment{Time: now}, Times: 1, From: from, Author: nip19.Npub(e.PubKey), Event: e.ID.String(), Kind: uint16(e.Kind),
		What: whatOf(e), Address: safetext.Line(e.Address(), mostAddress), Why: safetext.Line(why, mostWhy),
	}, by}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.IndexFunc(r.list, func(o refusal) bool {
		return o.Author == x.Author && o.Kind == x.Kind && o.Address == x.Address && o.Why == x.Why && o.From == x.From
	}); i >= 0 {
		x.Times += r.list[i].Times
		r.list = slices.Delete(r.list, i, i+1)
	}
	r.list = append(r.list, x)
	ofOne := 0
	for _, o := range r.list {
		if o.by == by {
			ofOne++
		}
	}
	switch {
	case ofOne > mostRefusedFrom:
		i := slices.IndexFunc(r.list, func(o refusal) bool { return o.by == by })
		r.list = slices.Delete(r.list, i, i+1)
	case len(r.list) > MostRefused:
		r.list = slices.Delete(r.list, 0, 1)
	}
}

// whatOf says what an event is, with what its author calls it. The name in a profile would have to be parsed out of JSON, and everybody waits for
// the writer meanwhile.
func whatOf(e *nostr.Event) string {
	if e.Kind == nostr.KindMetadata {
		return nip34.NameOf(e.Kind)
	}
	return strings.TrimSpace(nip34.NameOf(e.Kind) + " " + nip34.Title(e))
}

// LastRefused returns the last refusals, the newest first.
func (d *Door) LastRefused() []status.Refused {
	d.refusals.mu.Lock()
	defer d.refusals.mu.Unlock()
	out := make([]status.Refused, 0, len(d.refusals.list))
	for _, x := range slices.Backward(d.refusals.list) {
		out = append(out, x.Refused)
	}
	return out
}
