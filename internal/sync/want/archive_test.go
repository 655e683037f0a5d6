package want_test

import (
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/sync/want"
)

// What is archived is followed on the relays that it names, and a relay whose repositories are mirrored is asked for announcements as
// bootstrap relays are, until it is archived no more.
func TestDesiredFollowsTheArchive(t *testing.T) {
	a, b := key(0), key(1)
	f := newFold(t)
	f.AddAll(f.Announce(a, "x", 10, []string{relay(1), relay(2)}), f.Announce(b, "y", 10, []string{relay(2)}), f.Announce(b, "z", 10, []string{us, relay(3)}))
	archives := func(entry string) policy.Lists {
		return lists(t, func(l *policy.Lists) error { return l.Archive.Add(entry) })
	}
	before := map[int]string{1: "none", 2: "none", 3: "z/2/0"}
	for _, step := range []struct {
		name string
		l    policy.Lists
		want map[int]string
	}{
		{"nothing", policy.Lists{}, before},
		{"all", archives("all"), map[int]string{1: "x/1/0", 2: "x/1/0 y/2/0", 3: "z/2/0"}},
		{"nothing again", policy.Lists{}, before},
		{"an author", archives(a.String()), map[int]string{1: "x/1/0", 2: "x/1/0", 3: "z/2/0"}},
		{"an identifier", archives("y"), map[int]string{1: "none", 2: "y/2/0", 3: "z/2/0"}},
		{"a relay", archives(relay(2)), map[int]string{1: "x/1/0", 2: "x/1/0 y/2/0", 3: "z/2/0"}},
		{"nothing in the end", policy.Lists{}, before},
	} {
		f.SetLists(step.l)
		t.Run(step.name, func(t *testing.T) { f.Expect(t, step.want) })
	}
}

func TestTheArchivedRelayIsAskedForAnnouncements(t *testing.T) {
	service, err := grasp.ParseService("relay.example.org")
	if err != nil {
		t.Fatal(err)
	}
	const first, other = want.URL("wss://first.example"), want.URL("wss://other.example")
	d := want.NewDesired(policy.Rules{Service: service}, []want.URL{first}, want.Bounds{})
	changed := func(want ...want.URL) {
		t.Helper()
		got := map[string]bool{}
		for u, w := range d.Changed(0) {
			got[string(u)] = w.Bootstrap
		}
		if len(got) != len(want) {
			t.Errorf("changed %v", got)
		}
		for _, u := range want {
			if !got[string(u)] {
				t.Errorf("%s: %v", u, got)
			}
		}
	}
	changed(first)
	archives := lists(t, func(l *policy.Lists) error {
		for _, e := range []string{string(first), string(other), "wss://relay.example.org"} {
			if err := l.Archive.Add(e); err != nil {
				return err
			}
		}
		return nil
	})
	d.SetLists(archives)
	changed(other)
	d.SetLists(archives)
	changed()
	d.SetLists(policy.Lists{})
	for u, w := range d.Changed(0) {
		if u != other || w.Bootstrap || !w.Empty() {
			t.Errorf("%s: %+v", u, w)
		}
	}
}
