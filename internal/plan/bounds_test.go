package plan_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"graspd/internal/nip34"
	"graspd/internal/nostr"
	"graspd/internal/plan"
)

// TestNamesAreReleased: what was removed leaves no names behind, whichever relay had them in its Want, and what lives keeps its number.
func TestNamesAreReleased(t *testing.T) {
	f := newFold(t, plan.URL(relay(9)))
	f.SetLeastDead(100)
	f.add(f.announce(key(0), "x", 1, []string{us, relay(1)}), f.announce(key(1), "y", 1, []string{us, relay(2)}),
		f.issue(1, address(key(1), "y")))
	f.step()
	kept, contents := f.wants[plan.URL(relay(2))].Items(), f.wants[plan.URL(relay(2))].Contents()
	grow := func(n int) {
		var all []*nostr.Event
		for i := range n {
			at := []string{address(key(0), "x")}
			for k := range 63 {
				at = append(at, address(key(1000+k), fmt.Sprintf("a foreign repository with a long name %d %d", i, k)))
			}
			all = append(all, f.issue(int64(i), at...))
		}
		f.add(all...).step()
		for _, e := range all {
			f.Remove(e.ID)
		}
		f.step()
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
	if got := f.wants[plan.URL(relay(2))].Items(); fmt.Sprint(got) != fmt.Sprint(kept) {
		t.Errorf("items %v became %v", kept, got)
	}
	if got := f.wants[plan.URL(relay(2))].Contents(); fmt.Sprint(got) != fmt.Sprint(contents) {
		t.Errorf("%v became %v", contents, got)
	}
	for u, w := range f.wants {
		if w.Names() > 10 {
			t.Errorf("the Want of %s holds %d names", u, w.Names())
		}
	}
	if again := f.step(); len(again) > 0 {
		t.Errorf("nothing changed, but Wants for %v", again)
	}
	runtime.KeepAlive(f)
}

// TestFormerRevisionsAreReleased: neither a repository that is edited all the time nor ones that come and go leave revisions behind.
func TestFormerRevisionsAreReleased(t *testing.T) {
	f := newFold(t)
	f.SetLeastDead(20)
	for i := range 100 {
		f.add(f.announce(key(0), "x", int64(i), []string{us, relay(1)}, key(100+i)), f.announce(key(100+i), "x", 1, nil, key(0)))
		gone := f.announce(key(1), fmt.Sprint("y", i), 1, []string{us, relay(1)})
		f.add(gone).step()
		f.Remove(gone.ID)
		f.step()
		if n := f.Names(); n > 30 {
			t.Fatalf("%d names after %d revisions", n, i+1)
		}
	}
}

// TestWhatComesAndGoesLeavesNothing: repositories that are edited and replaced all the time, while two requests of the relay
// drip, fill no queue, and neither do their shares.
func TestWhatComesAndGoesLeavesNothing(t *testing.T) {
	f := newFold(t)
	f.add(f.announce(key(0), "x", 1, []string{us, string(here)})).step()
	d := newDriver(t, plan.Config{NoNegentropy: true})
	var dripping []string
	d.hold = func(e plan.Effect) bool {
		r, ok := e.(plan.Request)
		if ok && r.Class != plan.Live {
			dripping = append(dripping, r.Sub)
			return true
		}
		return false
	}
	d.connect(f.wants[here], plan.Limits{})
	var last *nostr.Event
	for i := range 400 {
		e := f.announce(key(1), fmt.Sprint("y", i), 1, []string{us, string(here)})
		if f.Add(e); last != nil {
			f.Remove(last.ID)
		}
		last = e
		f.step()
		d.do(plan.Wanted{Want: f.wants[here]})
		for _, sub := range dripping[max(0, len(dripping)-2):] {
			d.do(plan.Received{Sub: sub, ID: e.ID, At: int64(i)})
			d.do(plan.Decided{Sub: sub, ID: e.ID})
		}
		d.pass(20 * time.Second)
		if err := d.peer.Check(); err != nil {
			t.Fatalf("after %d: %v", i, err)
		}
	}
	if err := f.Check(); err != nil {
		t.Error(err)
	}
}

// TestSharesOfFormerRepositories are forgotten when they are many.
func TestSharesOfFormerRepositories(t *testing.T) {
	f := newFold(t)
	d := newDriver(t, plan.Config{})
	f.add(f.announce(key(0), "x", 1, []string{us, string(here)})).step()
	d.connect(f.wants[here], plan.Limits{})
	for i := range 200 {
		e := f.announce(key(1), "y", int64(2+i), []string{us, string(here)})
		own := f.event(nip34.KindIssue, key(1), 1, nostr.Tag{"a", address(key(1), "y")})
		d.own = func(flt nostr.Filter) (out []*nostr.Event) {
			if flt.Matches(own) {
				out = append(out, own)
			}
			return out
		}
		f.Add(e)
		f.step()
		d.do(plan.Wanted{Want: f.wants[here]})
		d.pass(2 * time.Minute)
		if n := d.peer.Shares(); i == 0 && n == 0 {
			t.Fatal("no shares are counted")
		}
		f.Remove(e.ID)
		f.step()
		d.do(plan.Wanted{Want: f.wants[here]})
		if err := d.peer.Check(); err != nil {
			t.Fatalf("after %d: %v", i, err)
		}
	}
	if n := d.peer.Covered(key(0)); n != 1 {
		t.Errorf("the repository that is wanted still has %d shares", n)
	}
}
