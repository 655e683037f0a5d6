package peer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/peer/threads"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

func encoded(filters []nostr.Filter) []string {
	var out []string
	for _, f := range filters {
		out = append(out, string(f.AppendJSON(nil)))
	}
	slices.Sort(out)
	return out
}

func expectFilters(t *testing.T, what string, got []nostr.Filter, want []string) {
	t.Helper()
	slices.Sort(want)
	if g := encoded(got); !slices.Equal(g, want) {
		t.Errorf("%s asks\n%s\nnot\n%s", what, strings.Join(g, "\n"), strings.Join(want, "\n"))
	}
}

// What each layer asks, live and stored, filter by filter.
func TestFiltersOfTheLayers(t *testing.T) {
	m := &mint{}
	root := m.Issue(5, address(key(0), "x:y"))
	w := wantOf(t, m.Announce(key(0), "x:y", 1, []string{us, string(here)}, key(1)), m.Announce(key(1), "x:y", 1, nil, key(0)),
		m.Announce(key(2), "z", 1, []string{us, string(here)}), root)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.connect(w, capacity.Limits{})

	at := fmt.Sprintf(`"%s","%s","%s"`, address(key(0), "x:y"), address(key(1), "x:y"), address(key(2), "z"))
	states := strings.ReplaceAll(at, `"30617:`, `"30618:`)
	rest := func(limit int) []string {
		l := fmt.Sprintf(`,"limit":%d}`, limit)
		return []string{
			`{"#a":[` + at + `]` + l, `{"#A":[` + at + `]` + l, `{"#q":[` + at + `]` + l,
			`{"kinds":[30617,30618],"#d":["x:y","z"]` + l, `{"kinds":[5],"#a":[` + states + `]` + l,
			`{"#e":["` + root.ID.String() + `"]` + l, `{"#E":["` + root.ID.String() + `"]` + l, `{"#q":["` + root.ID.String() + `"]` + l,
		}
	}
	expectFilters(t, "live", d.following(), append(rest(0), `{"kinds":[30617,30618,62],"limit":0}`))
	var stored []nostr.Filter
	for _, r := range d.requests(peer.Catchup) {
		if len(r.Filters) != 1 {
			t.Errorf("a stored request of %d filters", len(r.Filters))
		}
		stored = append(stored, r.Filters...)
	}
	expectFilters(t, "stored", stored, append(rest(500), `{"kinds":[30617],"limit":500}`))
}

// Of a repository whose announcement waits for git data only announcements and states are asked for, and nobody's who refers to it.
func TestWhatWaitsIsAskedForByItsIdentifierAlone(t *testing.T) {
	f := wanttest.NewFold(t)
	f.Await(f.Announce(key(0), "x", 1, []string{us, string(here)}))
	f.Step()
	w := f.Wants[here]
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.connect(w, capacity.Limits{})
	expectFilters(t, "live", d.following(), []string{`{"kinds":[30617,30618],"#d":["x"],"limit":0}`, `{"kinds":[30617,30618,62],"limit":0}`})
	if v := threads.ValuesOf(w, w.Repos[0].Item); len(v.Addresses)+len(v.IDs) > 0 {
		t.Errorf("the full resync looks for what refers to %q", v.Addresses)
	}
}

// asks collects the values per tag that filters ask for.
func asks(filters []nostr.Filter) map[string]int {
	out := map[string]int{}
	for _, f := range filters {
		for _, tag := range f.Tags {
			for _, v := range tag.Values {
				out[fmt.Sprintf("%v#%c %s", f.Kinds, tag.Name, v)]++
			}
		}
	}
	return out
}

// wild makes a random want: names with quotes, colons, emoji, and of 2,000 characters.
func wild(t testing.TB, r *rand.Rand, repos, roots int) *peer.Want {
	m, f := &mint{N: r.Uint64() >> 32}, newFold(t)
	var at []string
	for i := range repos {
		name := pick(r, "repo", "with space", `quo"te\`, "a:b/c", "é😀", "", strings.Repeat("long", 50), "\x01")
		if r.IntN(40) == 0 {
			name = strings.Repeat("😀", 2000)
		}
		d := fmt.Sprintf("%s%d", name, i)
		owner := key(i % 37)
		var others []nostr.PubKey
		for j := range r.IntN(3) * r.IntN(2) {
			others = append(others, key(1000+j))
			f.AddAll(m.Announce(key(1000+j), d, 1, nil, owner))
		}
		f.AddAll(m.Announce(owner, d, 1, []string{us, string(here)}, others...))
		at = append(at, address(owner, d))
	}
	for i := range roots {
		f.AddAll(m.Issue(int64(i), at[r.IntN(len(at))]))
	}
	f.Step()
	return f.Wants[here]
}

// Live REQs stay within the relay's limits in every respect, their filters ask
// for exactly what is wanted, and so do the stored ones.
func TestPacking(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 5))
		limits := capacity.Limits{MaxSubscriptions: pick(r, 0, 1, 2, 3, 4, 10, 20, 200), MaxMessage: pick(r, 0, 40_000, 65_536, 1<<20)}
		c := peer.Config{MaxTags: pick(r, 0, 10, 50), MaxFilters: pick(r, 0, 20), NoNegentropy: true}
		w := wild(t, r, 1+r.IntN(80), r.IntN(2500))
		d := newDriver(t, c)
		d.connect(w, limits)
		d.pass(minutes(2))
		fail := func(format string, args ...any) {
			t.Helper()
			t.Fatalf("seed %d, %+v: %s", seed, limits, fmt.Sprintf(format, args...))
		}
		message, subs, values := 120*1024, 19, 500
		if limits.MaxMessage > 0 && limits.MaxMessage < message {
			message = limits.MaxMessage
		}
		if limits.MaxSubscriptions > 0 {
			subs = limits.MaxSubscriptions
		}
		for _, q := range d.requests(peer.Live, peer.Catchup) {
			if n := len(nostr.AppendReq(nil, q.Sub, q.Filters...)); n > message {
				fail("%s has %d bytes, %d are allowed", q.Sub, n, message)
			}
			if len(q.Filters) > 10 {
				fail("%s has %d filters", q.Sub, len(q.Filters))
			}
			for _, f := range q.Filters {
				for _, tag := range f.Tags {
					if len(tag.Values) > values || len(tag.Values) == 0 {
						fail("%s lists %d values", q.Sub, len(tag.Values))
					}
				}
				if f.Limit == nil || *f.Limit > 500 || f.Since != nil || q.Class == peer.Live && *f.Limit != 0 {
					fail("%s asks %s", q.Sub, f.AppendJSON(nil)[:100])
				}
			}
		}
		if d.most > subs {
			fail("%d REQs at once", d.most)
		}
		if !d.peer.AllConfirmed() {
			fail("not settled: %+v", d.peer.Status())
		}
		var all []nostr.Filter
		for _, it := range wanttest.Items(w) {
			all = append(all, peer.Asks(w, it)...)
		}
		var stored []nostr.Filter
		for _, q := range d.requests(peer.Catchup) {
			if !isTrial(q.Sub) {
				stored = append(stored, q.Filters...)
			}
		}
		want, got, live := asks(all), asks(stored), asks(d.following())
		for v := range want {
			if got[v] == 0 {
				fail("%s is never asked for", v)
			}
			if live[v] == 0 && !d.peer.Polled() {
				fail("%s is not followed", v)
			}
		}
		if len(want) != len(got) {
			fail("%d values are asked for, %d are wanted", len(got), len(want))
		}
	}
}

// The estimate by which REQs are filled is an upper bound, and not a loose one.
func TestPackingWastesLittle(t *testing.T) {
	m, f := &mint{}, newFold(t)
	f.AddAll(m.Announce(key(0), "x", 1, []string{us, string(here)}))
	for i := range 20_000 {
		f.AddAll(m.Issue(int64(i), address(key(0), "x")))
	}
	f.Step()
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.connect(f.Wants[here], capacity.Limits{})
	live := d.requests(peer.Live)
	if len(live) != 16 {
		t.Fatalf("%d live REQs", len(live))
	}
	for _, q := range live[1:] { // the first holds the small filters of layers 1 and 2
		if n := len(nostr.AppendReq(nil, q.Sub, q.Filters...)); n < 115*1024 {
			t.Errorf("%s has %d bytes only", q.Sub, n)
		}
	}
	// The newest are live, the oldest are polled.
	oldest := map[string]bool{}
	for i, id := range wanttest.RootIDs(f.Wants[here], f.Wants[here].Repos[0]) {
		if i < 1000 {
			oldest["[]#e "+id.String()] = true
		}
	}
	for v := range asks(d.following()) {
		if oldest[v] {
			t.Fatal("a root event is live that is older than thousands that are polled")
		}
	}
	if n := d.peer.Status().SweptRoots; n < 5000 || n > 11_000 {
		t.Errorf("%d root events are polled", n)
	}
}
