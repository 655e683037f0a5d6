package refs_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/refs"
)

// pulls are pull requests by somebody, a second between them.
func pulls(author string, from, n int) (out []refs.PullRequest) {
	for i := range n {
		p := pullRequest(fmt.Sprint(author, from+i), int64(from+i), "1", "alice")
		p.Author = key(author)
		out = append(out, p)
	}
	return out
}

// add is a repository after these pull requests, in steps.
func add(p refs.Projection, steps ...[]refs.PullRequest) refs.Projection {
	for _, s := range steps {
		p = p.Next(repo("alice", "d"), refs.Change{Members: members("alice"), PullRequests: s})
	}
	return p
}

func countBy(p refs.Projection, author string) (n int) {
	for _, x := range p.PullRequests {
		if x.Author == key(author) {
			n++
		}
	}
	return n
}

func TestPullRequestsOfOneAuthorAreBounded(t *testing.T) {
	own := pulls("bob", 0, refs.MaxAuthorPulls+5)
	p := add(refs.Projection{}, pulls("carol", 0, 3), own)
	if n := countBy(p, "bob"); n != refs.MaxAuthorPulls || countBy(p, "carol") != 3 {
		t.Fatalf("%d by bob, %d by carol", n, countBy(p, "carol"))
	}
	for i, pr := range own {
		if got := !p.PullRequests.Get(pr.Name()).IsZero(); got != (i >= 5) {
			t.Errorf("number %d is there: %v", i, got)
		}
	}
	if late := add(p, own[:1]); late.Generation != p.Generation {
		t.Error("an old one that comes again changes something")
	}
	if q := add(refs.Projection{}, pulls("bob", 0, refs.MaxAuthorPulls)); countBy(q, "bob") != refs.MaxAuthorPulls {
		t.Error("one goes though there is room")
	}
}

// Who has most loses the oldest, whoever came last; all at once leaves what one at a time does.
func TestPullRequestsOfARepositoryAreBounded(t *testing.T) {
	var steps [][]refs.PullRequest
	for i := range 12 {
		steps = append(steps, pulls(fmt.Sprint("many", i), 10_000, 1000))
	}
	few := pulls("few", 0, 7)
	p := add(refs.Projection{}, append([][]refs.PullRequest{few}, steps...)...)
	if n := len(p.PullRequests); n > refs.MaxPulls || n < refs.MaxPulls-12 || countBy(p, "few") != 7 {
		t.Fatalf("%d in all, %d of who has few", n, countBy(p, "few"))
	}
	if once := add(refs.Projection{}, append(slices.Concat(steps...), few...)); !once.PullRequests.Equal(p.PullRequests) {
		t.Error("another order leaves others")
	}
	for i, pr := range few {
		if !p.All().Equal(refs.NewSet(p.All())) || p.All().Get(pr.Name()) != oid("1") {
			t.Fatalf("number %d of who has few", i)
		}
	}
	var crowd []refs.PullRequest
	for i := range refs.MaxPulls + 20 {
		crowd = append(crowd, pulls(fmt.Sprint("one", i), i, 1)...)
	}
	if p := add(refs.Projection{}, crowd); len(p.PullRequests) != refs.MaxPulls || !p.PullRequests.Get(crowd[19].Name()).IsZero() || p.PullRequests.Get(crowd[20].Name()).IsZero() {
		t.Errorf("of a crowd: %d", len(p.PullRequests))
	}
}

func TestTheNewestPullRequests(t *testing.T) {
	p := add(refs.Projection{}, pulls("bob", 0, 50), pulls("carol", 45, 10))
	got := p.PullRequests.Newest(12)
	if len(got) != 12 || !slices.IsSortedFunc(got, func(a, b refs.Pull) int { return compare(a.Name(), b.Name()) }) {
		t.Fatal(got)
	}
	for _, x := range got {
		if x.CreatedAt < 46 {
			t.Errorf("one of %d", x.CreatedAt)
		}
	}
	if all := p.PullRequests.Newest(60); !all.Equal(p.PullRequests) {
		t.Error("fewer than there are")
	}
}

// A change to ten thousand costs some milliseconds.
func TestManyPullRequestsAreQuick(t *testing.T) {
	var steps [][]refs.PullRequest
	for i := range 11 {
		steps = append(steps, pulls(fmt.Sprint("many", i), 0, 1000))
	}
	p := add(refs.Projection{}, steps...)
	next := pulls("few", 0, 10)
	began := time.Now()
	for _, pr := range next {
		p = add(p, []refs.PullRequest{pr})
	}
	if took := time.Since(began); took > 5*time.Second { // some 10 ms each on a quiet machine
		t.Errorf("ten took %s", took)
	}
}
