package mailbox_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/mailbox"
	"github.com/graspd/graspd/internal/test/testkit"
)

var self = func() grasp.Service {
	s, err := grasp.ParseService("here.example")
	if err != nil {
		panic(err)
	}
	return s
}()

func newFold(b mailbox.Bounds, index ...mailbox.URL) *mailbox.Fold {
	return mailbox.New(self, index, policy.Partakes, b)
}

func says(n int, at int64, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	return testkit.Mark(testkit.Someone(n), at, kind, "", tags...)
}

// lists is somebody's relay list; a relay with a mark is "wss://a|read".
func lists(n int, at int64, relays ...string) *nostr.Event {
	var tags []nostr.Tag
	for _, r := range relays {
		tags = append(tags, append(nostr.Tag{"r"}, strings.Split(r, "|")...))
	}
	return says(n, at, nostr.KindRelayList, tags...)
}

func issue(n int, at int64) *nostr.Event {
	return says(n, at, nip34.KindIssue, nostr.Tag{"a", repository})
}

var repository = nip34.Address{Kind: nip34.KindRepository, PubKey: testkit.Someone(1), D: "d"}.String()

// asked are the relays and whose mailbox they are, as they stand.
type asked map[mailbox.URL]*mailbox.Mailbox

func (a asked) take(f *mailbox.Fold) (changed []string) {
	for u, s := range f.Changed() {
		if changed = append(changed, string(u)); s == nil {
			delete(a, u)
		} else {
			a[u] = s
		}
	}
	return changed
}

func (a asked) String() string {
	var out []string
	for _, u := range slices.Sorted(maps.Keys(a)) {
		var who []string
		for i := range 100 {
			if slices.ContainsFunc(a[u].People, func(p mailbox.Person) bool { return p.PubKey == testkit.Someone(i) }) {
				who = append(who, fmt.Sprint(i))
			}
		}
		out = append(out, fmt.Sprintf("%s:%s", strings.TrimPrefix(string(u), "wss://"), strings.Join(who, ",")))
		if n := len(a[u].Index); n > 0 {
			out[len(out)-1] += fmt.Sprintf("+%d", n)
		}
	}
	return strings.Join(out, " ")
}

func TestWhichRelaysAreMailboxes(t *testing.T) {
	for _, tc := range []struct {
		name   string
		bounds mailbox.Bounds
		events []*nostr.Event
		want   string
	}{
		{"nobody", mailbox.Bounds{}, nil, ""},
		{"a list of one who does not take part", mailbox.Bounds{}, []*nostr.Event{lists(1, 5, "wss://a.example")}, ""},
		{"one who takes part and has no list", mailbox.Bounds{}, []*nostr.Event{issue(1, 5)}, ""},
		{"the list comes first", mailbox.Bounds{}, []*nostr.Event{lists(1, 5, "wss://a.example"), issue(1, 5)}, "a.example:1"},
		{"a profile is no part", mailbox.Bounds{}, []*nostr.Event{lists(1, 5, "wss://a.example"), says(1, 5, nostr.KindMetadata), says(1, 5, nip34.KindGraspList)}, ""},
		{"marks", mailbox.Bounds{}, []*nostr.Event{issue(1, 5), lists(1, 5, "wss://r.example|read", "wss://w.example|write", "wss://b.example", "wss://e.example|")}, "b.example:1 e.example:1 w.example:1"},
		{"no more than four, the first ones that are any good", mailbox.Bounds{}, []*nostr.Event{issue(1, 5),
			lists(1, 5, "wss://here.example", "nothing at all", "wss://5.example", "WSS://5.example:443/", "wss://4.example", "wss://3.example|read", "wss://2.example", "wss://1.example", "wss://0.example")},
			"1.example:1 2.example:1 4.example:1 5.example:1"},
		{"the newest list", mailbox.Bounds{}, []*nostr.Event{issue(1, 5), lists(1, 7, "wss://new.example"), lists(1, 6, "wss://old.example")}, "new.example:1"},
		{"those that most write to", mailbox.Bounds{Relays: 2}, []*nostr.Event{issue(1, 5), issue(2, 5), lists(1, 5, "wss://a.example", "wss://b.example", "wss://c.example"), lists(2, 5, "wss://c.example")}, "a.example:1 c.example:1,2"},
		{"few of one host", mailbox.Bounds{RelaysPerHost: 1}, []*nostr.Event{issue(1, 5), issue(2, 5), lists(1, 5, "wss://a.example/1", "wss://a.example:444", "wss://a.example/2"), lists(2, 5, "wss://a.example/2")}, "a.example/2:1,2"},
		{"who maintains counts before who wrote last", mailbox.Bounds{People: 2}, []*nostr.Event{
			says(1, 5, nip34.KindState, nostr.Tag{"d", "d"}), issue(2, 6), issue(3, 7), lists(1, 5, "wss://a.example"), lists(2, 5, "wss://a.example"), lists(3, 5, "wss://a.example")}, "a.example:1,3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, a := newFold(tc.bounds), asked{}
			for _, e := range tc.events {
				f.Add(e)
			}
			if a.take(f); a.String() != tc.want {
				t.Errorf("%q, want %q", a, tc.want)
			}
		})
	}
}

func TestMailboxesFollowWhatIsHere(t *testing.T) {
	f, a := newFold(mailbox.Bounds{}, "wss://index.example", "wss://here.example", "wss://index.example"), asked{}
	wants := func(what, want string, changed ...string) {
		t.Helper()
		if got := a.take(f); a.String() != want || !slices.Equal(got, changed) {
			t.Errorf("%s: %q, of which %v changed", what, a, got)
		}
		if got := a.take(f); got != nil {
			t.Errorf("%s: handed out twice: %v", what, got)
		}
	}
	wants("nothing", "")
	first, second, home := issue(1, 5), issue(1, 6), lists(1, 5, "wss://a.example")
	f.Add(first)
	wants("somebody", "index.example:+1", "wss://index.example")
	f.Add(home)
	wants("their list", "a.example:1 index.example:+1", "wss://a.example")
	f.Add(second)
	wants("what they wrote else", "a.example:1 index.example:+1", "wss://a.example")
	f.Add(second)
	wants("the same", "a.example:1 index.example:+1")
	moved := lists(1, 6, "wss://b.example", "wss://index.example")
	f.Add(moved)
	f.Remove(home.ID)
	wants("they moved", "b.example:1 index.example:1+1", "wss://a.example", "wss://b.example", "wss://index.example")
	f.Remove(first.ID)
	f.Remove(issue(7, 7).ID)
	wants("one of two is gone", "b.example:1 index.example:1+1", "wss://b.example", "wss://index.example")
	f.Remove(second.ID)
	wants("both are gone", "", "wss://b.example", "wss://index.example")
	f.Add(first)
	wants("they are back", "b.example:1 index.example:1+1", "wss://b.example", "wss://index.example")
	f.Remove(moved.ID)
	wants("the list is gone", "index.example:+1", "wss://b.example", "wss://index.example")
}

// In any world the bounds hold, whatever order it comes in, and it is the same as what is told anew of what is left.
func TestMailboxesInAnyWorld(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		b := mailbox.Bounds{People: 1 + r.IntN(30), RelaysPerPerson: 1 + r.IntN(5), Relays: 1 + r.IntN(10), RelaysPerHost: 1 + r.IntN(3)}
		f, a := newFold(b, "wss://index.example"), asked{}
		here := make(map[nostr.ID]*nostr.Event)
		var order []*nostr.Event
		for step := range 300 {
			n := 1 + r.IntN(b.People) // as many as count, so that nobody is forgotten
			var e *nostr.Event
			switch r.IntN(4) {
			case 0:
				e = lists(n, int64(r.IntN(100)), fmt.Sprintf("wss://h%d.example/%d", r.IntN(9), r.IntN(4)), fmt.Sprintf("wss://h%d.example", r.IntN(9)))
			case 1:
				e = says(n, int64(r.IntN(100)), nostr.KindReaction, nostr.Tag{"e", issue(r.IntN(9), 1).ID.String()})
			case 2:
				e = issue(n, int64(r.IntN(100)))
			default:
				if len(order) == 0 {
					continue
				}
				e = order[r.IntN(len(order))]
				f.Remove(e.ID)
				delete(here, e.ID)
				continue
			}
			for id, old := range here { // a store keeps the newest list
				if e.Kind == nostr.KindRelayList && old.Kind == e.Kind && old.PubKey == e.PubKey {
					if old.Stamp().Newer(e.Stamp()) || old.ID == e.ID {
						e = old
						break
					}
					f.Remove(id)
					delete(here, id)
				}
			}
			if here[e.ID] == nil {
				here[e.ID], order = e, append(order, e)
				f.Add(e)
			}
			if step%20 == 0 {
				a.take(f)
			}
		}
		a.take(f)
		parts := make(map[nostr.PubKey]int)
		for _, e := range here {
			if policy.Partakes(e.Kind) {
				parts[e.PubKey]++
			}
		}
		if len(a) > b.Relays+1 {
			t.Fatalf("seed %d: %d relays", seed, len(a))
		}
		hosts, mine := make(map[string]int), make(map[nostr.PubKey]int)
		for u, s := range a {
			hosts[u.Host()]++
			for _, p := range s.People {
				if mine[p.PubKey]++; parts[p.PubKey] == 0 || len(p.IDs) == 0 || len(p.IDs) > 10 || len(p.Addresses) > 3 {
					t.Fatalf("seed %d: %+v takes part by %d events", seed, p, parts[p.PubKey])
				}
			}
		}
		for h, n := range hosts {
			if n > b.RelaysPerHost {
				t.Fatalf("seed %d: %d relays of %s", seed, n, h)
			}
		}
		for pk, n := range mine {
			if n > b.RelaysPerPerson {
				t.Fatalf("seed %d: %d relays of %s", seed, n, pk)
			}
		}
		if slices.Max(append(slices.Collect(maps.Values(parts)), 0)) > 8 {
			continue // what was dropped of one does not come back
		}
		anew, again := newFold(b, "wss://index.example"), asked{}
		for _, e := range here {
			anew.Add(e)
		}
		if again.take(anew); again.String() != a.String() {
			t.Fatalf("seed %d:\n%s\nanew\n%s", seed, a, again)
		}
	}
}

func TestPeopleAreBounded(t *testing.T) {
	f, a := newFold(mailbox.Bounds{People: 100}), asked{}
	for n := range 5000 {
		f.Add(lists(n, 1, "wss://a.example"))
	}
	for n := range 5000 {
		f.Add(issue(n, int64(n)))
		f.Add(lists(n, 2, "wss://a.example"))
	}
	a.take(f)
	if n := a["wss://a.example"].Size(); n < 100 || n > 112 {
		t.Errorf("%d people", n)
	}
	if n := f.Remembers(); n > 500 {
		t.Errorf("%d events are remembered", n)
	}
	for i := range 1000 {
		f.Add(issue(4999, int64(i)))
	}
	if n := f.Remembers(); n > 510 {
		t.Errorf("%d events are remembered", n)
	}
}
