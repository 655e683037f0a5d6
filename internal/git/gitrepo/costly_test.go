package gitrepo

import (
	"fmt"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// TestWhatWasTooMuchIsRemembered: a request like one that ran into a limit is heavy and may take little for ten minutes; requests of other shapes
// or repositories are as before.
func TestWhatWasTooMuchIsRemembered(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var c costly
	limit := func(e gitproc.Ending) error { return fmt.Errorf("git: %w", &gitproc.Error{Ending: e}) }
	plain := shape{repo: ID{1}, work: "pack"}
	wants := func(what string, s shape, in, want gitproc.Run) {
		t.Helper()
		c.bound(now, s, &in)
		if in.CPU != want.CPU || in.Heavy != want.Heavy || in.Greedy != want.Greedy {
			t.Errorf("%s: %v, heavy %v, greedy %v", what, in.CPU, in.Heavy, in.Greedy)
		}
	}
	small := gitproc.Run{Reads: 8 << 20}
	wants("at first", plain, small, gitproc.Run{})
	wants("a large repository", plain, gitproc.Run{Reads: 64 << 20}, gitproc.Run{Heavy: true})
	wants("a filter that may take bases away", shape{repo: ID{1}, work: "pack", filter: gitwire.FilterBlobLimit}, small, gitproc.Run{Heavy: true})
	c.ended(now, plain, small, false, nil)
	c.ended(now, plain, small, false, gitproc.ErrBusy)
	c.ended(now, plain, small, false, limit(gitproc.Exited))
	c.ended(now, plain, small, false, fmt.Errorf("git: %w", gitproc.ErrGaveWay))
	wants("after what was no limit", plain, small, gitproc.Run{})
	c.ended(now, plain, small, false, limit(gitproc.OutOfMemory))
	wants("more memory than was expected", plain, small, gitproc.Run{Heavy: true, Greedy: true})
	c.ended(now, plain, gitproc.Run{Reads: 8 << 20, Greedy: true}, false, limit(gitproc.OutOfMemory))
	wants("more memory than there is", plain, small, gitproc.Run{Heavy: true, Greedy: true, CPU: 4 * time.Second})
	other := plain
	other.haves = true
	c.ended(now, other, small, false, limit(gitproc.OutOfTime))
	wants("too much of the processor", other, small, gitproc.Run{Heavy: true, CPU: 4 * time.Second})
	wants("what may take less", other, gitproc.Run{Reads: 8 << 20, CPU: time.Second}, gitproc.Run{Heavy: true, CPU: time.Second})
	wants("another repository", shape{repo: ID{2}, work: "pack"}, small, gitproc.Run{})
	now = now.Add(10*time.Minute + 1)
	wants("later", plain, small, gitproc.Run{})
	for i := range 3 * mostCostly {
		c.ended(now.Add(time.Duration(i)), shape{repo: ID{byte(i), byte(i >> 8)}}, small, false, limit(gitproc.OutOfTime))
	}
	if len(c.by) != mostCostly {
		t.Errorf("%d are remembered", len(c.by))
	}
	last := 3*mostCostly - 1
	wants("the last", shape{repo: ID{byte(last), byte(last >> 8)}}, small, gitproc.Run{Heavy: true, CPU: 4 * time.Second})
}
