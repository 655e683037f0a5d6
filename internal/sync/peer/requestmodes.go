package peer

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/demands"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/peer/livesubs"
	"github.com/graspd/graspd/internal/sync/peer/refusal"
	"github.com/graspd/graspd/internal/sync/want"
)

// requestModes are what the relay demands of requests, and how they go out for that.
type requestModes struct {
	*stepContext
	kinds demands.Kinds
	auth  demands.Auth // on the connection
	names demands.Names
	away  time.Time // shortly before the relay was last heard before the connection; zero = never
}

// connected begins a connection. The relay was last heard at the time heard, if ever.
func (d *requestModes) connected(heard time.Time) {
	d.auth, d.away = demands.Auth{}, time.Time{}
	if !heard.IsZero() {
		d.away = heard.Add(-d.cfg.QuickReconnect)
	}
}

// requestMode is how a request goes out now.
func (d *requestModes) requestMode(kindless bool) demands.RequestMode {
	return demands.RequestMode{Authorized: d.auth.Granted(), Kindless: kindless, Mode: d.kinds.Mode()}
}

// requestModeOf returns how a request of a task goes out for what f asks.
func (d *requestModes) requestModeOf(t *task, f nostr.Filter) demands.RequestMode {
	m := d.requestMode(f.Kinds == nil)
	m.Upper = demands.Upper(f)
	if t.group.unfiltered != nil {
		return t.group.unfiltered.requestMode(m)
	}
	return m
}

// challenged takes what the relay wants to see signed.
func (d *requestModes) challenged(text string) {
	if d.auth.Challenged(text, d.now.Mono) {
		d.sign()
	}
}

func (d *requestModes) sign() { d.effect(Authenticate{Challenge: d.auth.Challenge()}) }

// wait handles the refusal of a request. It returns when the request is to be sent
// again: now, if it was sent before this relay was authenticated, never, if the
// verdict is awaited; and false if authentication gives nothing to hope for.
func (d *requestModes) wait(why refusal.Kind, as demands.RequestMode) (time.Duration, bool) {
	if why != refusal.Auth {
		return 0, false
	}
	h, sign := d.auth.Refused(as, d.now.Mono)
	if sign {
		d.sign()
	}
	switch h {
	case demands.Now:
		return d.now.Mono, true
	case demands.AfterAuth:
		return untilVerdict, true
	}
	return 0, false
}

// verdict takes the relay's answer to our AUTH. It reports whether what waited for one is to go on.
func (d *requestModes) verdict(in Authenticated) bool {
	if !d.auth.Answered(in.OK) {
		return false
	}
	if in.OK {
		d.report(LevelInfo, "the relay accepts graspd's authentication")
	} else {
		d.unauthorized(in.Reason)
	}
	return true
}

// overdue ends the wait for a challenge or a verdict that does not come. It reports whether what waited is to go on.
func (d *requestModes) overdue() bool {
	missed := d.auth.Expire(d.now.Mono)
	if missed != "" {
		d.unauthorized(missed)
	}
	return missed != ""
}

func (d *requestModes) unauthorized(why string) {
	d.report(LevelWarn, "the relay demands authentication, and graspd could not authenticate", "cause", why)
}

// retryAt is when what waited for the verdict is sent again, once there is one, or none is to come.
func (d *requestModes) retryAt() time.Duration {
	if d.auth.Granted() {
		return d.now.Mono
	}
	return d.now.Mono + refusedRetry
}

// wake names the time at which a challenge or a verdict is waited for no more.
func (d *requestModes) wake() time.Duration {
	if d.auth.Awaited() {
		return d.auth.Until()
	}
	return backoff.Never
}

// answered notes that a request was answered.
func (d *requestModes) answered(r *request) {
	d.names.Answered(r.RequestMode)
	if r.task != nil && r.task.filter.Kinds != nil {
		return // it was asked by id, with kinds of its own
	}
	if d.kinds.Answered(r.RequestMode) {
		d.report(LevelInfo, "the relay refuses filters without kinds: graspd adds kinds")
	}
}

// maybeNeedsKinds says whether nothing came for a filter without kinds and nothing shows yet that the relay answers such filters. A relay that
// compares is not doubted, and neither is an answer in layer 4, where mostly there is nothing.
func (d *requestModes) maybeNeedsKinds(t *task, compares bool) bool {
	return t.group.Layer != want.LayerReferences && t.filter.Kinds == nil && !t.doubted &&
		!compares && t.neg == nil && !t.pager.Found() && d.kinds.Untold()
}

// kindsProbed is how many events are asked for to see whether there are any.
const kindsProbed = 5

// doubt asks with kinds for a few events of what brought nothing without.
func doubt(t *task) nostr.Filter {
	f := t.group.Since.Span().Narrow(demands.AllKinds.With(t.filter))
	f.Limit = new(kindsProbed)
	return f
}

// silentWithoutKinds adds kinds for a relay that silently answers nothing without.
func (d *requestModes) silentWithoutKinds() {
	d.kinds.AnswersNothing()
	d.report(LevelInfo, "the relay answers filters without kinds with nothing: graspd adds kinds")
}

// outdated says whether a live REQ was sent in a mode in which the relay brings nothing for it, or less than in the one of now.
func (d *requestModes) outdated(l *livesubs.REQ) bool {
	bare := func(x itemset.Lot) bool {
		return x.Layer == want.LayerAnnouncements && x.Isolation != itemset.NeedsNoKinds
	}
	return d.names.Outdated(l.RequestMode) || d.kinds.Outdated(l.RequestMode) || d.kinds.Emptied() && slices.ContainsFunc(l.Lots(), bare)
}

// withoutUpper takes filters with tag names in upper case out of those of a live REQ, where the relay may refuse them.
func (d *requestModes) withoutUpper(filters []nostr.Filter, m *demands.RequestMode) []nostr.Filter {
	if m.Upper = slices.ContainsFunc(filters, demands.Upper); !m.Upper || !d.names.Left() {
		return filters
	}
	m.Upper, m.Lower = false, true
	return slices.DeleteFunc(filters, demands.Upper)
}

// upperRefused takes the refusal of a stored request. It reports whether that is because of a tag name in upper case.
func (d *requestModes) upperRefused(r *request, text string) bool {
	known := d.names.Refuses()
	if !d.names.Alone(r.RequestMode, text) {
		return false
	}
	if !known {
		d.report(LevelInfo, "the relay refuses tag names in upper case: graspd asks without them", "text", text)
	}
	return true
}
