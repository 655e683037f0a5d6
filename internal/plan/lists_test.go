package plan_test

import (
	"testing"
	"time"

	"graspd/internal/plan"
	"graspd/internal/policy"
)

// lists are lists of which add fills one.
func lists(t testing.TB, add func(l *policy.Lists) error) (l policy.Lists) {
	t.Helper()
	if err := add(&l); err != nil {
		t.Fatal(err)
	}
	return l
}

// What the lists take away is not asked for any more, and comes back as it was when they give it back, though its
// announcement was here all the time.
func TestDesiredFollowsTheLists(t *testing.T) {
	a, b, c := key(0), key(1), key(2)
	denyB := lists(t, func(l *policy.Lists) error { return l.DenyPubKeys.AddAuthor(b.String()) })
	denyBX := lists(t, func(l *policy.Lists) error { return l.DenyRepositories.AddRepository(address(b, "x")) })
	onlyAX := lists(t, func(l *policy.Lists) error { return l.AllowRepositories.AddRepository(address(a, "x")) })
	onlyC := lists(t, func(l *policy.Lists) error { return l.AllowRepositories.AddRepository(c.String()) })
	onlyAuthorA := lists(t, func(l *policy.Lists) error { return l.AllowPubKeys.AddAuthor(a.String()) })
	f := newFold(t)
	f.add(f.announce(a, "x", 10, []string{us, relay(1)}, b), f.announce(b, "x", 10, []string{relay(2)}, a),
		f.announce(b, "y", 10, []string{us, relay(3)}), f.announce(c, "z", 10, []string{us, relay(3), relay(4)}),
		f.issue(11, address(a, "x")), f.issue(12, address(b, "x")), f.issue(13, address(b, "y")))
	all := map[int]string{1: "x/1,2/2", 2: "x/1,2/2", 3: "y/2/1 z/3/0", 4: "z/3/0"}
	for _, step := range []struct {
		name string
		l    policy.Lists
		want map[int]string
	}{
		{"no lists", policy.Lists{}, all},
		{"an author denied", denyB, map[int]string{1: "x/1/1", 2: "none", 3: "z/3/0", 4: "z/3/0"}},
		{"no lists again", policy.Lists{}, all},
		{"a maintainer's part denied", denyBX, map[int]string{1: "x/1/1", 2: "none", 3: "y/2/1 z/3/0", 4: "z/3/0"}},
		{"one repository allowed, its maintainer with it", onlyAX, map[int]string{1: "x/1,2/2", 2: "x/1,2/2", 3: "none", 4: "none"}},
		{"one author's repositories allowed", onlyC, map[int]string{1: "none", 2: "none", 3: "z/3/0", 4: "z/3/0"}},
		{"one author allowed", onlyAuthorA, map[int]string{1: "x/1/1", 2: "none", 3: "none", 4: "none"}},
		{"no lists in the end", policy.Lists{}, all},
	} {
		f.SetLists(step.l)
		t.Run(step.name, func(t *testing.T) { f.expect(t, step.want) })
	}
	f.SetLists(policy.Lists{})
	if changed := f.step(); len(changed) != 0 {
		t.Errorf("the same lists change %v", changed)
	}
	f.SetLists(onlyAX)
	f.add(f.announce(c, "new", 20, []string{us, relay(4)}), f.announce(a, "x", 20, []string{us, relay(4)}, b))
	f.expect(t, map[int]string{1: "none", 2: "x/1,2/2", 4: "x/1,2/2"})
}

// When what was refused may be taken, everything is asked again at once, without since, over the live subscriptions that
// stand, and what that brings is no gap.
func TestReconsider(t *testing.T) {
	g := newGapWorld(t, 2)
	refused := g.has(30*time.Minute, "a", address(key(0), "x"))
	g.brought[refused.ID] = true // and thrown away
	g.pass(time.Hour)
	if s := g.peer.Status(); s.Phase != "live" || s.Confirmed != s.Want {
		t.Fatalf("%+v", s)
	}
	before, counted := len(g.sent), g.peer.Status().Counters
	delete(g.brought, refused.ID)
	g.hold = func(e plan.Effect) bool { r, ok := e.(plan.Request); return ok && r.Class == plan.Catchup }
	g.do(plan.Reconsider{})
	if s := g.peer.Status(); s.Confirmed.Repositories+s.Confirmed.Roots != 0 {
		t.Errorf("confirmed are still %+v", s.Confirmed)
	}
	g.hold = nil
	g.pass(10 * time.Minute)
	if s := g.peer.Status(); !g.brought[refused.ID] || s.Phase != "live" || s.Confirmed != s.Want {
		t.Errorf("brought %v, %+v", g.brought[refused.ID], s)
	}
	for _, e := range g.sent[before:] {
		if r, ok := e.(plan.Request); ok && r.Class == plan.Live {
			t.Errorf("opened again: %v", r)
		}
	}
	if c := g.peer.Status().Counters; c.Gaps != counted.Gaps || c.Catchup == counted.Catchup {
		t.Errorf("counted %+v, before %+v", c, counted)
	}
	if layer4 := len(g.layer4); layer4 == 0 {
		t.Error("what only comments lead to is not asked again")
	}
}

// A relay that is away when the rules change is asked for everything when it is back, however soon.
func TestReconsiderWhileAway(t *testing.T) {
	for _, change := range []bool{false, true} {
		_, w := small(t, 2)
		d := newDriver(t, plan.Config{NoNegentropy: true})
		d.connect(w, plan.Limits{})
		d.pass(time.Hour)
		d.do(plan.Alive{})
		d.do(plan.Disconnected{Reason: "gone"})
		if change {
			d.do(plan.Reconsider{})
		}
		d.pass(time.Minute)
		before := len(d.sent)
		d.do(plan.Connected{})
		d.pass(time.Minute)
		quick := true
		for _, e := range d.sent[before:] {
			if r, ok := e.(plan.Request); ok && r.Class == plan.Catchup && !isKindsProbe(r) {
				quick = quick && r.Filters[0].Since != nil
			}
		}
		if quick == change {
			t.Errorf("rules changed %v: only what is new is asked: %v", change, quick)
		}
	}
	d := newDriver(t, plan.Config{})
	d.do(plan.Reconsider{}) // nothing is wanted yet
	if len(d.sent) != 0 {
		t.Errorf("%v", d.sent)
	}
}

// Whom a barred maintainer brought in is no part of the repository either.
func TestDesiredWithoutABarredMaintainersMaintainers(t *testing.T) {
	a, b, c := key(0), key(1), key(2)
	f := newFold(t)
	f.add(f.announce(a, "x", 10, []string{us, relay(1)}, b), f.announce(b, "x", 10, []string{relay(2)}, a, c), f.announce(c, "x", 10, []string{relay(3)}, b))
	f.expect(t, map[int]string{1: "x/1,2,3/0", 2: "x/1,2,3/0", 3: "x/1,2,3/0"})
	f.SetLists(lists(t, func(l *policy.Lists) error { return l.DenyPubKeys.AddAuthor(b.String()) }))
	f.expect(t, map[int]string{1: "x/1/0", 2: "none", 3: "none"})
}
