package peer_test

import (
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/peer/coverage"
	"github.com/graspd/graspd/internal/sync/peer/threads/surveytest"
)

// driver is a Peer between a store and a remote relay that answer at once.
type driver struct {
	t     testing.TB
	peer  *peer.Peer
	clock backoff.Now

	serve    func(sub string, filters []nostr.Filter) []*nostr.Event // of a stored REQ; nil = nothing
	neg      func(f nostr.Filter) []*nostr.Event                     // what is reconciled; nil = nothing
	own      func(f nostr.Filter) []*nostr.Event                     // the local set; nil = nothing
	refuse   func(r peer.Request) nostr.RelayMessage                 // instead of an answer
	closed   func(sub string)                                        // told of every CLOSE
	hold     func(e peer.Effect) bool                                // says whether not to answer
	negFault func(e peer.OpenNeg) nostr.RelayMessage                 // instead of an answer

	remembered map[nostr.ID]bool // of own, what is not shown to others

	queue   []peer.Input
	sets    map[string]*negentropy.Set
	sent    []peer.Effect
	reports []peer.Report
	open    map[string]peer.Request
	most    int // REQs open at once
	layer4  []layer4
}

// layer4 is something that was asked for layer 4: a filter, or a survey.
type layer4 struct {
	at     time.Duration
	filter *nostr.Filter
	survey *peer.Survey
	class  peer.Class
}

func (d *driver) noteReference(e peer.Effect) {
	x := layer4{at: d.clock.Mono}
	switch e := e.(type) {
	case peer.Survey:
		x.survey = &e
	case peer.Request:
		if !d.peer.AsksReferences(e.Sub) {
			return
		}
		x.filter, x.class = &e.Filters[0], e.Class
	case peer.OpenNeg:
		if !d.peer.AsksReferences(e.Sub) {
			return
		}
		x.filter, x.class = &e.Filter, peer.Daily
	default:
		return
	}
	d.layer4 = append(d.layer4, x)
}

// asked lists the filters of layer 4, without limits and times, those repeated
// right after each other once.
func (d *driver) asked() []string {
	var out []string
	for _, x := range d.layer4 {
		if x.filter == nil || x.filter.Limit != nil && isEdgeProbe(peer.Request{Class: x.class, Filters: []nostr.Filter{*x.filter}}) {
			continue
		}
		f := *x.filter
		f.Limit, f.Since, f.Until = nil, nil, nil
		if s := string(f.AppendJSON(nil)); len(out) == 0 || out[len(out)-1] != s {
			out = append(out, s)
		}
	}
	return out
}

// sift tells which ids are not among the driver's own events.
func (d *driver) sift(e peer.Sift) peer.Sifted {
	known := make(map[nostr.ID]int64)
	if d.own != nil {
		for _, x := range d.own(nostr.Filter{}) {
			known[x.ID] = x.CreatedAt
		}
	}
	in := peer.Sifted{Sub: e.Sub}
	for _, id := range e.IDs {
		if at, ok := known[id]; ok {
			in.Known = append(in.Known, nostr.Stamp{CreatedAt: at, ID: id})
		} else {
			in.Unknown = append(in.Unknown, id)
		}
	}
	return in
}

func newDriver(t testing.TB, c peer.Config) *driver {
	c.URL = here
	return &driver{
		t: t, peer: peer.NewPeer(c), clock: backoff.Now{Wall: epoch}, sets: map[string]*negentropy.Set{}, open: map[string]peer.Request{},
	}
}

// connect gives the peer a Want and a connection.
func (d *driver) connect(w *peer.Want, l capacity.Limits) {
	d.t.Helper()
	d.do(peer.Wanted{Want: w})
	d.do(peer.Connected{Limits: l})
}

// do feeds an input and everything that follows from it at the same moment.
func (d *driver) do(in peer.Input) {
	d.t.Helper()
	d.queue = append(d.queue, in)
	for n := 0; len(d.queue) > 0; n++ {
		if n > 1_000_000 {
			d.t.Fatal("no end of it")
		}
		next := d.queue[0]
		d.queue = d.queue[1:]
		for _, e := range d.peer.Step(d.clock, next) {
			d.sent = append(d.sent, e)
			d.noteReference(e)
			d.answer(e)
		}
		d.most = max(d.most, len(d.open))
	}
}

// pass lets time go by, with a tick whenever the peer wants one.
func (d *driver) pass(t time.Duration) {
	d.t.Helper()
	until := d.clock.Mono + t
	for {
		at, ok := d.peer.Wake()
		if !ok || at > until {
			d.at(until)
			return
		}
		if at <= d.clock.Mono {
			d.t.Fatalf("at %v it wants to be woken at %v", d.clock.Mono, at)
		}
		d.at(at)
		d.do(peer.Tick{})
	}
}

func (d *driver) at(mono time.Duration) {
	d.clock.Wall = d.clock.Wall.Add(mono - d.clock.Mono)
	d.clock.Mono = mono
}

func (d *driver) frame(m nostr.RelayMessage) { d.queue = append(d.queue, peer.Frame{Message: m}) }

func (d *driver) answer(e peer.Effect) {
	if d.hold != nil && d.hold(e) {
		return
	}
	switch e := e.(type) {
	case peer.Report:
		d.reports = append(d.reports, e)
	case peer.HangUp:
		d.open = map[string]peer.Request{}
	case peer.CloseRequest:
		delete(d.open, e.Sub)
		if d.closed != nil {
			d.closed(e.Sub)
		}
	case peer.Forget:
		delete(d.open, e.Sub)
	case peer.Request:
		d.req(e)
	case peer.LoadSet:
		own := set(d.own, e.Filter)
		d.queue = append(d.queue, peer.Loaded{Sub: e.Sub, Set: own, Values: d.valuesOf(own, e.Filter)})
	case peer.Sift:
		d.queue = append(d.queue, d.sift(e))
	case peer.Survey:
		d.queue = append(d.queue, d.survey(e))
	case peer.Attribute:
		d.queue = append(d.queue, d.attribute(e))
	case peer.OpenNeg:
		if d.negFault != nil {
			if m := d.negFault(e); m != nil {
				d.frame(m)
				return
			}
		}
		d.sets[e.Sub] = set(d.neg, e.Filter)
		d.negMsg(e.Sub, e.Msg)
	case peer.ContinueNeg:
		d.negMsg(e.Sub, e.Msg)
	}
}

func set(of func(nostr.Filter) []*nostr.Event, f nostr.Filter) *negentropy.Set {
	var items []negentropy.Item
	if of != nil {
		for _, e := range of(f) {
			items = append(items, negentropy.Item{Time: uint64(e.CreatedAt), ID: e.ID})
		}
	}
	return negentropy.NewSet(items)
}

// valuesOf tells under which value of a filter the items of a set stand.
func (d *driver) valuesOf(s *negentropy.Set, f nostr.Filter) []int16 {
	byID := make(map[nostr.ID]*nostr.Event)
	if d.own != nil {
		for _, e := range d.own(f) {
			byID[e.ID] = e
		}
	}
	out := make([]int16, s.Len())
	for i := range out {
		e := byID[s.At(i).ID]
		out[i] = coverage.NoValue
		if d.remembered[e.ID] {
			continue
		}
		if len(f.Tags) == 0 {
			out[i] = 0
			continue
		}
		out[i] = int16(slices.IndexFunc(f.Tags[0].Values, func(v string) bool {
			one := nostr.Filter{Tags: []nostr.TagFilter{{Name: f.Tags[0].Name, Values: []string{v}}}}
			return one.Matches(e)
		}))
	}
	return out
}

func (d *driver) negMsg(sub string, msg []byte) {
	reply, err := negentropy.Respond(d.sets[sub], 0, msg)
	if err != nil {
		d.t.Fatal(err)
	}
	d.frame(nostr.NegMsg{Sub: sub, Msg: reply})
}

func (d *driver) req(r peer.Request) {
	d.open[r.Sub] = r
	if d.refuse != nil {
		if m := d.refuse(r); m != nil {
			if _, ok := m.(nostr.Closed); ok {
				delete(d.open, r.Sub)
			}
			d.frame(m)
			return
		}
	}
	if d.serve != nil {
		for _, ev := range d.serve(r.Sub, r.Filters) {
			d.queue = append(d.queue, peer.Received{Sub: r.Sub, ID: ev.ID, At: ev.CreatedAt}, peer.Decided{Sub: r.Sub, ID: ev.ID, New: true, Event: ev})
		}
	}
	d.frame(nostr.EOSE{Sub: r.Sub})
}

// requests returns what was sent of a class, but for probes.
func (d *driver) requests(of ...peer.Class) []peer.Request {
	var out []peer.Request
	for _, e := range d.sent {
		if r, ok := e.(peer.Request); ok && !isKindsProbe(r) && !isEdgeProbe(r) {
			for _, c := range of {
				if r.Class == c {
					out = append(out, r)
				}
			}
		}
	}
	return out
}

// following returns the filters that are live now.
func (d *driver) following() []nostr.Filter {
	var out []nostr.Filter
	for _, r := range d.open {
		if r.Class == peer.Live {
			out = append(out, r.Filters...)
		}
	}
	return out
}

// wantOf folds events into the Want of this relay.
func wantOf(t testing.TB, events ...*nostr.Event) *peer.Want {
	t.Helper()
	f := newFold(t)
	f.AddAll(events...).Step()
	return f.Wants[here]
}

// survey reads the driver's own events.
func (d *driver) survey(e peer.Survey) peer.Surveyed {
	s := surveytest.Shelve()
	if d.own != nil {
		s = surveytest.Shelve(d.own(nostr.Filter{})...)
	}
	in, err := e.Walk(s.Store())
	if err != nil {
		d.t.Fatal(err)
	}
	return peer.Surveyed{Sub: e.Sub, Reached: in}
}

// attribute tells what the driver's own events name.
func (d *driver) attribute(e peer.Attribute) peer.Attributed {
	in := peer.Attributed{Sub: e.Sub}
	for _, x := range d.own(nostr.Filter{}) {
		if slices.Contains(e.IDs, x.ID) {
			in.Names = append(in.Names, coverage.NamesOf(x))
		}
	}
	return in
}
