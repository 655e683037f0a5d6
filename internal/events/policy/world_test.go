package policy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// door is what a store and its door do with verdicts, without bounds: it serves, remembers what left, and decides again
// what was refused whenever something changed.
type door struct {
	t       testing.TB
	view    memory
	refused []*nostr.Event
	left    map[string]*nostr.Event // by address, the newest announcement that left
}

func newDoor(t testing.TB) *door { return &door{t: t, left: map[string]*nostr.Event{}} }

// submit takes an event from anywhere, and settles what follows from it.
func (d *door) submit(e *nostr.Event) policy.Outcome {
	outcome := d.decide(e)
	for again := outcome == policy.Accept || outcome == policy.Withdraw; again; {
		again = d.evict(e.Tags.D())
		waiting := d.refused
		d.refused = nil
		for _, r := range waiting {
			o := d.decide(r)
			again = again || o == policy.Accept || o == policy.Withdraw
		}
	}
	return outcome
}

func (d *door) decide(e *nostr.Event) policy.Outcome {
	if left := d.left[e.Address()]; left != nil && e.ID != left.ID && !e.Stamp().Newer(left.Stamp()) {
		return policy.Superseded
	}
	for _, served := range d.view.events {
		if served.ID == e.ID {
			return policy.Duplicate
		}
		if e.Address() != "" && served.Address() == e.Address() && served.Stamp().Newer(e.Stamp()) {
			return policy.Superseded
		}
	}
	verdict := decide(d.t, &d.view, e)
	switch verdict.Outcome {
	case policy.Accept:
		d.view.add(e)
	case policy.Withdraw:
		d.leave(e)
	default:
		d.refused = append(d.refused, e)
	}
	return verdict.Outcome
}

// leave takes the place of an announcement out of service.
func (d *door) leave(newest *nostr.Event) {
	d.view.events = slices.DeleteFunc(d.view.events, func(e *nostr.Event) bool { return e.Address() == newest.Address() })
	d.left[newest.Address()] = newest
	d.refused = append(d.refused, newest)
}

// evict removes announcements whose invitation has ended.
func (d *door) evict(identifier string) bool {
	ids, err := rules(d.t).Unwelcome(identifier, &d.view)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, id := range ids {
		i := slices.IndexFunc(d.view.events, func(e *nostr.Event) bool { return e.ID == id })
		d.leave(d.view.events[i])
	}
	if ids, err := rules(d.t).Unwelcome(identifier, &d.view); err != nil || len(ids) != 0 {
		d.t.Fatalf("unwelcome once more: %v, %v", ids, err)
	}
	return len(ids) != 0
}

// served is the ids of what is served, in order of the ids.
func (d *door) served() []nostr.ID {
	var ids []nostr.ID
	for _, e := range d.view.events {
		ids = append(ids, e.ID)
	}
	slices.SortFunc(ids, nostr.ID.Compare)
	return ids
}

// announcements are random versions by n people of repositories with the same d, of which some list us.
func announcements(r *rand.Rand, n, versions int) []*nostr.Event {
	var list []*nostr.Event
	for person := range n {
		for v := range 1 + r.IntN(versions) {
			tags := nostr.Tags{tag("d", "d"), tag("maintainers")}
			for range r.IntN(4) {
				tags[1] = append(tags[1], key(fmt.Sprint(r.IntN(n))).String())
			}
			if r.IntN(3) == 0 {
				tags = append(tags, tag("relays", ours))
			}
			if r.IntN(10) == 0 {
				tags = append(tags, tag("u", repo("0")))
			}
			// Same-second versions are told apart by id.
			at := now.Add(time.Duration(v/2) * time.Second).Add(-time.Hour)
			list = append(list, eventAt(at, fmt.Sprint(person), nip34.KindRepository, append(tags, tag("v", fmt.Sprint(v)))...))
		}
	}
	return list
}

// In whatever order owners' and maintainers' announcements, old and new versions, arrive: once what was refused has been
// decided again, the same are served.
func TestOrderOfAnnouncementsDoesNotMatter(t *testing.T) {
	servedAny, leftAny, byInvitation := 0, 0, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		events := announcements(r, 2+r.IntN(4), 3)
		var want []nostr.ID
		for try := range 6 {
			d := newDoor(t)
			for _, e := range events {
				d.submit(e)
			}
			got := d.served()
			if try == 0 {
				want = got
				servedAny += len(got)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, try %d: served %v, before %v", seed, try, got, want)
			}
			leftAny += len(d.left)
			byInvitation += newestOnly(t, seed, events, got)
			r.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		}
	}
	if servedAny < 100 || leftAny < 100 || byInvitation < 100 {
		t.Fatalf("dull worlds: %d served, %d left, %d invited", servedAny, leftAny, byInvitation)
	}
}

// newestOnly checks that what is served is the newest version of each author, and all of those that list us. It counts
// those that do not.
func newestOnly(t *testing.T, seed uint64, events []*nostr.Event, served []nostr.ID) (others int) {
	t.Helper()
	newest := map[string]*nostr.Event{}
	for _, e := range events {
		if old := newest[e.Address()]; old == nil || e.Stamp().Newer(old.Stamp()) {
			newest[e.Address()] = e
		}
	}
	lists := 0
	for _, e := range newest {
		_, relays := e.Tags.First("relays")
		here := slices.Contains(served, e.ID)
		switch {
		case relays && !here:
			t.Fatalf("seed %d: %v lists us and is not served", seed, e.ID)
		case relays:
			lists++
		case here:
			others++
		}
	}
	if lists+others != len(served) {
		t.Fatalf("seed %d: older versions are served", seed)
	}
	return others
}

// With one version of everything nothing leaves, and then states, issues, comments and deletions do not depend on
// the order of arrival either.
func TestOrderOfEverythingDoesNotMatter(t *testing.T) {
	accepted, refused := 0, 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 2))
		events := announcements(r, 4, 1)
		name := func() string { return fmt.Sprint(r.IntN(4)) }
		for i := range 12 {
			other := events[r.IntN(len(events))].ID.String()
			n := tag("n", fmt.Sprint(i))
			next := []*nostr.Event{
				event(name(), nip34.KindState, tag("d", "d"), n),
				event("x"+name(), nip34.KindIssue, tag("a", repo(name())), n),
				event("x"+name(), nostr.KindComment, tag("E", other), n),
				event("x"+name(), 1, n),
				event("x"+name(), 1, tag("q", other), n),
				event("x"+name(), nostr.KindDeletion, tag("e", other), n),
				event("x"+name(), nip34.KindGraspList, n),
			}[r.IntN(7)]
			if !slices.ContainsFunc(events, func(e *nostr.Event) bool { return next.Address() != "" && e.Address() == next.Address() }) {
				events = append(events, next)
			}
		}
		var want []nostr.ID
		for try := range 5 {
			d := newDoor(t)
			for _, e := range events {
				d.submit(e)
			}
			got := d.served()
			if try == 0 {
				want = got
				accepted, refused = accepted+len(got), refused+len(d.refused)
			}
			if !slices.Equal(got, want) || len(d.left) != 0 {
				t.Fatalf("seed %d, try %d: served %v, before %v, left %v", seed, try, got, want, d.left)
			}
			r.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		}
	}
	if accepted < 500 || refused < 250 {
		t.Fatalf("dull worlds: %d accepted, %d refused", accepted, refused)
	}
}
