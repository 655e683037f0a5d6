package against_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/against"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

var tool = nip34.Address{Kind: nip34.KindRepository, PubKey: testkit.Key(1).PubKey(), D: "tool"}

// side is a relay that announces tool, with events of these ids and refs.
func side(refs map[string]string, ids ...byte) against.Holdings {
	h := against.Holdings{Announced: map[nip34.Address]bool{tool: true}, Events: map[nostr.ID]against.Event{}, Refs: map[nip34.Address]against.Refs{tool: {List: refs, Signed: len(refs) > 0}}}
	for _, n := range ids {
		id := nostr.ID{n}
		h.Events[id] = against.Event{ID: id, Kind: nip34.KindIssue, CreatedAt: int64(n), By: tool.PubKey, Title: "it breaks", Of: tool}
	}
	return h
}

// why returns what is told of an event or ref that one side has alone.
func why(list []against.Only, what string) (text string, missing bool) {
	for _, o := range list {
		if o.What == what {
			return o.Why, o.Missing
		}
	}
	return "", false
}

func TestTheSameOnBothSides(t *testing.T) {
	refs := map[string]string{"refs/heads/main": "1", "refs/nostr/" + strings.Repeat("ab", 32): "2"}
	r := against.Compare(side(refs, 1, 2), side(refs, 2, 1), nil)
	if r.Missing+r.Left+r.Beside+r.Unread != 0 || len(r.Repositories) != 1 {
		t.Fatalf("%+v", r)
	}
	x := r.Repositories[0]
	if !x.Here || !x.There || x.Refs != (against.Count{Here: 1, There: 1}) || x.Pulls != (against.Count{Here: 1, There: 1}) || len(x.Kinds) != 1 || x.Kinds[0].Name != "issue" || x.Kinds[0].Count != (against.Count{Here: 2, There: 2}) {
		t.Errorf("%+v", x)
	}
}

// What is only there is missing, unless this relay knows why it does not keep it.
func TestWhatIsOnlyThere(t *testing.T) {
	for _, c := range []struct {
		known   store.Knowledge
		text    string
		missing bool
	}{
		{store.Knowledge{}, "not come", true}, {store.Knowledge{State: store.InWaiting}, "waits", true},
		{store.Knowledge{State: store.Remembered, Why: policy.Lapsed}, "in time", true}, {store.Knowledge{State: store.Remembered, Why: policy.Deleted}, "deleted", false},
		{store.Knowledge{State: store.Remembered, Why: policy.NoMaintainer}, "maintain", false}, {store.Knowledge{State: store.Stored}, "come here", false},
	} {
		id := nostr.ID{2}
		r := against.Compare(side(nil, 1), side(nil, 1, 2), map[nostr.ID]store.Knowledge{id: c.known})
		if o := r.Repositories[0].OnlyThere[0]; o.Title != "it breaks" || o.By != nip19.Npub(tool.PubKey) {
			t.Errorf("%+v", o)
		}
		text, missing := why(r.Repositories[0].OnlyThere, id.String())
		if !strings.Contains(text, c.text) || missing != c.missing || (r.Missing == 1) != c.missing || r.Missing+r.Left != 1 || r.Beside != 0 {
			t.Errorf("%+v: %q, missing %v, want %q, %v", c.known, text, missing, c.text, c.missing)
		}
	}
}

func TestVersions(t *testing.T) {
	here, there := side(nil), side(nil)
	for n, h := range map[byte]against.Holdings{1: here, 2: there} {
		h.Events[nostr.ID{n}] = against.Event{ID: nostr.ID{n}, Kind: nip34.KindState, CreatedAt: int64(n), Address: "30618:x:tool", Of: tool}
	}
	r := against.Compare(here, there, nil)
	if text, missing := why(r.Repositories[0].OnlyThere, nostr.ID{2}.String()); !missing || !strings.Contains(text, "not come") {
		t.Errorf("a newer version there: %q", text)
	}
	if text, _ := why(r.Repositories[0].OnlyHere, nostr.ID{1}.String()); !strings.Contains(text, "newer version") {
		t.Errorf("an older version here: %q", text)
	}
	r = against.Compare(there, here, nil)
	if text, missing := why(r.Repositories[0].OnlyThere, nostr.ID{1}.String()); missing || !strings.Contains(text, "newer version") {
		t.Errorf("an older version there: %q", text)
	}
}

func TestRefs(t *testing.T) {
	pull := "refs/nostr/" + nostr.ID{1}.String()
	for _, c := range []struct {
		name        string
		here, there map[string]string
		ref, text   string
		missing     bool
		beside      int
	}{
		{"nothing is here", nil, map[string]string{"refs/heads/main": "a"}, "refs/heads/main", "no state", true, 0},
		{"another commit", map[string]string{"refs/heads/main": "b"}, map[string]string{"refs/heads/main": "a"}, "refs/heads/main", "names b", false, 1},
		{"nobody signed it", map[string]string{"refs/heads/main": "a"}, map[string]string{"refs/heads/main": "a", "refs/heads/x": "c"}, "refs/heads/x", "does not name it", false, 0},
		{"a commit is awaited", nil, map[string]string{pull: "a"}, pull, "commit is not here", true, 0},
		{"an event is awaited", nil, map[string]string{"refs/nostr/" + nostr.ID{9}.String(): "a"}, "refs/nostr/" + nostr.ID{9}.String(), "event is not", true, 0},
		{"only here", map[string]string{"refs/heads/main": "a"}, nil, "", "", false, 1},
	} {
		r := against.Compare(side(c.here, 1), side(c.there, 1), nil)
		text, missing := why(r.Repositories[0].OnlyThere, c.ref)
		if !strings.Contains(text, c.text) || missing != c.missing || (r.Missing == 1) != c.missing || r.Beside != c.beside {
			t.Errorf("%s: %q, missing %v, %d only here", c.name, text, missing, r.Beside)
		}
	}
	there := side(nil, 1)
	there.Refs[tool] = against.Refs{Unread: "HTTP 502"}
	if r := against.Compare(side(map[string]string{"refs/heads/main": "a"}, 1), there, nil); r.Unread != 1 || r.Repositories[0].Unread != "HTTP 502" || r.Beside != 0 {
		t.Errorf("unread: %+v", r)
	}
}

// A repository that only one side announces is told with all that it has.
func TestRepositoriesOfOneSide(t *testing.T) {
	none := against.Holdings{}
	r := against.Compare(none, side(nil, 1, 2), nil)
	if x := r.Repositories[0]; x.Here || !x.There || r.Missing != 2 {
		t.Errorf("%+v", r)
	}
	r = against.Compare(side(nil, 1, 2), none, nil)
	if x := r.Repositories[0]; !x.Here || x.There || r.Missing != 0 || r.Beside != 2 {
		t.Errorf("%+v", r)
	}
}

// askerOf answers from a list, with everything twice.
func askerOf(events []*nostr.Event) against.Asker {
	return func(_ context.Context, f nostr.Filter, do func(*nostr.Event) error) error {
		for _, e := range slices.Concat(events, events) {
			if !f.Matches(e) {
				continue
			}
			if err := do(e); err != nil {
				return err
			}
		}
		return nil
	}
}

func everything(*nip34.Announcement) bool { return true }

// All of it is read, and each event belongs to a repository.
func TestEverythingIsRead(t *testing.T) {
	announced := testkit.Announcement(testkit.Key(1), 10, "tool", "wss://relay.example.org")
	other := testkit.Announcement(testkit.Key(2), 10, "other", "wss://relay.example.org")
	all := []*nostr.Event{announced, other}
	var issues []*nostr.Event
	for i := range 40 {
		issue := testkit.Issue(testkit.Key(3), int64(100+i/15), tool.String(), fmt.Sprint("issue ", i))
		if i%15 < 7 {
			issues = append(issues, issue)
			all = append(all, issue, testkit.Comment(testkit.Key(4), int64(200+i), issue, "me too"))
		}
	}
	stray := testkit.Issue(testkit.Key(3), 100, "30617:"+strings.Repeat("12", 32)+":elsewhere", "stray")
	ask := askerOf(append(all, stray))
	repositories, err := against.Announcements(t.Context(), ask, everything)
	if err != nil || len(repositories) != 2 || !repositories[tool] {
		t.Fatal(repositories, err)
	}
	got, err := against.Events(t.Context(), ask, repositories)
	if err != nil || len(got) != len(all) {
		t.Fatalf("%d of %d: %v", len(got), len(all), err)
	}
	if e := got[issues[0].ID]; e.Title != "issue 0" || e.By != testkit.Key(3).PubKey() {
		t.Errorf("%+v", e)
	}
	if got[issues[0].ID].Of != tool || got[other.ID].Of == tool || got[announced.ID].Address == "" {
		t.Errorf("%+v", got)
	}
	only, err := against.Announcements(t.Context(), ask, func(a *nip34.Announcement) bool { return a.Address == tool })
	if err != nil || len(only) != 1 {
		t.Error(only, err)
	}
}
