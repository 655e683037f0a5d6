package want_test

import (
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
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
	f.AddAll(f.Announce(a, "x", 10, []string{us, relay(1)}, b), f.Announce(b, "x", 10, []string{relay(2)}, a),
		f.Announce(b, "y", 10, []string{us, relay(3)}), f.Announce(c, "z", 10, []string{us, relay(3), relay(4)}),
		f.Issue(11, address(a, "x")), f.Issue(12, address(b, "x")), f.Issue(13, address(b, "y")))
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
		t.Run(step.name, func(t *testing.T) { f.Expect(t, step.want) })
	}
	f.SetLists(policy.Lists{})
	if changed := f.Step(); len(changed) != 0 {
		t.Errorf("the same lists change %v", changed)
	}
	f.SetLists(onlyAX)
	f.AddAll(f.Announce(c, "new", 20, []string{us, relay(4)}), f.Announce(a, "x", 20, []string{us, relay(4)}, b))
	f.Expect(t, map[int]string{1: "none", 2: "x/1,2/2", 4: "x/1,2/2"})
}

// Whom a barred maintainer brought in is no part of the repository either.
func TestDesiredWithoutABarredMaintainersMaintainers(t *testing.T) {
	a, b, c := key(0), key(1), key(2)
	f := newFold(t)
	f.AddAll(f.Announce(a, "x", 10, []string{us, relay(1)}, b), f.Announce(b, "x", 10, []string{relay(2)}, a, c), f.Announce(c, "x", 10, []string{relay(3)}, b))
	f.Expect(t, map[int]string{1: "x/1,2,3/0", 2: "x/1,2,3/0", 3: "x/1,2,3/0"})
	f.SetLists(lists(t, func(l *policy.Lists) error { return l.DenyPubKeys.AddAuthor(b.String()) }))
	f.Expect(t, map[int]string{1: "x/1/0", 2: "none", 3: "none"})
}
