package want_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// TestNamesAreReleased: what was removed leaves no names behind, whichever relay had them in its Want, and what lives keeps its number.
func TestNamesAreReleased(t *testing.T) {
	f := newFold(t, want.URL(relay(9)))
	f.SetLeastDead(100)
	f.AddAll(f.Announce(key(0), "x", 1, []string{us, relay(1)}), f.Announce(key(1), "y", 1, []string{us, relay(2)}),
		f.Issue(1, address(key(1), "y")))
	f.Step()
	kept, contents := wanttest.Items(f.Wants[want.URL(relay(2))]), wanttest.Contents(f.Wants[want.URL(relay(2))])
	grow := func(n int) {
		var all []*nostr.Event
		for i := range n {
			at := []string{address(key(0), "x")}
			for k := range 63 {
				at = append(at, address(key(1000+k), fmt.Sprintf("a foreign repository with a long name %d %d", i, k)))
			}
			all = append(all, f.Issue(int64(i), at...))
		}
		f.AddAll(all...).Step()
		for _, e := range all {
			f.Remove(e.ID)
		}
		f.Step()
	}
	grow(150)
	before, entries := allocated(), f.Names()
	for range 3 { // 150 issues leave 2 MB
		grow(150)
	}
	if after := allocated(); after > before+256<<10 {
		t.Errorf("%d kB are left of what was removed", (after-before)>>10)
	}
	if entries > 10 || f.Names() > 10 {
		t.Errorf("%d and %d entries for four living things", entries, f.Names())
	}
	if got := wanttest.Items(f.Wants[want.URL(relay(2))]); fmt.Sprint(got) != fmt.Sprint(kept) {
		t.Errorf("items %v became %v", kept, got)
	}
	if got := wanttest.Contents(f.Wants[want.URL(relay(2))]); fmt.Sprint(got) != fmt.Sprint(contents) {
		t.Errorf("%v became %v", contents, got)
	}
	for u, w := range f.Wants {
		if w.Names() > 10 {
			t.Errorf("the Want of %s holds %d names", u, w.Names())
		}
	}
	if again := f.Step(); len(again) > 0 {
		t.Errorf("nothing changed, but Wants for %v", again)
	}
	runtime.KeepAlive(f)
}

// TestFormerRevisionsAreReleased: neither a repository that is edited all the time nor ones that come and go leave revisions behind.
func TestFormerRevisionsAreReleased(t *testing.T) {
	f := newFold(t)
	f.SetLeastDead(20)
	for i := range 100 {
		f.AddAll(f.Announce(key(0), "x", int64(i), []string{us, relay(1)}, key(100+i)), f.Announce(key(100+i), "x", 1, nil, key(0)))
		gone := f.Announce(key(1), fmt.Sprint("y", i), 1, []string{us, relay(1)})
		f.AddAll(gone).Step()
		f.Remove(gone.ID)
		f.Step()
		if n := f.Names(); n > 30 {
			t.Fatalf("%d names after %d revisions", n, i+1)
		}
	}
	if err := f.Check(); err != nil {
		t.Error(err)
	}
}
