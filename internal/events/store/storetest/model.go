package storetest

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// ModelDisk is a disk of the naive implementation.
type ModelDisk struct{ data *data }

// Open opens the model on this disk.
func (d *ModelDisk) Open(_ testing.TB, o store.Options) Store {
	if d.data == nil {
		d.data = &data{
			events: map[nostr.ID]stored{}, waits: map[nostr.ID]store.Waiting{}, memory: map[nostr.ID]memory{}, slots: map[string]version{},
			deletedIDs: map[mark]force{}, deletedAddresses: map[string]force{}, ages: map[nostr.ID]ageing{},
			vanished: map[nostr.PubKey]request{}, purges: map[nostr.PubKey]int64{}, marks: map[nostr.PubKey]int64{}, rows: map[string][]byte{},
		}
	}
	if d.data.epoch == 0 || o.Rules != "" && d.data.rules != o.Rules {
		d.data.epoch, d.data.rules = d.data.epoch+1, o.Rules
	}
	d.data.removed, d.data.sweepFrom = nil, 0
	return &model{disk: d, opt: o, changed: make(chan struct{})}
}

// Fresh is another disk.
func (d *ModelDisk) Fresh(testing.TB) Disk { return new(ModelDisk) }

// data is everything there is, in plain maps. A batch works on a copy.
type data struct {
	head             store.Seq
	epoch            int
	rules            string
	events           map[nostr.ID]stored
	waits            map[nostr.ID]store.Waiting
	memory           map[nostr.ID]memory
	slots            map[string]version
	deletedIDs       map[mark]force
	deletedAddresses map[string]force
	ages             map[nostr.ID]ageing // deletions that have removed nothing
	sweepFrom        int64               // of this process
	vanished         map[nostr.PubKey]request
	purges           map[nostr.PubKey]int64
	marks            map[nostr.PubKey]int64 // how many of those of deletions an author has left
	unfinished       []left                 // deletions of which not all is done
	removed          []store.Entry
	rows             map[string][]byte
}

type stored struct {
	e   *nostr.Event
	seq store.Seq
	src store.Source
}

type memory struct {
	e     *nostr.Event // with the tags that are kept
	why   policy.Outcome
	epoch int // of the rules, 0 where they had no part in it
	due   int64
}

type version struct {
	time      int64
	id        nostr.ID
	live      bool
	withdrawn bool
	first     store.Seq
}

// request is the newest one to vanish of an author.
type request struct {
	until int64
	id    nostr.ID
}

// left is a deletion and what it names that is left to do.
type left struct {
	del  stored
	tags nostr.Tags
}

type mark struct {
	id     nostr.ID
	author nostr.PubKey
}

func (d *data) clone() *data {
	c := *d
	c.waits = maps.Clone(d.waits)
	c.events, c.memory, c.slots = maps.Clone(d.events), maps.Clone(d.memory), maps.Clone(d.slots)
	c.deletedIDs, c.deletedAddresses, c.ages = maps.Clone(d.deletedIDs), maps.Clone(d.deletedAddresses), maps.Clone(d.ages)
	c.vanished, c.purges, c.marks = maps.Clone(d.vanished), maps.Clone(d.purges), maps.Clone(d.marks)
	c.unfinished = slices.Clone(d.unfinished)
	c.removed = slices.Clone(d.removed)
	c.rows = maps.Clone(d.rows)
	return &c
}

type model struct {
	disk    *ModelDisk
	opt     store.Options
	changed chan struct{}
	writing bool
}

func (m *model) now() int64 { return m.opt.Now().Unix() }

// Head is the last durable number.
func (m *model) Head() store.Seq { return m.disk.data.head }

// Close ends the store.
func (m *model) Close() error { return nil }

// Stats counts.
func (m *model) Stats() store.Stats {
	d := m.disk.data
	s := store.Stats{Head: d.head, Events: int64(len(d.events)), Remembered: int64(len(d.memory))}
	for _, e := range d.events {
		if e.e.Kind == nip34.KindRepository {
			s.Repositories++
		}
	}
	for _, r := range d.memory {
		s.RememberedRows += rowsOf(r.e)
	}
	for _, w := range d.waits {
		s.Waiting++
		s.WaitingBytes += int64(len(w.Event.AppendJSON(nil)))
		switch w.Event.Kind {
		case nip34.KindRepository:
			s.WaitingByKind.Announcements++
		case nip34.KindState:
			s.WaitingByKind.States++
		case nip34.KindPullRequest:
			s.WaitingByKind.PullRequests++
		case nip34.KindPullRequestUpdate:
			s.WaitingByKind.Updates++
		}
	}
	return s
}

// rowsOf is how many index rows an event has whose tags all have one: the tags a, e, k and p share theirs with the same value
// under the other case of their names, and kinds that are not usual have two rows more.
func rowsOf(e *nostr.Event) int64 {
	if slices.Contains(kinds, e.Kind) && !slices.Contains(unusual, e.Kind) {
		return int64(2 + valuesOf(e))
	}
	return int64(4 + valuesOf(e))
}

func valuesOf(e *nostr.Event) int {
	tags := map[[2]string]bool{}
	for _, t := range e.Tags {
		name := t[0]
		if strings.Contains("AEKP", name) {
			name = strings.ToLower(name)
		}
		tags[[2]string{name, t[1]}] = true
	}
	return len(tags)
}

// Since lists what is stored and what was removed, in order.
func (m *model) Since(after store.Seq, max int) ([]store.Entry, <-chan struct{}, error) {
	var all []store.Entry
	for _, s := range m.disk.data.events {
		all = append(all, store.Entry{Seq: s.seq, Event: s.e, Source: s.src})
	}
	for _, w := range m.disk.data.waits {
		all = append(all, store.Entry{Seq: w.Seq, Waits: w.Event, Source: w.Source})
	}
	all = append(all, m.disk.data.removed...)
	all = slices.DeleteFunc(all, func(e store.Entry) bool { return e.Seq <= after })
	slices.SortFunc(all, func(a, b store.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	return all[:min(max, len(all))], m.changed, nil
}

// View is the state of now.
func (m *model) View() View { return &modelView{m.disk.data, m.now()} }

type modelView struct {
	d   *data
	now int64
}

// Head is the last number in the view.
func (v *modelView) Head() store.Seq { return v.d.head }

// Close does nothing.
func (v *modelView) Close() {}

func expired(e *nostr.Event, now int64) bool {
	at, ok := e.Expiration()
	return ok && at <= now
}

// Get looks the event up.
func (v *modelView) Get(id nostr.ID) (*nostr.Event, bool, error) { return v.d.servedEvent(id, v.now) }

// At looks the version up.
func (v *modelView) At(address string) (*nostr.Event, bool, error) {
	return v.d.servedAt(address, v.now)
}

func (d *data) servedEvent(id nostr.ID, now int64) (*nostr.Event, bool, error) {
	s, ok := d.events[id]
	if !ok || expired(s.e, now) {
		return nil, false, nil
	}
	return s.e, true, nil
}

func (d *data) servedAt(address string, now int64) (*nostr.Event, bool, error) {
	if v, ok := d.slots[address]; ok && v.live {
		return d.servedEvent(v.id, now)
	}
	return nil, false, nil
}

// Known looks the id up.
func (v *modelView) Known(id nostr.ID) (store.Knowledge, error) { return v.d.knowledge(id), nil }

func (d *data) knowledge(id nostr.ID) store.Knowledge {
	if s, ok := d.events[id]; ok {
		return store.Knowledge{State: store.Stored, Time: s.e.CreatedAt}
	}
	if w, ok := d.waits[id]; ok {
		return store.Knowledge{State: store.InWaiting, Time: w.Event.CreatedAt}
	}
	if r, ok := d.memory[id]; ok && d.remembers(r) {
		return store.Knowledge{State: store.Remembered, Why: r.why, Time: r.e.CreatedAt}
	}
	return store.Knowledge{}
}

func (d *data) remembers(r memory) bool { return r.epoch == 0 || r.epoch == d.epoch }

// Query looks at every event.
func (v *modelView) Query(_ context.Context, f nostr.Filter) iter.Seq2[store.Row, error] {
	var rows []store.Row
	for id, s := range v.d.events {
		if f.Matches(s.e) && !expired(s.e, v.now) {
			rows = append(rows, store.Row{Seq: s.seq, ID: id, Time: s.e.CreatedAt, JSON: s.e.AppendJSON(nil)})
		}
	}
	slices.SortFunc(rows, func(a, b store.Row) int { return order(a.Time, b.Time, a.ID, b.ID) })
	return yieldAll(limited(rows, f))
}

// Pairs looks at every event and every remembered one.
func (v *modelView) Pairs(_ context.Context, f nostr.Filter, flagged bool) iter.Seq2[store.Pair, error] {
	var pairs []store.Pair
	for id, s := range v.d.events {
		if f.Matches(s.e) && (flagged || !expired(s.e, v.now)) {
			pairs = append(pairs, store.Pair{Time: s.e.CreatedAt, ID: id})
		}
	}
	for id, r := range v.d.memory {
		if flagged && f.Matches(r.e) && v.d.remembers(r) {
			pairs = append(pairs, store.Pair{Time: r.e.CreatedAt, ID: id})
		}
	}
	for id, w := range v.d.waits {
		if flagged && f.Matches(keptOf(w.Event)) {
			pairs = append(pairs, store.Pair{Time: w.Event.CreatedAt, ID: id})
		}
	}
	slices.SortFunc(pairs, func(a, b store.Pair) int { return order(a.Time, b.Time, a.ID, b.ID) })
	return yieldAll(limited(pairs, f))
}

// Count looks at every event.
func (v *modelView) Count(_ context.Context, filters []nostr.Filter) (int, error) {
	n := 0
	for _, s := range v.d.events {
		if !expired(s.e, v.now) && slices.ContainsFunc(filters, func(f nostr.Filter) bool { return f.Matches(s.e) }) {
			n++
		}
	}
	return n, nil
}

// About looks at every event.
func (v *modelView) About(_ context.Context, ids []nostr.ID, addresses []string) iter.Seq2[store.Row, error] {
	var rows []store.Row
	for id, s := range v.d.events {
		if (namesAny(s.e, ids, addresses) || slices.Contains(addresses, s.e.Address())) && !expired(s.e, v.now) {
			rows = append(rows, store.Row{Seq: s.seq, ID: id, Time: s.e.CreatedAt, JSON: s.e.AppendJSON(nil)})
		}
	}
	slices.SortFunc(rows, func(a, b store.Row) int { return order(a.Time, b.Time, a.ID, b.ID) })
	return yieldAll(rows)
}

func namesAny(e *nostr.Event, ids []nostr.ID, addresses []string) bool {
	return slices.ContainsFunc(e.Tags, func(t nostr.Tag) bool {
		if len(t) < 2 || len(t[0]) != 1 {
			return false
		}
		id := strings.Contains("eEq", t[0]) && slices.ContainsFunc(ids, func(id nostr.ID) bool { return id.String() == t[1] })
		return id || strings.Contains("aAq", t[0]) && slices.Contains(addresses, t[1])
	})
}

func order(at, bt int64, a, b nostr.ID) int {
	return cmp.Or(cmp.Compare(bt, at), a.Compare(b))
}

func limited[T any](s []T, f nostr.Filter) []T {
	if f.Limit == nil {
		return s
	}
	return s[:max(0, min(*f.Limit, len(s)))]
}

func yieldAll[T any](s []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range s {
			if !yield(v, nil) {
				return
			}
		}
	}
}
