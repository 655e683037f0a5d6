package policy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var errDisk = errors.New("disk")

// failing is a view that counts its calls and whose last call fails, when it comes to that.
type failing struct {
	policy.View
	calls, last int
	said        bool // with the error
}

func (f *failing) call() error {
	if f.calls++; f.calls == f.last {
		return errDisk
	}
	return nil
}

func (f *failing) Announcements(d string, r policy.Rules) (*policy.Announced, error) {
	if err := f.call(); err != nil {
		return nil, err
	}
	return f.View.Announcements(d, r)
}

func (f *failing) Has(id nostr.ID) (bool, error) {
	if err := f.call(); err != nil {
		return f.said, err
	}
	return f.View.Has(id)
}

func (f *failing) HasBy(id nostr.ID, author nostr.PubKey) (bool, error) {
	if err := f.call(); err != nil {
		return f.said, err
	}
	return f.View.HasBy(id, author)
}

func (f *failing) HasAddress(address string) (bool, error) {
	if err := f.call(); err != nil {
		return f.said, err
	}
	return f.View.HasAddress(address)
}

func (f *failing) Named(id nostr.ID, address string) (bool, error) {
	if err := f.call(); err != nil {
		return f.said, err
	}
	return f.View.Named(id, address)
}

func (f *failing) HasAuthor(pk nostr.PubKey) (bool, error) {
	if err := f.call(); err != nil {
		return f.said, err
	}
	return f.View.HasAuthor(pk)
}

func (f *failing) TakesPart(pk nostr.PubKey) (bool, error) {
	if err := f.call(); err != nil {
		return f.said, err
	}
	return f.View.TakesPart(pk)
}

// A view that fails, in whichever call, is never taken for a yes or a no.
func TestFailingView(t *testing.T) {
	for _, e := range []*nostr.Event{
		event("bob", nip34.KindRepository, tag("d", "d")),
		event("bob", nip34.KindState, tag("d", "d")),
		event("bob", nip34.KindIssue, tag("a", repo("carol")), tag("e", nth(1).String())),
		event("bob", nostr.KindDeletion, tag("a", repo("carol")), tag("e", nth(1).String())),
		event("bob", nip34.KindGraspList),
		event("bob", nostr.KindVanish, tag("relay", ours)),
	} {
		counting := &failing{View: carrying()}
		if got := decide(t, counting, e); !got.Outcome.Orphan() {
			t.Fatalf("kind %d: %v", e.Kind, got)
		}
		if counting.calls == 0 {
			t.Fatalf("kind %d: the view was not asked", e.Kind)
		}
		for last := 1; last <= counting.calls; last++ {
			for _, said := range []bool{false, true} {
				got, err := rules(t).Decide(e, policy.Stranger, &failing{View: carrying(), last: last, said: said}, now)
				if !errors.Is(err, errDisk) || got != (policy.Verdict{}) {
					t.Errorf("kind %d, call %d: %v, %v", e.Kind, last, got, err)
				}
			}
		}
	}
	if ids, err := rules(t).Unwelcome("d", &failing{View: carrying(), last: 1}); !errors.Is(err, errDisk) || ids != nil {
		t.Errorf("unwelcome: %v, %v", ids, err)
	}
}

// The cheapest question that decides is the last: what lists us asks nothing, and what is found ends the search.
func TestQuestionsAsked(t *testing.T) {
	var ids nostr.Tags
	for i := range 1700 { // as many as an event can hold
		ids = append(ids, tag("e", nth(i).String()))
	}
	for _, tc := range []struct {
		name string
		e    *nostr.Event
		want int
	}{
		{"announcement that lists us", announce(1, "bob", "d", ours), 0},
		{"announcement that does not", announce(1, "bob", "d"), 2},
		{"state", event("alice", nip34.KindState, tag("d", "d")), 1},
		{"issue", event("bob", nip34.KindIssue, tag("e", nth(1).String()), tag("a", repo("alice")), tag("a", repo("bob"))), 1},
		{"deletion by somebody known", event("alice", nostr.KindDeletion, ids...), 1},
		{"request to vanish", event("bob", nostr.KindVanish, append(ids, tag("relay", ours))...), 1},
		{"request to vanish elsewhere", event("alice", nostr.KindVanish, ids...), 0},
		{"1,700 unknown ids", event("bob", 1, ids...), nip34.MaxReferences + 1},
		{"1,700 unknown ids in a deletion", event("bob", nostr.KindDeletion, ids...), nip34.MaxReferences + 2},
	} {
		v := &failing{View: carrying()}
		decide(t, v, tc.e)
		if v.calls != tc.want {
			t.Errorf("%s: %d questions, want %d", tc.name, v.calls, tc.want)
		}
	}
}

func TestUnwelcome(t *testing.T) {
	d := func(e *nostr.Event) []*nostr.Event { return []*nostr.Event{e} }
	alice, bob := announce(9, "alice", "d", ours), announce(9, "bob", "d")
	for _, tc := range []struct {
		name string
		here []*nostr.Event
		want []*nostr.Event
	}{
		{"nothing here", nil, nil},
		{"lists us", d(alice), nil},
		{"nobody lists him", []*nostr.Event{alice, bob}, d(bob)},
		{"invited", []*nostr.Event{inviting(alice, "bob"), bob}, nil},
		{"invited by one who lists us no more", []*nostr.Event{inviting(announce(9, "alice", "d"), "bob"), bob},
			[]*nostr.Event{inviting(announce(9, "alice", "d"), "bob"), bob}},
		{"they list each other", []*nostr.Event{inviting(bob, "carol"), inviting(announce(9, "carol", "d"), "bob")},
			[]*nostr.Event{inviting(bob, "carol"), inviting(announce(9, "carol", "d"), "bob")}},
		{"another d", []*nostr.Event{alice, announce(9, "bob", "e")}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := &memory{}
			v.add(tc.here...)
			got, err := rules(t).Unwelcome("d", v)
			if err != nil {
				t.Fatal(err)
			}
			var want []nostr.ID
			for _, e := range tc.want {
				want = append(want, e.ID)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
		})
	}
}

// Where a view shows only some of the announcements, an inviter may be among the others: nothing is withdrawn.
func TestUnwelcomeWhereTheViewEnds(t *testing.T) {
	v := &memory{}
	for i := range policy.MaxAnnouncements - 1 {
		v.events = append(v.events, announce(9, fmt.Sprint(i), "d"))
	}
	ids, err := rules(t).Unwelcome("d", v)
	if err != nil || len(ids) != policy.MaxAnnouncements-1 {
		t.Fatalf("%d unwelcome, %v", len(ids), err)
	}
	v.add(announce(9, "one more", "d"), announce(9, "and one more", "d"))
	if ids, err := rules(t).Unwelcome("d", v); err != nil || len(ids) != 0 {
		t.Fatalf("%d unwelcome, %v", len(ids), err)
	}
}

func TestOutcomes(t *testing.T) {
	seen := map[string]bool{}
	for o := policy.Accept; o <= policy.Invalid; o++ {
		v := policy.Verdict{Outcome: o}
		if v.OK() != (o == policy.Accept || o == policy.Duplicate || o == policy.Wait) {
			t.Errorf("%v: OK %v", o, v.OK())
		}
		if again := (policy.Verdict{Outcome: o, Reason: "duplicate: it is here"}); v.New() != (o == policy.Accept || o == policy.Wait) || again.New() != (o == policy.Accept) {
			t.Errorf("%v: new %v, and again %v", o, v.New(), again.New())
		}
		if seen[o.String()] || o.String() == "unknown" {
			t.Errorf("%d is %q", o, o)
		}
		seen[o.String()] = true
		if orphan := o == policy.Unlisted || o == policy.Unrelated || o == policy.NoMaintainer; o.Orphan() != orphan {
			t.Errorf("%v: %v", o, o.Orphan())
		}
	}
	if got := policy.Outcome(99).String(); got != "unknown" {
		t.Errorf("outcome 99 is %q", got)
	}
}

// yes is a view that says the same to every question.
type yes bool

func (y yes) Announcements(_ string, r policy.Rules) (*policy.Announced, error) {
	if !y {
		return r.Gather(nil), nil
	}
	return r.Gather([]*nostr.Event{event("alice", nip34.KindRepository, tag("relays", ours), tag("maintainers", key("bob").String()))}), nil
}
func (y yes) Has(nostr.ID) (bool, error)                 { return bool(y), nil }
func (y yes) HasBy(nostr.ID, nostr.PubKey) (bool, error) { return bool(y), nil }
func (y yes) HasAddress(string) (bool, error)            { return bool(y), nil }
func (y yes) Named(nostr.ID, string) (bool, error)       { return bool(y), nil }
func (y yes) HasAuthor(nostr.PubKey) (bool, error)       { return bool(y), nil }
func (y yes) TakesPart(nostr.PubKey) (bool, error)       { return bool(y), nil }

// FuzzDecide decides any event twice: no panic, the same verdict, and one that may be told.
func FuzzDecide(f *testing.F) {
	for _, kind := range []uint16{1, 5, 62, 1111, 1621, 10317, 20001, 22242, 30023, 30617, 30618} {
		f.Add(kind, now.Unix(), []byte(`[["d","a:b"],["a","`+repo("alice")+`"],["e","`+nth(1).String()+`"],["relays","`+ours+`"],["-"],[]]`), true)
		f.Add(kind, now.Unix()+901, []byte(`[["relays"],["maintainers","x"],["m","`+key("bob").String()+`","1"],["expiration","1"]]`), false)
	}
	f.Fuzz(func(t *testing.T, kind uint16, created int64, raw []byte, known bool) {
		var tags nostr.Tags
		if json.Unmarshal(raw, &tags) != nil {
			return
		}
		e := eventAt(time.Unix(created, 0), "bob", nostr.Kind(kind), tags...)
		first := decide(t, yes(known), e)
		if second := decide(t, yes(known), e); second != first {
			t.Fatalf("%v, then %v", first, second)
		}
	})
}
