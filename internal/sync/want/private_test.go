package want_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestPrivateRepositoriesAreWantedOnlyWhereTheyAreNamed: where the service is private bootstrap relays are not asked for a repository that
// some announcement of it says is private, from when it says so until it does not; a public service makes no difference.
func TestPrivateRepositoriesAreWantedOnlyWhereTheyAreNamed(t *testing.T) {
	service, err := grasp.ParseService("relay.example.org")
	if err != nil {
		t.Fatal(err)
	}
	const boot, named, second = want.URL("wss://boot.example"), want.URL("wss://named.example"), want.URL("wss://second.example")
	owner, mate := testkit.Key(1), testkit.Key(2)
	announce := func(key nostr.SecretKey, at int64, private string, relays ...want.URL) *nostr.Event {
		tags := []nostr.Tag{{"d", "x"}, {"maintainers", owner.PubKey().String(), mate.PubKey().String()}, {"relays", "wss://relay.example.org"}}
		for _, u := range relays {
			tags[2] = append(tags[2], string(u))
		}
		if private != "" {
			tags = append(tags, nostr.Tag{"private", private})
		}
		return testkit.Sign(key, at, nip34.KindRepository, "", tags...)
	}
	for _, guarded := range []bool{true, false} {
		d := want.NewDesired(policy.Rules{Service: service, Private: guarded}, []want.URL{boot}, want.Bounds{})
		of := map[want.URL]int{}
		expect := func(what string, want ...want.URL) {
			t.Helper()
			for u, w := range d.Changed(0) {
				of[u] = len(w.Repos)
			}
			var got []string
			for u, n := range of {
				if n > 0 {
					got = append(got, string(u))
				}
			}
			slices.Sort(got)
			if len(got) != len(want) || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("guarded %v, %s: wanted of %v, not %v", guarded, what, got, want)
			}
		}
		hidden := func(urls ...want.URL) []want.URL {
			if guarded {
				return urls
			}
			return append([]want.URL{boot}, urls...)
		}
		d.Add(announce(owner, 10, "", named))
		expect("public", boot, named)
		d.Add(announce(owner, 11, "true", named))
		expect("private", hidden(named)...)
		d.Add(announce(owner, 12, "true", boot, named))
		expect("private and named", boot, named)
		d.Add(announce(owner, 13, "false", named))
		expect("public again", boot, named)
		d.Add(announce(mate, 14, "", second))
		expect("public for all", boot, named, second)
		theirs := announce(mate, 15, "true", second)
		d.Add(theirs)
		expect("private for a maintainer", hidden(named, second)...)
		d.Remove(theirs.ID)
		expect("and no more", boot, named)
		waiting := announce(mate, 16, "", second)
		d.Await(waiting)
		expect("one waits", boot, named, second)
		d.Add(announce(owner, 17, "true", named))
		expect("one waits that does not say so", hidden(named, second)...)
		d.Remove(waiting.ID)
		expect("it lapses", hidden(named)...)
		d.Await(waiting)
		expect("and comes again", hidden(named, second)...)
	}
}
