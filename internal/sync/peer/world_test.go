package peer_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/mailbox"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/coverage"
	"github.com/graspd/graspd/internal/sync/peer/threads/surveytest"
	"github.com/graspd/graspd/internal/sync/want"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// here is the relay whose peer is under test.
var here = peer.URL(relay(1))

// epoch is the wall-clock time at which every world begins.
var epoch = time.Unix(1_800_000_000, 0)

// world is everything around one Peer: the shell, the store, the remote relay
// and the passing of time. Nothing in it runs at once and nothing waits.
type world struct {
	t    testing.TB
	seed uint64
	r    *rand.Rand
	agenda
	mono time.Duration
	skew time.Duration // of our wall clock
	door int64         // what it takes to decide at most, in ms

	peer    *peer.Peer
	cfg     peer.Config
	desired *want.Desired
	want    *peer.Want
	letters *mailbox.Mailbox // of people who write to the relay
	shop    *shop
	window  bool
	store   map[nostr.ID]*nostr.Event
	byID    []*nostr.Event // of the store, in order
	relay   *fakeRelay

	link       int // number of the connection, or of the attempt
	state      string
	up, down   time.Duration // when the last frame in each direction arrives
	subs       map[string]*asked
	gone       []*asked          // in order of their end
	open       int               // REQs
	authed     int               // AUTHs on this connection
	lived      map[nostr.ID]bool // delivered live on this connection
	used       map[string]bool
	failedAt   time.Duration
	failed     bool
	opened     time.Duration
	heldAtOpen int
	excused    map[nostr.ID]bool // may be missed until the next full catch-up
	confirmed  map[peer.Item]bool

	logging bool
	log     []string
	count   counters
}

type counters struct {
	steps, ticks, requests, dials, stored, sub int
	hour                                       time.Duration
}

// asked is a request that the shell knows.
type asked struct {
	peer.Request
	neg     bool
	over    bool
	endedAt time.Duration
}

// agenda is what will happen, in order.
type agenda struct {
	items []appointment
	n     int
}

type appointment struct {
	at time.Duration
	n  int
	do func()
}

func (a *agenda) Len() int { return len(a.items) }
func (a *agenda) Less(i, j int) bool {
	x, y := a.items[i], a.items[j]
	return x.at < y.at || x.at == y.at && x.n < y.n
}
func (a *agenda) Swap(i, j int) { a.items[i], a.items[j] = a.items[j], a.items[i] }
func (a *agenda) Push(x any)    { a.items = append(a.items, x.(appointment)) }
func (a *agenda) Pop() any {
	last := a.items[len(a.items)-1]
	a.items = a.items[:len(a.items)-1]
	return last
}

func newWorld(t testing.TB, seed uint64, c character, cfg peer.Config) *world {
	cfg.URL, cfg.Self = here, key(77)
	w := &world{
		t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 1)), door: 120, cfg: cfg, peer: peer.NewPeer(cfg), state: "idle",
		desired: want.NewDesired(policy.Rules{Service: service(t)}, nil, want.Bounds{}), shop: newShop(seed),
		store: map[nostr.ID]*nostr.Event{}, subs: map[string]*asked{}, used: map[string]bool{},
		excused: map[nostr.ID]bool{}, lived: map[nostr.ID]bool{}, confirmed: map[peer.Item]bool{},
	}
	w.relay = &fakeRelay{character: c, r: w.r, born: map[nostr.ID]time.Duration{}, withheld: map[nostr.ID]bool{}}
	w.relay.now = func() time.Duration { return w.mono }
	w.relay.send = func(m nostr.RelayMessage) {
		c := w.relay.conn
		if c.sent++; w.relay.messages > 0 && c.sent > w.relay.messages {
			if c.sent == w.relay.messages+1 {
				w.after(max(0, w.down-w.mono), func() {
					if w.relay.conn == c {
						w.lose("that was enough")
					}
				})
			}
			c.lossy = true
			return
		}
		w.fromRelay(m)
	}
	w.relay.hangUp = w.lose
	return w
}

func (w *world) now() backoff.Now { return backoff.Now{Mono: w.mono, Wall: epoch.Add(w.mono + w.skew)} }

// unix is the true time.
func (w *world) unix() int64 { return epoch.Add(w.mono).Unix() }

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	for _, l := range w.log[max(0, len(w.log)-400):] {
		w.t.Log(l)
	}
	w.t.Logf("relay: %+v", w.relay.character)
	w.t.Fatalf("at %v: %s (replay with -args -seed %d)", w.mono, fmt.Sprintf(format, args...), w.seed)
}

func (w *world) note(format string, args ...any) {
	if !w.logging {
		return
	}
	if len(w.log) > 400 {
		w.log = append(w.log[:0], w.log[200:]...)
	}
	w.log = append(w.log, fmt.Sprintf("%12v ", w.mono)+fmt.Sprintf(format, args...))
}

// after arranges for something to happen.
func (w *world) after(d time.Duration, do func()) {
	w.n++
	heap.Push(&w.agenda, appointment{w.mono + d, w.n, do})
}

// run lets time pass until a moment or until done says so.
func (w *world) run(until time.Duration, done func() bool) bool {
	for {
		if done != nil && done() {
			return true
		}
		next, tick := until, false
		if at, ok := w.peer.Wake(); ok && at < next {
			next, tick = at, true
		}
		if len(w.items) > 0 && w.items[0].at <= next {
			x := heap.Pop(&w.agenda).(appointment)
			w.mono = max(w.mono, x.at)
			x.do()
			continue
		}
		w.mono = max(w.mono, next)
		if !tick {
			return false
		}
		w.count.ticks++
		w.step(peer.Tick{})
	}
}

// step is the shell: it feeds one input and performs the effects.
func (w *world) step(in peer.Input) {
	w.count.steps++
	w.hourly()
	effects := w.peer.Step(w.now(), in)
	for _, e := range effects {
		w.perform(e)
	}
	w.check(len(effects) > 0 || w.count.steps%16 == 0)
}

// hourly bounds what may happen in an hour: nothing loops.
func (w *world) hourly() {
	if w.mono-w.count.hour > time.Hour {
		w.count = counters{hour: w.mono, sub: w.count.sub}
	}
	if w.count.ticks > 3000 || w.count.requests > 6000 || w.count.dials > 721 {
		w.fail("within an hour: %d ticks, %d requests, %d dials", w.count.ticks, w.count.requests, w.count.dials)
	}
}

func (w *world) perform(e peer.Effect) {
	switch e := e.(type) {
	case peer.Dial:
		w.dial()
	case peer.HangUp:
		w.note("hang up: %s", e.Reason)
		if w.state == "idle" {
			w.fail("hang up of nothing")
		}
		w.ended()
	case peer.Report:
		w.note("report %v: %s %v", e.Level, e.Text, e.Args)
	default:
		if w.state != "open" {
			w.fail("%T while %s", e, w.state)
		}
		w.transmit(e)
	}
}

func (w *world) dial() {
	if w.state != "idle" {
		w.fail("a dial while %s", w.state)
	}
	if w.failed && w.mono < w.failedAt+5*time.Second {
		w.fail("a dial %v after a failure", w.mono-w.failedAt)
	}
	w.note("dial")
	w.count.dials++
	w.link++
	w.state = "dialing"
	link := w.link
	w.after(w.some(10, 3000), func() {
		if link != w.link {
			return
		}
		w.dialed()
	})
}

func (w *world) dialed() {
	if w.relay.chance(w.relay.refuseDial) {
		w.state = "idle"
		w.failed, w.failedAt = true, w.mono
		w.step(peer.DialFailed{Reason: "refused", SlowIt: w.r.IntN(4) == 0})
		return
	}
	w.state = "open"
	w.opened = w.mono
	w.relay.accept()
	w.up, w.down = w.mono, w.mono
	w.note("connected")
	w.step(peer.Connected{Limits: w.relay.told})
	w.heldAtOpen = w.peer.HeldItems()
	w.pong(w.link)
}

func (w *world) pong(link int) {
	w.after(5*time.Minute, func() {
		if link == w.link && w.state == "open" {
			w.step(peer.Alive{})
			w.pong(link)
		}
	})
}

// ended forgets the connection.
func (w *world) ended() {
	w.state = "idle"
	w.link++
	w.subs, w.gone, w.open, w.authed, w.lived = map[string]*asked{}, nil, 0, 0, map[nostr.ID]bool{}
	w.relay.conn = nil
}

// lose ends the connection from the other side.
func (w *world) lose(reason string) {
	if w.state != "open" {
		return
	}
	w.relay.conn = nil
	link := w.link
	w.after(w.some(0, 20), func() {
		if link != w.link {
			return
		}
		w.note("lost: %s", reason)
		w.ended()
		w.failed, w.failedAt = true, w.mono
		w.step(peer.Disconnected{Reason: reason})
	})
}

// some is a random time in milliseconds.
func (w *world) some(least, most int64) time.Duration {
	return time.Duration(least+w.r.Int64N(most-least+1)) * time.Millisecond
}

// toRelay carries a frame, in order.
func (w *world) toRelay(do func()) {
	link := w.link
	w.up = max(w.up, w.mono+w.some(1, 40))
	w.after(w.up-w.mono, func() {
		if link == w.link && w.relay.conn != nil {
			do()
		}
	})
}

// fromRelay carries a frame, in order, and reads it as the shell's reader does.
func (w *world) fromRelay(m nostr.RelayMessage) {
	link := w.link
	w.down = max(w.down, w.mono+w.some(1, 40))
	w.after(w.down-w.mono, func() {
		if link != w.link || w.state != "open" {
			return
		}
		if ev, ok := m.(nostr.RelayEvent); ok {
			w.event(ev)
			return
		}
		if _, ok := m.(nostr.NegMsg); !ok {
			w.note("< %T%v", m, m)
		}
		w.sessionOver(m)
		if ok, is := m.(nostr.OK); is {
			w.step(peer.Authenticated{OK: ok.OK, Reason: ok.Reason})
			return
		}
		w.step(peer.Frame{Message: m})
	})
}

// sessionOver notes that the relay has ended a reconciliation.
func (w *world) sessionOver(m nostr.RelayMessage) {
	sub := ""
	switch m := m.(type) {
	case nostr.NegErr:
		sub = m.Sub
	case nostr.Closed:
		sub = m.Sub
	}
	if a := w.subs[sub]; a != nil && a.neg && !a.over {
		w.end(a)
	}
}

// event hands an event to the door if it was asked for.
func (w *world) event(m nostr.RelayEvent) {
	a := w.subs[m.Sub]
	switch {
	case a != nil && a.over && w.mono-a.endedAt < time.Minute:
		return
	case a == nil || a.over || !matchesAny(a.Filters, m.Event):
		w.step(peer.Unasked{Count: 1})
		return
	}
	if a.Class != peer.Live {
		w.count.stored++
	} else {
		w.lived[m.Event.ID] = true
	}
	link, id := w.link, m.Event.ID
	w.step(peer.Received{Sub: m.Sub, ID: id, At: m.Event.CreatedAt})
	w.after(w.some(0, w.door), func() {
		failed := w.relay.chance(w.relay.storeFails)
		in := peer.Decided{Sub: m.Sub, ID: id, Outcome: policy.Duplicate, Failed: failed}
		switch {
		case failed:
			in.Outcome = policy.Discard
		case w.store[id] == nil:
			in.Outcome, in.New, in.Event = policy.Accept, true, m.Event
			w.keep(m.Event)
		}
		if link == w.link && w.state == "open" {
			gaps := w.peer.Gaps()
			w.step(in)
			if w.peer.Gaps() != gaps && (w.lived[id] || w.relay.born[id] < w.opened && m.Event.CreatedAt < epoch.Add(w.opened+w.skew).Unix()) {
				w.fail("event %v is taken for a gap", id)
			}
		}
	})
}

// keep stores an event and folds it, as the feed would.
func (w *world) keep(e *nostr.Event) {
	w.store[e.ID] = e
	w.byID = append(w.byID, e)
	w.desired.Add(e)
	w.derive()
}

// derive hands out what is wanted after the batch window.
func (w *world) derive() {
	if w.window {
		return
	}
	w.window = true
	w.after(5*time.Second, func() {
		w.window = false
		if w.seed%2 == 0 {
			w.desired.SweepNames()
		}
		for u, want := range w.desired.Changed(w.mono) {
			if u == here {
				if w.letters != nil {
					want = want.WithMailbox(w.letters)
				}
				if w.logging {
					w.note("want: %v", wanttest.Contents(want))
				}
				w.want = want
				w.step(peer.Wanted{Want: want})
			}
		}
		if due, ok := w.desired.Due(); ok {
			w.after(max(0, due-w.mono), w.derive)
		}
	})
}

// transmit turns an effect into a frame.
func (w *world) transmit(e peer.Effect) {
	switch e := e.(type) {
	case peer.Request:
		w.note("> REQ %s class %d, %d filters, %v", e.Sub, e.Class, len(e.Filters), e.Filters)
		w.count.requests++
		w.fresh(e.Sub)
		w.subs[e.Sub] = &asked{Request: e}
		w.open++
		if e.Class != peer.Live {
			w.onlyOnce(e.Sub, e.Filters[0])
		}
		w.toRelay(func() { w.relay.req(e.Sub, e.Filters) })
	case peer.CloseRequest:
		w.note("> CLOSE %s", e.Sub)
		w.over(e.Sub)
		w.toRelay(func() { w.relay.close(e.Sub) })
	case peer.Forget:
		w.over(e.Sub)
	case peer.LoadSet:
		w.read(e.Sub, func() peer.Input {
			in := peer.Loaded{Sub: e.Sub, Set: w.local(e.Filter)}
			if e.Most > 0 && in.Set != nil {
				in.Values = make([]int16, in.Set.Len())
			}
			return in
		})
	case peer.Sift:
		w.read(e.Sub, func() peer.Input { return w.sift(e) })
	case peer.Survey:
		w.read(e.Sub, func() peer.Input { return w.survey(e) })
	case peer.Attribute:
		w.read(e.Sub, func() peer.Input { return w.attribute(e) })
	case peer.OpenNeg:
		w.note("> NEG-OPEN %s %v", e.Sub, e.Filter)
		w.count.requests++
		w.onlyOnce(e.Sub, e.Filter)
		w.subs[e.Sub] = &asked{Request: peer.Request{Sub: e.Sub, Class: peer.Catchup, Filters: []nostr.Filter{e.Filter}}, neg: true}
		w.toRelay(func() { w.relay.negOpen(e.Sub, e.Filter, e.Msg) })
	case peer.Authenticate:
		w.note("> AUTH to %s", e.Challenge)
		if w.authed++; w.authed > 1 {
			w.fail("AUTH twice on one connection")
		}
		w.toRelay(func() { w.relay.authenticate(e.Challenge) })
	case peer.ContinueNeg:
		w.toRelay(func() { w.relay.negMsg(e.Sub, e.Msg) })
	case peer.CloseNeg:
		w.note("> NEG-CLOSE %s", e.Sub)
		w.over(e.Sub)
		w.toRelay(func() { delete(w.relay.conn.sessions, e.Sub) })
	default:
		w.fail("unknown effect %T", e)
	}
}

// read answers an effect with what is read here, some time later, if the connection is still the same.
func (w *world) read(sub string, answer func() peer.Input) {
	w.fresh(sub)
	link := w.link
	w.after(w.some(0, 200), func() {
		if link == w.link && w.state == "open" {
			w.step(answer())
		}
	})
}

func (w *world) fresh(sub string) {
	if w.used[sub] {
		w.fail("subscription id %s used twice", sub)
	}
	w.used[sub] = true
}

func (w *world) over(sub string) {
	a := w.subs[sub]
	if a != nil && a.over && w.mono-a.endedAt < 10*time.Minute {
		return // once more, as the relay may have thrown the first away
	}
	if a == nil || a.over {
		w.fail("%s is closed and was not open", sub)
	}
	w.end(a)
}

// end notes that a request is over; its late events count for nothing for a while.
func (w *world) end(a *asked) {
	a.over, a.endedAt = true, w.mono
	if !a.neg {
		w.open--
	}
	w.gone = append(w.gone, a)
	for w.mono-w.gone[0].endedAt > 10*time.Minute {
		delete(w.subs, w.gone[0].Sub)
		w.gone = w.gone[1:]
	}
}

// sift tells which ids are not stored.
func (w *world) sift(e peer.Sift) peer.Sifted {
	in := peer.Sifted{Sub: e.Sub, Failed: w.relay.chance(w.relay.storeFails)}
	for _, id := range e.IDs {
		known := w.store[id]
		if known == nil {
			in.Unknown = append(in.Unknown, id)
			continue
		}
		in.Known = append(in.Known, nostr.Stamp{CreatedAt: known.CreatedAt, ID: id})
	}
	return in
}

// local is the set of what is stored and matches; nil when reading fails.
func (w *world) local(f nostr.Filter) *negentropy.Set {
	if w.relay.chance(w.relay.storeFails) {
		return nil
	}
	var items []negentropy.Item
	for _, e := range w.byID {
		if f.Matches(e) {
			items = append(items, negentropy.Item{Time: uint64(e.CreatedAt), ID: e.ID})
		}
	}
	return negentropy.NewSet(items)
}

// survey reads what is stored; it fails when reading does.
func (w *world) survey(e peer.Survey) peer.Surveyed {
	s := &surveytest.Shelf{Events: w.store}
	in, err := e.Walk(s.Store())
	if err != nil || w.relay.chance(w.relay.storeFails) {
		return peer.Surveyed{Sub: e.Sub, Failed: true}
	}
	return peer.Surveyed{Sub: e.Sub, Reached: in}
}

// attribute tells what stored events name; it fails when reading does.
func (w *world) attribute(e peer.Attribute) peer.Attributed {
	in := peer.Attributed{Sub: e.Sub, Failed: w.relay.chance(w.relay.storeFails)}
	for _, id := range e.IDs {
		in.Names = append(in.Names, coverage.NamesOf(w.store[id]))
	}
	return in
}
