package peer_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// character is what a relay is like for good; a relay that behaves still has it.
type character struct {
	told     capacity.Limits
	maxSubs  int    // REQs at once, 0 = any
	tooMany  string // how it says so: closed, notice, late (a NOTICE after EOSE)
	cost     int    // values in all REQs together, 0 = any
	filters  int    // in a REQ, 0 = any
	values   int    // in a list, 0 = any
	ids      int    // in a filter's ids, 0 = any
	tooBig   string // closed, notice, empty (a NOTICE, then EOSE with nothing)
	page     int    // events per filter and REQ
	order    string // newest, oldest, moody, first (what came first first), any
	open     bool   // since and until are exclusive
	sifted   bool   // a full page is filtered once more, and has up to five events less
	neg      string // works, notice, closed, negerr, silent, drop
	records  int    // more are too big to reconcile, 0 = any
	newest   int    // only so many are reconciled, without a word, 0 = all
	varies   bool   // any number from 0 to newest, each time
	given    int    // of the events that are asked by id, at most, without a word, 0 = all
	mute     bool   // no EOSE where limit is 0
	noZero   bool   // refuses limit 0
	withheld int    // of 100 events: shown in reconciliations, never delivered
	auth     string // first, late (the challenge comes after the refusal), notice (so it refuses); "" = none is demanded
	dislikes string // how it refuses a value that is too long, holds a control character, or that it does not like: closed, notice, named (a CLOSED that says why), noticed (a NOTICE that does), silent, drop; "" = it takes all
	kinds    string // refuses or empties filters without; "" = answers them
}

// temper is how often, of 100 times, a relay does what a good one does not.
type temper struct {
	refuseDial, drop, silence, closed, notice, loseEvent, double, unknown, forget, lateEnd, storeFails int

	messages int // not of 100: after so many a connection ends; 0 = it does not
}

// relaySide is one connection as the relay sees it.
type relaySide struct {
	subs     map[string][]nostr.Filter // live or being answered
	order    []string
	sessions map[string]*negentropy.Set
	lossy    bool // lost something without a word
	opens    int
	authed   bool
	asked    bool // a challenge was sent
	sent     int  // messages
}

// fakeRelay is a scripted relay.
type fakeRelay struct {
	character
	temper
	r        *rand.Rand
	events   []*nostr.Event
	born     map[nostr.ID]time.Duration
	withheld map[nostr.ID]bool
	conn     *relaySide
	send     func(nostr.RelayMessage)
	hangUp   func(reason string)
	now      func() time.Duration
}

func (f *fakeRelay) chance(of100 int) bool { return of100 > 0 && f.r.IntN(100) < of100 }

func (f *fakeRelay) accept() {
	f.conn = &relaySide{subs: map[string][]nostr.Filter{}, sessions: map[string]*negentropy.Set{}}
	if f.auth == "first" {
		f.challenge()
	}
}

// publish adds an event and delivers it live. It reports whether it was sent.
func (f *fakeRelay) publish(e *nostr.Event) bool {
	f.events = append(f.events, e)
	f.born[e.ID] = f.now()
	if f.character.withheld > 0 && f.chance(f.character.withheld) {
		f.withheld[e.ID] = true
		return false
	}
	if f.conn == nil {
		return false
	}
	sent := false
	for _, sub := range f.conn.order {
		if f.conn.subs[sub] != nil && matchesAny(f.conn.subs[sub], e) {
			if f.chance(f.loseEvent) {
				f.conn.lossy = true
				continue
			}
			f.send(nostr.RelayEvent{Sub: sub, Event: e})
			sent = true
		}
	}
	return sent
}

func matchesAny(filters []nostr.Filter, e *nostr.Event) bool {
	return slices.ContainsFunc(filters, func(x nostr.Filter) bool { return x.Matches(e) })
}

var refusals = []string{
	"rate-limited: slow down", "rate-limited: there is a bug in the client, no one should be making so many requests",
	"rate-limited: too many REQs", "ERROR: bad req: arr too big", "error: unable to answer", "blocked: no", "", "ERROR: too many concurrent REQs",
	"invalid: what is this", "restricted: not for you", "auth-required: who are you", "unsupported: search", "shutting down",
	kindlessText, "too many kinds",
}

var notices = []string{
	"rate limited", "welcome to this relay", "ERROR: too many concurrent REQs", "slow down please", "could not parse command",
	"ERROR: bad req: arr too big", "Subscription rejected: Duplicate subscription", "ERROR: too many concurrent NEG requests", "invalid: Invalid input",
}

// fault does something that a good relay does not, and reports whether it did
// so instead of answering.
func (f *fakeRelay) fault(sub string) bool {
	switch {
	case f.chance(f.drop):
		f.hangUp("reset")
	case f.chance(f.silence):
		f.conn.lossy = true
	case f.chance(f.closed):
		of := refusals
		if f.kinds == "empties" {
			of = refusals[:len(refusals)-2] // such a relay says nothing of kinds
		}
		f.send(nostr.Closed{Sub: sub, Reason: of[f.r.IntN(len(of))]})
	case f.chance(f.notice):
		f.conn.lossy = true
		f.send(nostr.Notice{Text: notices[f.r.IntN(len(notices))]})
	default:
		return false
	}
	return true
}

// req answers a REQ.
func (f *fakeRelay) req(sub string, filters []nostr.Filter) {
	if f.fault(sub) || f.unauthorized(sub, f.auth == "notice") || f.kindless(sub, filters) || f.disliked(sub, filters) {
		return
	}
	if f.noZero && *filters[0].Limit == 0 {
		f.send(nostr.Closed{Sub: sub, Reason: "invalid limit 0"})
		return
	}
	if text := f.excess(filters); text != "" {
		f.say(f.tooBig, sub, text)
		return
	}
	over := f.maxSubs > 0 && len(f.conn.subs) >= f.maxSubs
	if over && f.tooMany != "late" {
		f.say(f.tooMany, sub, "ERROR: too many concurrent REQs")
		return
	}
	if f.cost > 0 && costOf(f.conn.subs)+costOf(map[string][]nostr.Filter{sub: filters}) > f.cost {
		f.say(f.tooMany, sub, "blocked: there are subscriptions from this IP with a total filter cost of "+fmt.Sprint(f.cost))
		return
	}
	if !over {
		f.conn.subs[sub] = filters
		f.conn.order = append(f.conn.order, sub)
	}
	zero := f.answer(sub, filters)
	switch {
	case f.conn == nil || zero && f.mute:
	case f.chance(f.lateEnd):
		f.conn.lossy = true
	default:
		f.end(sub)
	}
	if over && f.conn != nil {
		f.send(nostr.Notice{Text: "ERROR: too many concurrent REQs"})
	}
	if f.conn != nil && f.chance(f.forget) {
		f.conn.lossy = true
		delete(f.conn.subs, sub)
	}
}

// costOf counts the values of filters.
func costOf(subs map[string][]nostr.Filter) (n int) {
	for _, filters := range subs {
		for _, x := range filters {
			n += len(x.IDs) + len(x.Authors)
			for _, tag := range x.Tags {
				n += len(tag.Values)
			}
		}
	}
	return n
}

// excess says what is too big about filters.
func (f *fakeRelay) excess(filters []nostr.Filter) string {
	if f.filters > 0 && len(filters) > f.filters {
		return "ERROR: bad req: arr too big"
	}
	for _, x := range filters {
		if f.values > 0 && len(x.Authors) > f.values {
			return "too many authors"
		}
		if f.ids > 0 && len(x.IDs) > f.ids {
			return "ERROR: bad req: arr too big"
		}
		for _, tag := range x.Tags {
			if f.values > 0 && len(tag.Values) > f.values {
				return "too many tag values"
			}
			if slices.Contains(tag.Values, "") {
				return "ERROR: bad req: error parsing #d: filter item too small"
			}
		}
	}
	return ""
}

func (f *fakeRelay) say(how, sub, text string) {
	if how == "closed" {
		f.send(nostr.Closed{Sub: sub, Reason: text})
		return
	}
	f.send(nostr.Notice{Text: text})
	if how == "empty" {
		f.send(nostr.EOSE{Sub: sub})
	}
}

// answer sends the stored events of a REQ; it reports whether all limits were 0.
func (f *fakeRelay) answer(sub string, filters []nostr.Filter) (zero bool) {
	zero = true
	sent := map[nostr.ID]bool{}
	for _, x := range filters {
		zero = zero && *x.Limit == 0
		for _, e := range f.page(x) {
			if sent[e.ID] {
				continue
			}
			sent[e.ID] = true
			f.send(nostr.RelayEvent{Sub: sub, Event: e})
			if f.chance(f.double) {
				f.send(nostr.RelayEvent{Sub: sub, Event: e})
			}
			if f.chance(f.drop) {
				f.hangUp("reset in the middle of a page")
				return zero
			}
		}
	}
	return zero
}

func (f *fakeRelay) end(sub string) {
	if f.chance(f.unknown) {
		f.send(nostr.EOSE{Sub: sub + "x"})
	}
	f.send(nostr.EOSE{Sub: sub})
	if f.chance(f.double) {
		f.send(nostr.EOSE{Sub: sub})
	}
}

// matching returns the events that x asks for, newest first.
func (f *fakeRelay) matching(x nostr.Filter) []*nostr.Event {
	var m []*nostr.Event
	for _, e := range f.events {
		if x.Matches(e) {
			m = append(m, e)
		}
	}
	slices.SortFunc(m, func(a, b *nostr.Event) int {
		return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), a.ID.Compare(b.ID))
	})
	return m
}

func (f *fakeRelay) page(x nostr.Filter) []*nostr.Event {
	if f.character.open {
		x = inside(x)
	}
	m := slices.DeleteFunc(f.matching(x), func(e *nostr.Event) bool { return f.withheld[e.ID] })
	n := min(*x.Limit, f.character.page, len(m))
	if x.IDs != nil && f.given > 0 {
		n = min(n, f.given)
	}
	if x.IDs == nil && f.sifted && n == f.character.page {
		n -= f.r.IntN(6)
	}
	order := f.order
	if order == "moody" {
		order = []string{"newest", "oldest"}[f.r.IntN(2)]
	}
	switch order {
	case "oldest":
		m = m[len(m)-n:]
		slices.Reverse(m)
	case "first":
		slices.SortStableFunc(m, func(a, b *nostr.Event) int { return cmp.Compare(f.born[a.ID], f.born[b.ID]) })
	case "any":
		f.r.Shuffle(len(m), func(i, j int) { m[i], m[j] = m[j], m[i] })
	}
	return m[:n]
}

// inside returns x with since and until as they are for a relay that takes them for exclusive.
func inside(x nostr.Filter) nostr.Filter {
	if x.Since != nil {
		x.Since = new(*x.Since + 1)
	}
	if x.Until != nil {
		x.Until = new(*x.Until - 1)
	}
	return x
}

// reconciled is how many of the newest events the relay compares this time.
func (f *fakeRelay) reconciled() int {
	if f.varies {
		return f.r.IntN(f.newest + 1)
	}
	return f.newest
}

// negOpen answers a NEG-OPEN.
func (f *fakeRelay) negOpen(sub string, x nostr.Filter, msg []byte) {
	f.conn.opens++
	switch f.neg {
	case "notice":
		f.send(nostr.Notice{Text: "ERROR: bad msg: negentropy disabled"})
		return
	case "closed":
		f.send(nostr.Closed{Sub: sub, Reason: "unsupported: NEG-OPEN"})
		return
	case "negerr":
		f.send(nostr.NegErr{Sub: sub, Reason: "blocked: not here"})
		return
	case "silent":
		return
	case "drop":
		f.hangUp("reset")
		return
	}
	if f.fault(sub) || f.unauthorized(sub, f.auth == "notice") || f.dislikedNeg(sub, x) {
		return
	}
	if f.kinds == "refuses" && wantsKinds(x) {
		f.send(nostr.NegErr{Sub: sub, Reason: kindlessText})
		return
	}
	m := f.matching(x)
	if f.records > 0 && len(m) > f.records {
		f.send(nostr.NegErr{Sub: sub, Reason: "blocked: too many query results", Max: int64(f.records)})
		return
	}
	if f.newest > 0 {
		m = m[:min(len(m), f.reconciled())]
	}
	items := make([]negentropy.Item, len(m))
	for i, e := range m {
		items[i] = negentropy.Item{Time: uint64(e.CreatedAt), ID: e.ID}
	}
	f.conn.sessions[sub] = negentropy.NewSet(items)
	f.negMsg(sub, msg)
}

func (f *fakeRelay) negMsg(sub string, msg []byte) {
	set := f.conn.sessions[sub]
	if set == nil || f.chance(f.forget) {
		delete(f.conn.sessions, sub)
		f.send(nostr.NegErr{Sub: sub, Reason: "closed: unknown subscription handle"})
		return
	}
	reply, err := negentropy.Respond(set, 4096, msg)
	if err != nil {
		panic(fmt.Sprintf("malformed message: %v", err))
	}
	f.send(nostr.NegMsg{Sub: sub, Msg: reply})
}

func (f *fakeRelay) close(sub string) {
	delete(f.conn.subs, sub)
	f.conn.order = slices.DeleteFunc(f.conn.order, func(s string) bool { return s == sub })
}
