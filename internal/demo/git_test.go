package demo

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/demo/corpus"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func made(t *testing.T, n int) (bench, []history) {
	t.Helper()
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "elsewhere")) // of whoever looks on
	b := bench(filepath.Join(t.TempDir(), "bench"))
	all, err := b.commits(t.Context(), n, 1_700_000_000)
	if err != nil {
		t.Fatal(err)
	}
	return b, all
}

func TestHistories(t *testing.T) {
	b, all := made(t, repositories)
	if len(all) != repositories {
		t.Fatalf("%d histories", len(all))
	}
	tips := map[string]bool{}
	for i, h := range all {
		listed, err := b.git(t.Context(), nil, "rev-list", "--reverse", h.tip())
		if err != nil || !slices.Equal(strings.Fields(listed), h) || len(h) < 3 || len(h) > 20 {
			t.Errorf("history %d has %d commits: %v\n%s", i, len(h), err, listed)
		}
		tips[h.tip()] = true
	}
	if len(tips) != len(all) {
		t.Errorf("%d histories are different", len(tips))
	}
}

func TestGitSaysWhatIsWrong(t *testing.T) {
	b, _ := made(t, 1)
	if _, err := b.git(t.Context(), nil, "rev-parse", "--verify", "nothing"); err == nil || !strings.Contains(err.Error(), "git rev-parse: ") || !strings.Contains(err.Error(), "single revision") {
		t.Errorf("%v", err)
	}
}

// What events say about commits is true: nothing would be served otherwise.
func TestEventsNameCommits(t *testing.T) {
	var all []history
	for i := range repositories {
		h := history{}
		for k := range 3 + i {
			h = append(h, strings.Repeat(string("0123456789ab"[i])+string("0123456789abcdef"[k]), 20))
		}
		all = append(all, h)
	}
	h := newHistories(all)
	h.sign = func(_ nostr.SecretKey, pk nostr.PubKey, e *nostr.Event) { e.PubKey = pk; e.ID = e.ComputeID() }
	o := options(1_700_000_000)
	o.Relays, o.Sign = []string{"ws://127.0.0.1:1", "ws://127.0.0.1:2", "ws://127.0.0.1:3"}, h.finish
	projects, about := written(corpus.Generate(o), h)
	if len(projects) != repositories || len(about) < 1000 {
		t.Errorf("%d projects, %d events", len(projects), len(about))
	}
	for _, p := range projects {
		if len(p.announced) == 0 || len(p.states) == 0 || len(p.relays) != 2 {
			t.Errorf("%s has %d announcements and %d states, and lists %s", p.address, len(p.announced), len(p.states), p.relays)
		}
		for _, e := range p.states {
			if at, _ := e.Tags.First(branch); at != p.history.tip() {
				t.Errorf("%s is at %s", p.address, at)
			}
		}
	}
	requests, tips := 0, map[string]bool{}
	for _, e := range about {
		if e.Kind != nip34.KindPullRequest && e.Kind != nip34.KindPullRequestUpdate {
			continue
		}
		requests++
		tip, _ := e.Tags.First("c")
		of, named := e.Tags.First("a")
		a, err := nip34.ParseAddress(of)
		if known := slices.ContainsFunc(projects, func(p *project) bool {
			return slices.Contains(p.history, tip) && (!named || err == nil && p.address.D == a.D)
		}); !known {
			t.Errorf("kind %d about %q names %q", e.Kind, of, tip)
		}
		tips[tip] = true
	}
	if requests < 50 || len(tips) < 20 {
		t.Errorf("%d pull requests and updates with %d tips", requests, len(tips))
	}
}

func TestAClonesCommitsAreCompared(t *testing.T) {
	b, all := made(t, 2)
	from := bench(filepath.Join(string(b), "served"))
	for _, args := range [][]string{{"init", "-q", "--bare", "-b", "main", string(from)}, append([]string{"push", "-q", string(from)}, all[0].refspecs()...)} {
		if _, err := b.git(t.Context(), nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	clone := func(name string, h history) error {
		_, err := b.clone(t.Context(), string(from), h, filepath.Join(t.TempDir(), name))
		return err
	}
	if err := clone("same", all[0]); err != nil {
		t.Error(err)
	}
	for name, h := range map[string]history{"fewer": all[0][1:], "others": all[1]} {
		if err := clone(name, h); err == nil {
			t.Errorf("%s: nothing is wrong", name)
		}
	}
	if _, err := from.git(t.Context(), nil, "update-ref", tag, all[0][1]); err != nil {
		t.Fatal(err)
	}
	if err := clone("another tag", all[0]); err == nil || !strings.Contains(err.Error(), "refs of the clone") {
		t.Errorf("a tag that was moved: %v", err)
	}
}
