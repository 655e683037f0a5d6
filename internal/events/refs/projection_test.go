package refs_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestReadPullRequest(t *testing.T) {
	in := tag("a", repo("alice", "d").String())
	p, err := refs.ReadPullRequest(event("p", "bob", 7, nip34.KindPullRequest, in, tag("c", hexOID("1"))))
	if err != nil || p.ID != id("p") || p.CreatedAt != 7 || p.Tip != oid("1") || p.Commit != hexOID("1") ||
		!p.Names(repo("alice", "d")) || p.Names(repo("alice", "e")) || p.Name() != "refs/nostr/"+id("p").String() {
		t.Errorf("got %+v, %v", p, err)
	}
	for _, c := range []string{"", "main", "abc123", strings.Repeat("0", 40), strings.Repeat("ab", 32)} {
		p, err := refs.ReadPullRequest(event("p", "bob", 7, nip34.KindPullRequest, in, tag("c", c)))
		if err != nil || !p.Tip.IsZero() || p.Commit != c {
			t.Errorf("%q: %+v, %v", c, p, err)
		}
	}
	u, err := refs.ReadPullRequest(event("u", "bob", 8, nip34.KindPullRequestUpdate, tag("E", id("p").String()), tag("c", hexOID("2"))))
	if err != nil || u.Updates != id("p") || u.Names(repo("alice", "d")) {
		t.Fatalf("got %+v, %v", u, err)
	}
	if through := u.Of(p); !through.Names(repo("alice", "d")) || through.Through != id("p") {
		t.Errorf("through the pull request: %+v", through)
	}
	if other := u.Of(pullRequest("q", 7, "1", "alice")); len(other.Repositories) != 0 || other.Through != (nostr.ID{}) {
		t.Errorf("through another: %+v", other)
	}
	own, _ := refs.ReadPullRequest(event("u", "bob", 8, nip34.KindPullRequestUpdate, tag("E", id("p").String()), tag("a", repo("carol", "d").String())))
	if own = own.Of(p); own.Names(repo("alice", "d")) || own.Through != (nostr.ID{}) {
		t.Errorf("with a repository of its own: %+v", own)
	}
	if _, err := refs.ReadPullRequest(event("i", "bob", 7, nip34.KindIssue, in)); err == nil {
		t.Error("an issue is read")
	}
}

func TestProjection(t *testing.T) {
	of, m := repo("alice", "d"), members("alice")
	nothing := pullRequest("no tip", 1, "", "alice")
	elsewhere := pullRequest("elsewhere", 1, "5", "bob")
	both := pullRequest("both", 1, "6", "bob", "alice")
	p := refs.Projection{}.Next(of, refs.Change{Members: m, PullRequests: []refs.PullRequest{nothing, elsewhere, both}})
	if want := (refs.Set{{both.Name(), oid("6")}}); !p.All().Equal(want) || p.Generation != 1 || p.Ruled {
		t.Fatalf("got %+v", p)
	}
	p = p.Next(of, refs.Change{Members: m, States: []refs.State{state("s", "alice", 1, "main=1 z=2 tags/v=3")}})
	all := refs.Set{{"refs/heads/main", oid("1")}, {"refs/heads/z", oid("2")}, {both.Name(), oid("6")}, {"refs/tags/v", oid("3")}}
	if !p.All().Equal(all) || p.Generation != 2 {
		t.Fatalf("got %v, generation %d", p.All(), p.Generation)
	}
	if same := p.Next(of, refs.Change{Members: m, PullRequests: []refs.PullRequest{both}, Gone: []nostr.ID{id("elsewhere")}}); same.Generation != 2 {
		t.Errorf("generation %d without a change", same.Generation)
	}
	gone := p.Next(of, refs.Change{Members: m, PullRequests: []refs.PullRequest{both}, Gone: []nostr.ID{id("both")}})
	if !gone.All().Equal(set("main=1 z=2 tags/v=3")) || gone.Generation != 3 || !p.All().Equal(all) {
		t.Errorf("gone: %v, generation %d; before it %v", gone.All(), gone.Generation, p.All())
	}
	if anew := p.Anew(of, refs.Change{Members: m}); !anew.All().Equal(set("main=1 z=2 tags/v=3")) || anew.Generation != 3 {
		t.Errorf("anew: %v, generation %d", anew.All(), anew.Generation)
	}
}

// A state that says the same as the one before is another ruling, so whoever compares generations hears of it.
func TestAnotherStateWithTheSameRefs(t *testing.T) {
	p := ruled(members("alice"), state("1", "alice", 1, "main=1"), state("2", "alice", 2, "main=1"))
	if p.Generation != 2 || p.ID != id("2") {
		t.Errorf("got %+v", p)
	}
}

// Tips come and go in any order: what is left is those that are served.
func TestTipsLikeAMap(t *testing.T) {
	of, m := repo("alice", "d"), members("alice")
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 4))
		var p refs.Projection
		served := map[string]refs.PullRequest{}
		for range 20 {
			name := fmt.Sprint(r.IntN(6))
			before := p
			if r.IntN(3) == 0 {
				delete(served, name)
				p = p.Next(of, refs.Change{Members: m, Gone: []nostr.ID{id(name)}})
			} else {
				served[name] = pullRequest(name, 1, "tip of "+name, "bob", "alice")
				p = p.Next(of, refs.Change{Members: m, PullRequests: []refs.PullRequest{served[name]}})
			}
			var all []refs.PullRequest
			var want []refs.Ref
			for _, pr := range served {
				all = append(all, pr)
				want = append(want, refs.Ref{Name: pr.Name(), ID: pr.Tip})
			}
			if !p.All().Equal(refs.NewSet(want)) {
				t.Fatalf("seed %d: %v, want %v", seed, p.All(), want)
			}
			wantSteady(t, p, before, of, refs.Change{Members: m, PullRequests: all})
		}
	}
}

func TestAllIsInOrder(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		s := state("s", "alice", 1, "")
		s.Refs = randomSet(r, 20, 3)
		var prs []refs.PullRequest
		for i := range r.IntN(5) {
			prs = append(prs, pullRequest(fmt.Sprint(i), 1, "1", "alice"))
		}
		p := refs.Projection{}.Next(repo("alice", "d"), refs.Change{Members: members("alice"), States: []refs.State{s}, PullRequests: prs})
		all := p.All()
		if len(all) != len(s.Refs)+len(prs) || !slices.IsSortedFunc(all, func(a, b refs.Ref) int { return compare(a.Name, b.Name) }) {
			t.Fatalf("seed %d: %v", seed, all)
		}
	}
}
