package want_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// A bootstrap relay counts as named by every repository, also by those of an author who names as many relays as one may.
func TestBootstrapRelaysAreNamedByEveryRepository(t *testing.T) {
	boot := want.URL(relay(9))
	f := newFold(t, boot, boot, want.URL(us))
	a, b := key(0), key(1)
	many := []string{us}
	for n := range 60 {
		many = append(many, fmt.Sprintf("wss://r%d.example.net", n))
	}
	x := f.Announce(a, "x", 10, many[:21])
	f.AddAll(x, f.Announce(a, "y", 10, append([]string{us}, many[21:41]...)), f.Announce(a, "z", 10, append([]string{us}, many[41:]...)), f.Issue(11, address(a, "z")))
	f.AddAll(f.Announce(b, "w", 10, []string{us, relay(9)}), f.Announce(b, "v", 10, []string{relay(1)}))
	f.Expect(t, map[int]string{9: "w/2/0 x/1/0 y/1/0 z/1/1"})
	if n := len(f.Wants); n != 51 { // the bootstrap relay takes none of the author's 50
		t.Errorf("%d relays are wanted", n)
	}
	if w := f.Wants[boot]; !w.Bootstrap || w.Owners != 2 || w.Party() != "" {
		t.Errorf("bootstrap %v, owners %d, account %q", w.Bootstrap, w.Owners, w.Party())
	}
	f.Remove(x.ID)
	f.Expect(t, map[int]string{9: "w/2/0 y/1/0 z/1/1"})
}

// What waits for its git data is asked of bootstrap relays, too.
func TestBootstrapRelaysAreAskedForWhatWaits(t *testing.T) {
	f := newFold(t, want.URL(relay(9)))
	f.Await(f.Announce(key(0), "x", 10, []string{us}))
	f.Expect(t, map[int]string{9: "x/1/0"})
}

func TestDesired(t *testing.T) {
	here := func(relays ...int) []string {
		out := []string{us}
		for _, n := range relays {
			out = append(out, relay(n))
		}
		return out
	}
	a, b, c := key(0), key(1), key(2) // shown as 1, 2, 3
	tests := []struct {
		name string
		run  func(t *testing.T, f *fold)
	}{
		{"announced with a root", func(t *testing.T, f *fold) {
			f.AddAll(f.Announce(a, "x", 10, here(1, 2)), f.Issue(11, address(a, "x")))
			f.Expect(t, map[int]string{1: "x/1/1", 2: "x/1/1"})
		}},
		{"never ourselves", func(t *testing.T, f *fold) {
			f.AddAll(f.Announce(a, "x", 10, []string{us, "wss://RELAY.example.org:443/", relay(1)}))
			f.Step()
			if len(f.Wants) != 1 {
				t.Errorf("%d relays", len(f.Wants))
			}
		}},
		{"not listing us", func(t *testing.T, f *fold) {
			f.AddAll(f.Announce(a, "x", 10, []string{relay(1), "wss://evil-relay.example.org"}))
			f.Expect(t, map[int]string{1: "none"})
		}},
		{"root before its announcement", func(t *testing.T, f *fold) {
			f.AddAll(f.Issue(9, address(a, "x")))
			f.Expect(t, map[int]string{1: "none"})
			f.AddAll(f.Announce(a, "x", 10, here(1)))
			f.Expect(t, map[int]string{1: "x/1/1"})
		}},
		{"root of several repositories", func(t *testing.T, f *fold) {
			f.AddAll(f.Announce(a, "x", 10, here(1)), f.Issue(9, address(a, "x"), address(b, "y"), address(a, "x")))
			f.Expect(t, map[int]string{1: "x/1/1"})
			f.AddAll(f.Announce(b, "y", 10, here(1, 2)))
			f.Expect(t, map[int]string{1: "x/1/1 y/2/1", 2: "y/2/1"})
		}},
		{"root removed", func(t *testing.T, f *fold) {
			e := f.Issue(9, address(a, "x"), address(b, "x"))
			f.AddAll(f.Announce(a, "x", 10, here(1)), f.Announce(b, "x", 10, here(1)), e, f.Issue(9, address(a, "x")))
			f.Expect(t, map[int]string{1: "x/1/2 x/2/1"})
			f.Remove(e.ID)
			f.Expect(t, map[int]string{1: "x/1/1 x/2/0"})
		}},
		{"relay dropped and added", func(t *testing.T, f *fold) {
			f.AddAll(f.Announce(a, "x", 10, here(1, 2)))
			f.Step()
			f.AddAll(f.Announce(a, "x", 11, here(2, 3)))
			f.Expect(t, map[int]string{1: "none", 2: "x/1/0", 3: "x/1/0"})
		}},
		{"older version after a newer one", func(t *testing.T, f *fold) {
			old := f.Announce(a, "x", 10, here(1))
			f.AddAll(f.Announce(a, "x", 11, here(2)), old)
			f.Expect(t, map[int]string{1: "none", 2: "x/1/0"})
			f.Remove(old.ID)
			f.Expect(t, map[int]string{2: "x/1/0"})
		}},
		{"same second, lower id wins", func(t *testing.T, f *fold) {
			one, two := f.Announce(a, "x", 10, here(1)), f.Announce(a, "x", 10, here(2))
			low, n := one, 1
			if two.ID.Compare(one.ID) < 0 {
				low, n = two, 2
			}
			high := map[*nostr.Event]*nostr.Event{one: two, two: one}[low]
			f.AddAll(low, high)
			f.Expect(t, map[int]string{n: "x/1/0", 3 - n: "none"})
			f.Remove(low.ID)
			f.AddAll(high, low)
			f.Expect(t, map[int]string{n: "x/1/0", 3 - n: "none"})
		}},
		{"deleted", func(t *testing.T, f *fold) {
			e := f.Announce(a, "x", 10, here(1))
			f.AddAll(e, f.Announce(b, "y", 10, here(1)))
			f.Step()
			f.Remove(e.ID)
			f.Expect(t, map[int]string{1: "y/2/0"})
		}},
		{"newer version without us, then its removal", func(t *testing.T, f *fold) {
			f.AddAll(f.Announce(a, "x", 10, here(1)))
			f.Step()
			gone := f.Announce(a, "x", 11, []string{relay(1)})
			f.AddAll(gone)
			f.Expect(t, map[int]string{1: "none"})
			f.Remove(gone.ID)
			f.Expect(t, map[int]string{1: "none"})
		}},
		{"replaced: removal told after the addition", func(t *testing.T, f *fold) {
			old := f.Announce(a, "x", 10, here(1))
			f.AddAll(old)
			f.Step()
			f.AddAll(f.Announce(a, "x", 11, here(2)))
			f.Remove(old.ID)
			f.Expect(t, map[int]string{1: "none", 2: "x/1/0"})
		}},
		{"maintainer joins with relays and roots", func(t *testing.T, f *fold) {
			f.AddAll(f.Announce(a, "x", 10, here(1), b), f.Issue(11, address(b, "x")))
			f.Expect(t, map[int]string{1: "x/1/0", 2: "none"})
			f.AddAll(f.Announce(b, "x", 12, []string{relay(2)}, a))
			f.Expect(t, map[int]string{1: "x/1,2/1", 2: "x/1,2/1"})
			f.AddAll(f.Issue(13, address(b, "x"), address(a, "x")))
			f.Expect(t, map[int]string{1: "x/1,2/2", 2: "x/1,2/2"})
		}},
		{"invited only", func(t *testing.T, f *fold) {
			f.AddAll(f.Announce(a, "x", 10, here(1), b), f.Announce(b, "x", 12, []string{relay(2)}))
			f.Expect(t, map[int]string{1: "x/1/0", 2: "none"})
		}},
		{"maintainer leaves", func(t *testing.T, f *fold) {
			f.AddAll(f.Announce(a, "x", 10, here(1), b), f.Announce(b, "x", 12, []string{relay(2)}, a), f.Issue(9, address(b, "x")))
			f.Expect(t, map[int]string{1: "x/1,2/1", 2: "x/1,2/1"})
			f.AddAll(f.Announce(a, "x", 13, here(1)))
			f.Expect(t, map[int]string{1: "x/1/0", 2: "none"})
		}},
		{"maintainer of a maintainer", func(t *testing.T, f *fold) {
			f.AddAll(f.Announce(c, "x", 9, []string{relay(3)}, b), f.Announce(b, "x", 9, []string{relay(2)}, a, c))
			f.Expect(t, map[int]string{1: "none", 2: "none", 3: "none"})
			f.AddAll(f.Announce(a, "x", 10, here(1), b))
			f.Expect(t, map[int]string{1: "x/1,2,3/0", 2: "x/1,2,3/0", 3: "x/1,2,3/0"})
			f.AddAll(f.Announce(b, "x", 11, []string{relay(2)}, a))
			f.Expect(t, map[int]string{1: "x/1,2/0", 3: "none"})
		}},
		{"who declined changes his mind", func(t *testing.T, f *fold) {
			fork := f.Announce(b, "x", 12, []string{relay(2)}, a)
			fork.Tags = append(fork.Tags, nostr.Tag{"u", address(a, "x")})
			f.AddAll(f.Announce(a, "x", 10, here(1), b), fork)
			f.Expect(t, map[int]string{1: "x/1/0", 2: "none"})
			f.AddAll(f.Announce(b, "x", 13, []string{relay(2)}, a))
			f.Expect(t, map[int]string{1: "x/1,2/0", 2: "x/1,2/0"})
		}},
		{"who declined deletes that", func(t *testing.T, f *fold) {
			fork := f.Announce(b, "x", 12, []string{relay(2)}, a)
			fork.Tags = append(fork.Tags, nostr.Tag{"m", b.String(), "1", "2"})
			f.AddAll(f.Announce(a, "x", 10, here(1), b), fork)
			f.Step()
			before := f.Wants[want.URL(relay(1))].Repos[0].Item
			f.Remove(fork.ID)
			f.Step()
			if f.Wants[want.URL(relay(1))].Repos[0].Item == before {
				t.Error("an invitation is no new revision")
			}
		}},
		{"maintainer's relays change", func(t *testing.T, f *fold) {
			f.AddAll(f.Announce(a, "x", 10, here(1), b), f.Announce(b, "x", 12, []string{relay(2)}, a))
			f.Step()
			f.AddAll(f.Announce(b, "x", 13, []string{relay(3)}, a))
			f.Expect(t, map[int]string{1: "x/1,2/0", 2: "none", 3: "x/1,2/0"})
		}},
		{"both maintainers list us", func(t *testing.T, f *fold) {
			f.AddAll(f.Announce(a, "x", 10, here(1), b), f.Announce(b, "x", 12, here(1), a), f.Issue(13, address(a, "x")))
			f.Expect(t, map[int]string{1: "x/1,2/1 x/2,1/1"})
			if w := f.Wants[want.URL(relay(1))]; w.Owners != 2 {
				t.Errorf("%d owners", w.Owners)
			}
		}},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) { c.run(t, newFold(t)) })
	}
}

func TestDesiredBootstrap(t *testing.T) {
	f := newFold(t, want.URL(relay(1)), want.URL(us))
	if changed := f.Step(); !slices.Equal(changed, []want.URL{want.URL(relay(1))}) {
		t.Fatalf("changed %v", changed)
	}
	w := f.Wants[want.URL(relay(1))]
	if !w.Empty() || !w.Bootstrap {
		t.Errorf("want %v", wanttest.Contents(w))
	}
	e := f.Announce(key(0), "x", 10, []string{us, relay(1)})
	f.AddAll(e)
	f.Expect(t, map[int]string{1: "x/1/0"})
	f.Remove(e.ID)
	f.Expect(t, map[int]string{1: ""})
}

func TestDesiredBounds(t *testing.T) {
	t.Run("relays of an announcement", func(t *testing.T) {
		f := newFold(t)
		list := []string{us, "not a url", "wss://user@r1.example.net"}
		for n := range 10_000 {
			list = append(list, relay(n), strings.ToUpper(relay(n))+"/", relay(n)+"#frag")
		}
		f.AddAll(f.Announce(key(0), "x", 10, list))
		f.Step()
		if len(f.Wants) != 19 { // 20 valid ones, of which one is this relay
			t.Errorf("%d relays", len(f.Wants))
		}
	})
	t.Run("repositories and relays of an author", func(t *testing.T) {
		f := newFold(t)
		for n := range 150 {
			f.AddAll(f.Announce(key(0), fmt.Sprintf("d%03d", n), 10, []string{us, relay(n), relay(n + 1)}))
		}
		f.Step()
		if len(f.Wants) != 50 {
			t.Errorf("%d relays", len(f.Wants))
		}
		seen := map[want.Item]string{}
		for _, w := range f.Wants {
			for _, r := range w.Repos {
				seen[r.Item] = w.Repository(r.Item).D
			}
		}
		if len(seen) != 50 { // d000 to d049 name the first 50 relays
			t.Errorf("%d repositories have a source", len(seen))
		}
		if repos, _ := f.Repositories(); repos != 100 {
			t.Errorf("%d repositories", repos)
		}
	})
	t.Run("a repository past the bound moves up", func(t *testing.T) {
		f := newFold(t)
		var first *nostr.Event
		for n := range 101 {
			e := f.Announce(key(0), fmt.Sprintf("d%03d", n), 10, []string{us, relay(n / 100)})
			if n == 0 {
				first = e
			}
			f.AddAll(e)
		}
		f.AddAll(f.Issue(10, address(key(0), "d100")))
		f.Expect(t, map[int]string{1: "none"})
		f.Remove(first.ID)
		f.Expect(t, map[int]string{1: "d100/1/1"})
	})
	t.Run("maintainers of a repository", func(t *testing.T) {
		f := newFold(t)
		var all []nostr.PubKey
		for n := range 60 {
			all = append(all, key(n+1))
			f.AddAll(f.Announce(key(n+1), "x", 10, []string{relay(2)}, key(0)))
		}
		f.AddAll(f.Announce(key(0), "x", 10, []string{us, relay(1)}, all...))
		f.Step()
		w := f.Wants[want.URL(relay(1))]
		if n := len(w.Repository(w.Repos[0].Item).Addresses); n != 26 {
			t.Errorf("%d addresses", n)
		}
	})
	t.Run("repositories of a root", func(t *testing.T) {
		f := newFold(t)
		var at []string
		for n := range 300 {
			at = append(at, address(key(n), "x"))
			f.AddAll(f.Announce(key(n), "x", 10, []string{us, relay(1)}))
		}
		f.AddAll(f.Issue(10, at...))
		f.Step()
		n := 0
		for _, r := range f.Wants[want.URL(relay(1))].Repos {
			n += r.Roots()
		}
		if n != 64 {
			t.Errorf("one root event counts for %d repositories", n)
		}
	})
}

func TestDesiredRevisions(t *testing.T) {
	f := newFold(t)
	a := key(0)
	item := func() want.Item { return f.Wants[want.URL(relay(1))].Repos[0].Item }
	at := func(seconds int) []want.URL {
		var changed []want.URL
		for u, w := range f.Changed(time.Duration(seconds) * time.Second) {
			f.Wants[u] = w
			changed = append(changed, u)
		}
		return changed
	}
	f.AddAll(f.Announce(a, "x", 1, []string{us, relay(1)}, key(1)))
	at(100)
	first := item()
	f.AddAll(f.Announce(key(1), "x", 2, nil, a), f.Announce(a, "x", 3, []string{us, relay(1), relay(2)}, key(1)))
	if at(110); item() != first {
		t.Error("a second revision within a minute")
	}
	if f.Wants[want.URL(relay(2))] == nil {
		t.Error("a new relay waits for the revision")
	}
	if due, ok := f.Due(); !ok || due != 160*time.Second {
		t.Errorf("due %v, %v", due, ok)
	}
	if changed := at(120); len(changed) != 0 {
		t.Errorf("nothing changed, but Wants for %v", changed)
	}
	if at(160); item() == first {
		t.Error("the revision did not come after its minute")
	}
	if _, ok := f.Due(); ok {
		t.Error("still due")
	}
	second := item()
	f.AddAll(f.Announce(a, "x", 4, []string{us, relay(1), relay(2)}, key(1))) // nothing new in it
	if changed := at(600); len(changed) != 0 || item() != second {
		t.Errorf("same content, but Wants for %v", changed)
	}
	f.AddAll(f.Announce(key(1), "x", 5, nil))
	at(601)
	third := item()
	f.AddAll(f.Announce(key(1), "x", 6, nil, a))
	if at(602); item() != third {
		t.Error("a revision within a second")
	}
	if at(661); item() == third || item() == second {
		t.Error("left and back: the address must be asked again")
	}
}

func TestDesiredHandsOutOnlyWhatIsTaken(t *testing.T) {
	f := newFold(t)
	f.AddAll(f.Announce(key(0), "x", 1, []string{us, relay(1), relay(2), relay(3)}))
	for range f.Changed(0) {
		break
	}
	if rest := collect(f.Desired, 1, f.Wants); len(rest) != 2 {
		t.Errorf("after one of three was taken, %d came", len(rest))
	}
}

func TestDesiredForgets(t *testing.T) {
	f := newFold(t)
	var all []*nostr.Event
	for n := range 20 {
		all = append(all, f.Issue(1, address(key(n), "x"), address(key(n+1), "x")))
		all = append(all, f.Announce(key(n), "x", 1, []string{us, relay(n % 4)}, key(n+1), key(n-1)))
	}
	f.AddAll(all...).Step()
	for _, e := range all {
		f.Remove(e.ID)
	}
	f.Step()
	if n := f.Left(); n != 0 {
		t.Errorf("%d things are remembered of what was removed", n)
	}
	if repos, roots := f.Repositories(); repos != 0 || roots != 0 || len(f.Wants) != 0 {
		t.Errorf("%d repositories, %d root events, %d relays", repos, roots, len(f.Wants))
	}
}

// A new root event copies one chunk, and a Want handed out before is not disturbed.
func TestDesiredSharesWhatDidNotChange(t *testing.T) {
	f := newFold(t)
	f.AddAll(f.Announce(key(0), "x", 1, []string{us, relay(1)}), f.Announce(key(1), "y", 1, []string{us, relay(1)}))
	var roots []*nostr.Event
	for range 200 {
		roots = append(roots, f.Issue(5, address(key(0), "x")))
	}
	f.AddAll(roots...)
	f.Step()
	before := f.Wants[want.URL(relay(1))]
	was := wanttest.Contents(before)
	f.AddAll(f.Issue(6, address(key(0), "x")))
	f.Remove(roots[100].ID)
	f.Step()
	after := f.Wants[want.URL(relay(1))]
	if before == after || !slices.Equal(wanttest.Contents(before), was) {
		t.Error("an older Want changed")
	}
	if before.Repos[1] != after.Repos[1] {
		t.Error("a repository that did not change was made anew")
	}
	added, gone := want.Differ(before, after)
	if len(added) > 130 || len(gone) > 130 {
		t.Errorf("one root more and one less: %d and %d items looked at", len(added), len(gone))
	}
	f.AddAll(f.Issue(7, address(key(0), "x")))
	f.Step()
	if added, gone = want.Differ(after, f.Wants[want.URL(relay(1))]); len(added) != 1 || len(gone) != 0 {
		t.Errorf("one root more: %d and %d items looked at", len(added), len(gone))
	}
}

// What a new root event costs does not follow how many repositories name the relay: its Want tells which one moved.
func TestAWantTellsWhatMoved(t *testing.T) {
	f := newFold(t)
	for i := range 50 {
		f.AddAll(f.Announce(key(i), "x", 1, []string{us, relay(1)}))
	}
	moved := func(w *want.Want) string { n, ok := w.Moved(); return fmt.Sprint(n, " ", ok) }
	f.Step()
	first := f.Wants[want.URL(relay(1))]
	f.AddAll(f.Issue(1, address(key(7), "x")), f.Issue(2, address(key(7), "x"))).Step()
	second := f.Wants[want.URL(relay(1))]
	f.AddAll(f.Issue(3, address(key(8), "x")), f.Issue(4, address(key(9), "x"))).Step()
	third := f.Wants[want.URL(relay(1))]
	f.AddAll(f.Announce(key(60), "x", 1, []string{us, relay(1)})).Step()
	fourth := f.Wants[want.URL(relay(1))]
	if got := []string{moved(first), moved(second), moved(third), moved(fourth)}; !slices.Equal(got, []string{"0 false", "1 true", "2 true", "0 false"}) {
		t.Errorf("moved: %v", got)
	}
	for i, pair := range [][2]*want.Want{{first, second}, {second, third}, {first, third}, {third, fourth}, {second, fourth}} {
		add, sub := want.Differ(pair[0], pair[1])
		if n := []int{2, 2, 4, 1, 3}[i]; len(add) != n || len(sub) > 0 {
			t.Errorf("pair %d: %d added, %d taken back", i, len(add), len(sub))
		}
	}
}
