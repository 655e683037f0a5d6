package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"graspd/internal/nip34"
	"graspd/internal/nostr"
	"graspd/internal/plan"
)

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

// fold is a Desired and what it has handed out.
type fold struct {
	mint
	*plan.Desired
	wants map[plan.URL]*plan.Want
	now   int // minutes
}

func newFold(t testing.TB, bootstrap ...plan.URL) *fold {
	return &fold{Desired: plan.NewDesired(service(t), bootstrap, plan.Bounds{}), wants: map[plan.URL]*plan.Want{}}
}

func (f *fold) add(events ...*nostr.Event) *fold {
	for _, e := range events {
		f.Add(e)
	}
	return f
}

// step derives, two minutes later, and returns which relays changed.
func (f *fold) step() []plan.URL {
	f.now += 2
	return collect(f.Desired, f.now, f.wants)
}

// show lists repositories as d/addresses/roots per relay, in short.
func (f *fold) show(n int) string {
	w := f.wants[plan.URL(relay(n))]
	if w == nil {
		return "none"
	}
	var out []string
	for _, r := range w.Repos {
		x := w.Repository(r)
		var authors []string
		for _, a := range x.Addresses {
			at, _ := nip34.ParseAddress(a)
			authors = append(authors, fmt.Sprint(at.PubKey[3]))
		}
		out = append(out, fmt.Sprintf("%s/%s/%d", x.D, strings.Join(authors, ","), r.Roots()))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (f *fold) expect(t *testing.T, want map[int]string) {
	t.Helper()
	f.step()
	for n, s := range want {
		if got := f.show(n); got != s {
			t.Errorf("relay %d: want holds %q, not %q", n, got, s)
		}
	}
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
			f.add(f.announce(a, "x", 10, here(1, 2)), f.issue(11, address(a, "x")))
			f.expect(t, map[int]string{1: "x/1/1", 2: "x/1/1"})
		}},
		{"never ourselves", func(t *testing.T, f *fold) {
			f.add(f.announce(a, "x", 10, []string{us, "wss://RELAY.example.org:443/", relay(1)}))
			f.step()
			if len(f.wants) != 1 {
				t.Errorf("%d relays", len(f.wants))
			}
		}},
		{"not listing us", func(t *testing.T, f *fold) {
			f.add(f.announce(a, "x", 10, []string{relay(1), "wss://evil-relay.example.org"}))
			f.expect(t, map[int]string{1: "none"})
		}},
		{"root before its announcement", func(t *testing.T, f *fold) {
			f.add(f.issue(9, address(a, "x")))
			f.expect(t, map[int]string{1: "none"})
			f.add(f.announce(a, "x", 10, here(1)))
			f.expect(t, map[int]string{1: "x/1/1"})
		}},
		{"root of several repositories", func(t *testing.T, f *fold) {
			f.add(f.announce(a, "x", 10, here(1)), f.issue(9, address(a, "x"), address(b, "y"), address(a, "x")))
			f.expect(t, map[int]string{1: "x/1/1"})
			f.add(f.announce(b, "y", 10, here(1, 2)))
			f.expect(t, map[int]string{1: "x/1/1 y/2/1", 2: "y/2/1"})
		}},
		{"root removed", func(t *testing.T, f *fold) {
			e := f.issue(9, address(a, "x"), address(b, "x"))
			f.add(f.announce(a, "x", 10, here(1)), f.announce(b, "x", 10, here(1)), e, f.issue(9, address(a, "x")))
			f.expect(t, map[int]string{1: "x/1/2 x/2/1"})
			f.Remove(e.ID)
			f.expect(t, map[int]string{1: "x/1/1 x/2/0"})
		}},
		{"relay dropped and added", func(t *testing.T, f *fold) {
			f.add(f.announce(a, "x", 10, here(1, 2)))
			f.step()
			f.add(f.announce(a, "x", 11, here(2, 3)))
			f.expect(t, map[int]string{1: "none", 2: "x/1/0", 3: "x/1/0"})
		}},
		{"older version after a newer one", func(t *testing.T, f *fold) {
			old := f.announce(a, "x", 10, here(1))
			f.add(f.announce(a, "x", 11, here(2)), old)
			f.expect(t, map[int]string{1: "none", 2: "x/1/0"})
			f.Remove(old.ID)
			f.expect(t, map[int]string{2: "x/1/0"})
		}},
		{"same second, lower id wins", func(t *testing.T, f *fold) {
			one, two := f.announce(a, "x", 10, here(1)), f.announce(a, "x", 10, here(2))
			low, n := one, 1
			if two.ID.Compare(one.ID) < 0 {
				low, n = two, 2
			}
			high := map[*nostr.Event]*nostr.Event{one: two, two: one}[low]
			f.add(low, high)
			f.expect(t, map[int]string{n: "x/1/0", 3 - n: "none"})
			f.Remove(low.ID)
			f.add(high, low)
			f.expect(t, map[int]string{n: "x/1/0", 3 - n: "none"})
		}},
		{"deleted", func(t *testing.T, f *fold) {
			e := f.announce(a, "x", 10, here(1))
			f.add(e, f.announce(b, "y", 10, here(1)))
			f.step()
			f.Remove(e.ID)
			f.expect(t, map[int]string{1: "y/2/0"})
		}},
		{"newer version without us, then its removal", func(t *testing.T, f *fold) {
			f.add(f.announce(a, "x", 10, here(1)))
			f.step()
			gone := f.announce(a, "x", 11, []string{relay(1)})
			f.add(gone)
			f.expect(t, map[int]string{1: "none"})
			f.Remove(gone.ID)
			f.expect(t, map[int]string{1: "none"})
		}},
		{"replaced: removal told after the addition", func(t *testing.T, f *fold) {
			old := f.announce(a, "x", 10, here(1))
			f.add(old)
			f.step()
			f.add(f.announce(a, "x", 11, here(2)))
			f.Remove(old.ID)
			f.expect(t, map[int]string{1: "none", 2: "x/1/0"})
		}},
		{"maintainer joins with relays and roots", func(t *testing.T, f *fold) {
			f.add(f.announce(a, "x", 10, here(1), b), f.issue(11, address(b, "x")))
			f.expect(t, map[int]string{1: "x/1/0", 2: "none"})
			f.add(f.announce(b, "x", 12, []string{relay(2)}, a))
			f.expect(t, map[int]string{1: "x/1,2/1", 2: "x/1,2/1"})
			f.add(f.issue(13, address(b, "x"), address(a, "x")))
			f.expect(t, map[int]string{1: "x/1,2/2", 2: "x/1,2/2"})
		}},
		{"invited only", func(t *testing.T, f *fold) {
			f.add(f.announce(a, "x", 10, here(1), b), f.announce(b, "x", 12, []string{relay(2)}))
			f.expect(t, map[int]string{1: "x/1/0", 2: "none"})
		}},
		{"maintainer leaves", func(t *testing.T, f *fold) {
			f.add(f.announce(a, "x", 10, here(1), b), f.announce(b, "x", 12, []string{relay(2)}, a), f.issue(9, address(b, "x")))
			f.expect(t, map[int]string{1: "x/1,2/1", 2: "x/1,2/1"})
			f.add(f.announce(a, "x", 13, here(1)))
			f.expect(t, map[int]string{1: "x/1/0", 2: "none"})
		}},
		{"maintainer of a maintainer", func(t *testing.T, f *fold) {
			f.add(f.announce(c, "x", 9, []string{relay(3)}, b), f.announce(b, "x", 9, []string{relay(2)}, a, c))
			f.expect(t, map[int]string{1: "none", 2: "none", 3: "none"})
			f.add(f.announce(a, "x", 10, here(1), b))
			f.expect(t, map[int]string{1: "x/1,2,3/0", 2: "x/1,2,3/0", 3: "x/1,2,3/0"})
			f.add(f.announce(b, "x", 11, []string{relay(2)}, a))
			f.expect(t, map[int]string{1: "x/1,2/0", 3: "none"})
		}},
		{"who declined changes his mind", func(t *testing.T, f *fold) {
			fork := f.announce(b, "x", 12, []string{relay(2)}, a)
			fork.Tags = append(fork.Tags, nostr.Tag{"u", address(a, "x")})
			f.add(f.announce(a, "x", 10, here(1), b), fork)
			f.expect(t, map[int]string{1: "x/1/0", 2: "none"})
			f.add(f.announce(b, "x", 13, []string{relay(2)}, a))
			f.expect(t, map[int]string{1: "x/1,2/0", 2: "x/1,2/0"})
		}},
		{"who declined deletes that", func(t *testing.T, f *fold) {
			fork := f.announce(b, "x", 12, []string{relay(2)}, a)
			fork.Tags = append(fork.Tags, nostr.Tag{"m", b.String(), "1", "2"})
			f.add(f.announce(a, "x", 10, here(1), b), fork)
			f.step()
			before := f.wants[plan.URL(relay(1))].Repos[0].Item
			f.Remove(fork.ID)
			f.step()
			if f.wants[plan.URL(relay(1))].Repos[0].Item == before {
				t.Error("an invitation is no new revision")
			}
		}},
		{"maintainer's relays change", func(t *testing.T, f *fold) {
			f.add(f.announce(a, "x", 10, here(1), b), f.announce(b, "x", 12, []string{relay(2)}, a))
			f.step()
			f.add(f.announce(b, "x", 13, []string{relay(3)}, a))
			f.expect(t, map[int]string{1: "x/1,2/0", 2: "none", 3: "x/1,2/0"})
		}},
		{"both maintainers list us", func(t *testing.T, f *fold) {
			f.add(f.announce(a, "x", 10, here(1), b), f.announce(b, "x", 12, here(1), a), f.issue(13, address(a, "x")))
			f.expect(t, map[int]string{1: "x/1,2/1 x/2,1/1"})
			if w := f.wants[plan.URL(relay(1))]; w.Owners != 2 {
				t.Errorf("%d owners", w.Owners)
			}
		}},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) { c.run(t, newFold(t)) })
	}
}

func TestDesiredBootstrap(t *testing.T) {
	f := newFold(t, plan.URL(relay(1)), plan.URL(us))
	if changed := f.step(); !slices.Equal(changed, []plan.URL{plan.URL(relay(1))}) {
		t.Fatalf("changed %v", changed)
	}
	w := f.wants[plan.URL(relay(1))]
	if !w.Empty() || !w.Bootstrap {
		t.Errorf("want %v", w.Contents())
	}
	e := f.announce(key(0), "x", 10, []string{us, relay(1)})
	f.add(e)
	f.expect(t, map[int]string{1: "x/1/0"})
	f.Remove(e.ID)
	f.expect(t, map[int]string{1: ""})
}

func TestDesiredBounds(t *testing.T) {
	t.Run("relays of an announcement", func(t *testing.T) {
		f := newFold(t)
		list := []string{us, "not a url", "wss://user@r1.example.net"}
		for n := range 10_000 {
			list = append(list, relay(n), strings.ToUpper(relay(n))+"/", relay(n)+"#frag")
		}
		f.add(f.announce(key(0), "x", 10, list))
		f.step()
		if len(f.wants) != 19 { // 20 valid ones, of which one is this relay
			t.Errorf("%d relays", len(f.wants))
		}
	})
	t.Run("repositories and relays of an author", func(t *testing.T) {
		f := newFold(t)
		for n := range 150 {
			f.add(f.announce(key(0), fmt.Sprintf("d%03d", n), 10, []string{us, relay(n), relay(n + 1)}))
		}
		f.step()
		if len(f.wants) != 50 {
			t.Errorf("%d relays", len(f.wants))
		}
		seen := map[plan.Item]string{}
		for _, w := range f.wants {
			for _, r := range w.Repos {
				seen[r.Item] = w.Repository(r).D
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
			e := f.announce(key(0), fmt.Sprintf("d%03d", n), 10, []string{us, relay(n / 100)})
			if n == 0 {
				first = e
			}
			f.add(e)
		}
		f.add(f.issue(10, address(key(0), "d100")))
		f.expect(t, map[int]string{1: "none"})
		f.Remove(first.ID)
		f.expect(t, map[int]string{1: "d100/1/1"})
	})
	t.Run("maintainers of a repository", func(t *testing.T) {
		f := newFold(t)
		var all []nostr.PubKey
		for n := range 60 {
			all = append(all, key(n+1))
			f.add(f.announce(key(n+1), "x", 10, []string{relay(2)}, key(0)))
		}
		f.add(f.announce(key(0), "x", 10, []string{us, relay(1)}, all...))
		f.step()
		w := f.wants[plan.URL(relay(1))]
		if n := len(w.Repository(w.Repos[0]).Addresses); n != 26 {
			t.Errorf("%d addresses", n)
		}
	})
	t.Run("repositories of a root", func(t *testing.T) {
		f := newFold(t)
		var at []string
		for n := range 300 {
			at = append(at, address(key(n), "x"))
			f.add(f.announce(key(n), "x", 10, []string{us, relay(1)}))
		}
		f.add(f.issue(10, at...))
		f.step()
		n := 0
		for _, r := range f.wants[plan.URL(relay(1))].Repos {
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
	item := func() plan.Item { return f.wants[plan.URL(relay(1))].Repos[0].Item }
	at := func(seconds int) []plan.URL {
		var changed []plan.URL
		for u, w := range f.Changed(time.Duration(seconds) * time.Second) {
			f.wants[u] = w
			changed = append(changed, u)
		}
		return changed
	}
	f.add(f.announce(a, "x", 1, []string{us, relay(1)}, key(1)))
	at(100)
	first := item()
	f.add(f.announce(key(1), "x", 2, nil, a), f.announce(a, "x", 3, []string{us, relay(1), relay(2)}, key(1)))
	if at(110); item() != first {
		t.Error("a second revision within a minute")
	}
	if f.wants[plan.URL(relay(2))] == nil {
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
	f.add(f.announce(a, "x", 4, []string{us, relay(1), relay(2)}, key(1))) // nothing new in it
	if changed := at(600); len(changed) != 0 || item() != second {
		t.Errorf("same content, but Wants for %v", changed)
	}
	f.add(f.announce(key(1), "x", 5, nil))
	at(601)
	third := item()
	f.add(f.announce(key(1), "x", 6, nil, a))
	if at(602); item() != third {
		t.Error("a revision within a second")
	}
	if at(661); item() == third || item() == second {
		t.Error("left and back: the address must be asked again")
	}
}

func TestDesiredHandsOutOnlyWhatIsTaken(t *testing.T) {
	f := newFold(t)
	f.add(f.announce(key(0), "x", 1, []string{us, relay(1), relay(2), relay(3)}))
	for range f.Changed(0) {
		break
	}
	if rest := collect(f.Desired, 1, f.wants); len(rest) != 2 {
		t.Errorf("after one of three was taken, %d came", len(rest))
	}
}

func TestDesiredForgets(t *testing.T) {
	f := newFold(t)
	var all []*nostr.Event
	for n := range 20 {
		all = append(all, f.issue(1, address(key(n), "x"), address(key(n+1), "x")))
		all = append(all, f.announce(key(n), "x", 1, []string{us, relay(n % 4)}, key(n+1), key(n-1)))
	}
	f.add(all...).step()
	for _, e := range all {
		f.Remove(e.ID)
	}
	f.step()
	if n := f.Left(); n != 0 {
		t.Errorf("%d things are remembered of what was removed", n)
	}
	if repos, roots := f.Repositories(); repos != 0 || roots != 0 || len(f.wants) != 0 {
		t.Errorf("%d repositories, %d root events, %d relays", repos, roots, len(f.wants))
	}
}

// A new root event copies one chunk, and a Want handed out before is not disturbed.
func TestDesiredSharesWhatDidNotChange(t *testing.T) {
	f := newFold(t)
	f.add(f.announce(key(0), "x", 1, []string{us, relay(1)}), f.announce(key(1), "y", 1, []string{us, relay(1)}))
	var roots []*nostr.Event
	for range 200 {
		roots = append(roots, f.issue(5, address(key(0), "x")))
	}
	f.add(roots...)
	f.step()
	before := f.wants[plan.URL(relay(1))]
	was := before.Contents()
	f.add(f.issue(6, address(key(0), "x")))
	f.Remove(roots[100].ID)
	f.step()
	after := f.wants[plan.URL(relay(1))]
	if before == after || !slices.Equal(before.Contents(), was) {
		t.Error("an older Want changed")
	}
	if before.Repos[1] != after.Repos[1] {
		t.Error("a repository that did not change was made anew")
	}
	added, gone := plan.Differ(before, after)
	if len(added) > 130 || len(gone) > 130 {
		t.Errorf("one root more and one less: %d and %d items looked at", len(added), len(gone))
	}
	f.add(f.issue(7, address(key(0), "x")))
	f.step()
	if added, gone = plan.Differ(after, f.wants[plan.URL(relay(1))]); len(added) != 1 || len(gone) != 0 {
		t.Errorf("one root more: %d and %d items looked at", len(added), len(gone))
	}
}

// What a new root event costs does not follow how many repositories name the relay: its Want tells which one moved.
func TestAWantTellsWhatMoved(t *testing.T) {
	f := newFold(t)
	for i := range 50 {
		f.add(f.announce(key(i), "x", 1, []string{us, relay(1)}))
	}
	moved := func(w *plan.Want) string { n, ok := w.Moved(); return fmt.Sprint(n, " ", ok) }
	f.step()
	first := f.wants[plan.URL(relay(1))]
	f.add(f.issue(1, address(key(7), "x")), f.issue(2, address(key(7), "x"))).step()
	second := f.wants[plan.URL(relay(1))]
	f.add(f.issue(3, address(key(8), "x")), f.issue(4, address(key(9), "x"))).step()
	third := f.wants[plan.URL(relay(1))]
	f.add(f.announce(key(60), "x", 1, []string{us, relay(1)})).step()
	fourth := f.wants[plan.URL(relay(1))]
	if got := []string{moved(first), moved(second), moved(third), moved(fourth)}; !slices.Equal(got, []string{"0 false", "1 true", "2 true", "0 false"}) {
		t.Errorf("moved: %v", got)
	}
	for i, pair := range [][2]*plan.Want{{first, second}, {second, third}, {first, third}, {third, fourth}, {second, fourth}} {
		add, sub := plan.Differ(pair[0], pair[1])
		if n := []int{2, 2, 4, 1, 3}[i]; len(add) != n || len(sub) > 0 {
			t.Errorf("pair %d: %d added, %d taken back", i, len(add), len(sub))
		}
	}
}
