package grasp_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func key(name string) nostr.PubKey { return nostr.PubKey(sha256.Sum256([]byte(name))) }

func keys(names ...string) []nostr.PubKey {
	var list []nostr.PubKey
	for _, n := range names {
		list = append(list, key(n))
	}
	return list
}

// ann is an announcement of repository "d" that lists those maintainers.
func ann(author string, maintainers ...string) *nip34.Announcement {
	return &nip34.Announcement{
		Address:     nip34.Address{Kind: nip34.KindRepository, PubKey: key(author), D: "d"},
		ID:          nostr.ID(key(author)),
		CreatedAt:   1000,
		Maintainers: keys(maintainers...),
	}
}

func with(a *nip34.Announcement, change func(*nip34.Announcement)) *nip34.Announcement {
	change(a)
	return a
}

// role adds a valid role, active or ended.
func role(a *nip34.Announcement, letter byte, who string, active bool) *nip34.Announcement {
	a.Roles = append(a.Roles, nip34.Role{Letter: letter, PubKey: key(who), Valid: true, Active: active})
	return a
}

// maintainers asks about the repository that root announces, whatever else of its author's or with another d is in same.
func maintainers(root *nip34.Announcement, same []*nip34.Announcement) grasp.Set {
	group := []*nip34.Announcement{root}
	for _, a := range same {
		if a.Address.D == root.Address.D && a.Address.PubKey != root.Address.PubKey {
			group = append(group, a)
		}
	}
	return newFamily(group).Maintainers(root.Address.PubKey)
}

func TestMaintainers(t *testing.T) {
	type list = []*nip34.Announcement
	fork := func(a *nip34.Announcement) { a.Fork = true }
	for _, tc := range []struct {
		name    string
		root    *nip34.Announcement
		same    list
		members []string // but the root, in any order
		invited []string
	}{
		{"alone", ann("alice"), nil, nil, nil},
		{"lists himself", ann("alice", "alice"), nil, nil, nil},
		{"listed, no announcement", ann("alice", "bob"), nil, nil, []string{"bob"}},
		{"listed, does not list back", ann("alice", "bob"), list{ann("bob")}, nil, []string{"bob"}},
		{"mutual", ann("alice", "bob"), list{ann("bob", "alice")}, []string{"bob"}, nil},
		{"not listed, lists", ann("alice"), list{ann("bob", "alice")}, nil, nil},
		{"mutual among others only", ann("alice"), list{ann("bob", "carol"), ann("carol", "bob")}, nil, nil},
		{"chain", ann("alice", "bob"), list{ann("bob", "alice", "carol"), ann("carol", "bob")}, []string{"bob", "carol"}, nil},
		{"chain ends at the invited", ann("alice", "bob"), list{ann("bob", "carol"), ann("carol", "bob")}, nil, []string{"bob"}},
		{"lists another member back", ann("alice", "bob", "carol"), list{ann("bob", "alice"), ann("carol", "bob")},
			[]string{"bob", "carol"}, nil},
		{"lists back one who becomes a member later", ann("alice", "bob", "carol"),
			list{ann("bob", "carol"), ann("carol", "alice")}, []string{"bob", "carol"}, nil},
		{"lists back one who stays invited", ann("alice", "bob", "carol"), list{ann("bob", "carol"), ann("carol", "bob")},
			nil, []string{"bob", "carol"}},
		{"cycle of three", ann("alice", "bob"), list{ann("bob", "carol"), ann("carol", "alice")}, nil, []string{"bob"}},
		{"closed cycle of three", ann("alice", "bob"), list{ann("bob", "carol", "alice"), ann("carol", "alice")},
			[]string{"bob", "carol"}, nil},
		{"direction", ann("bob"), list{ann("alice", "bob")}, nil, nil},
		{"another d", ann("alice", "bob"), list{with(ann("bob", "alice"), func(a *nip34.Announcement) { a.Address.D = "e" })},
			nil, []string{"bob"}},
		{"newest of several", ann("alice", "bob"),
			list{ann("bob", "alice"), with(ann("bob"), func(a *nip34.Announcement) { a.CreatedAt = 2000 })}, nil, []string{"bob"}},
		{"lowest id of several on a tie", ann("alice", "bob"),
			list{ann("bob"), with(ann("bob", "alice"), func(a *nip34.Announcement) { a.ID = nostr.ID{} })}, []string{"bob"}, nil},
		{"root counts, not another by its author", ann("alice", "bob"),
			list{with(ann("alice"), func(a *nip34.Announcement) { a.CreatedAt = 2000 }), ann("bob", "alice")}, []string{"bob"}, nil},
		{"root stands in same too", ann("alice", "bob"), list{ann("alice", "bob"), ann("bob", "alice")}, []string{"bob"}, nil},

		{"fork does not join", ann("alice", "bob"), list{with(ann("bob", "alice"), fork)}, nil, nil},
		{"fork passes nothing on", ann("alice", "bob"),
			list{with(ann("bob", "alice", "carol"), fork), ann("carol", "alice", "bob")}, nil, nil},
		{"root is a fork", with(ann("alice", "bob"), fork), list{ann("bob", "alice")}, []string{"bob"}, nil},

		{"lead role", role(ann("alice"), 'M', "bob", true), list{ann("bob", "alice")}, []string{"bob"}, nil},
		{"co-maintainer role", role(ann("alice"), 'm', "bob", true), nil, nil, []string{"bob"}},
		{"moderator", role(ann("alice"), 'o', "bob", true), list{ann("bob", "alice")}, nil, nil},
		{"role back", ann("alice", "bob"), list{role(ann("bob"), 'm', "alice", true)}, []string{"bob"}, nil},
		{"ended role goes before maintainers", role(ann("alice", "bob", "carol"), 'm', "bob", false), nil, nil, []string{"carol"}},
		{"moderator goes before maintainers", role(ann("alice", "bob"), 'o', "bob", true), nil, nil, nil},
		{"invalid role goes before maintainers", with(ann("alice", "bob"), func(a *nip34.Announcement) {
			a.Roles = []nip34.Role{{Letter: 'm', PubKey: key("bob")}}
		}), nil, nil, nil},
		{"one of several roles is active", role(role(ann("alice"), 'm', "bob", false), 'M', "bob", true), nil, nil, []string{"bob"}},
		{"declines for himself", ann("alice", "bob"), list{role(ann("bob", "alice"), 'm', "bob", false)}, nil, nil},
		{"moderates by his own word", ann("alice", "bob"), list{role(ann("bob", "alice"), 'o', "bob", true)}, nil, nil},
		{"takes his role", role(ann("alice"), 'm', "bob", true), list{role(ann("bob", "alice"), 'm', "bob", true)},
			[]string{"bob"}, nil},
		{"what others' ended roles say of him does not decline", role(ann("alice", "bob"), 'm', "carol", true),
			list{role(ann("bob", "alice"), 'm', "carol", false)}, []string{"bob"}, []string{"carol"}},
		{"root's author stays though his role ended", role(ann("alice", "bob"), 'M', "alice", false), list{ann("bob", "alice")},
			[]string{"bob"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := maintainers(tc.root, tc.same)
			want := grasp.Set{Members: keys(tc.members...), Invited: keys(tc.invited...)}
			slices.SortFunc(want.Members, nostr.PubKey.Compare)
			slices.SortFunc(want.Invited, nostr.PubKey.Compare)
			want.Members = append([]nostr.PubKey{tc.root.Address.PubKey}, want.Members...)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
			for _, pk := range keys("alice", "bob", "carol", "dave") {
				if got.Has(pk) != slices.Contains(want.Members, pk) || got.HasInvited(pk) != slices.Contains(want.Invited, pk) {
					t.Errorf("%v: Has %v, HasInvited %v", pk, got.Has(pk), got.HasInvited(pk))
				}
			}
		})
	}
}

// random is a world of n people who announce the same d at random, some of them forks or with roles.
func random(r *rand.Rand, n int) []*nip34.Announcement {
	name := func() string { return fmt.Sprint(r.IntN(n)) }
	var list []*nip34.Announcement
	for i := range n {
		a := ann(fmt.Sprint(i))
		for range r.IntN(4) {
			a.Maintainers = append(a.Maintainers, key(name()))
		}
		for range r.IntN(4) / 2 {
			role(a, "Mmo"[r.IntN(3)], name(), r.IntN(2) == 0)
		}
		a.Fork = r.IntN(8) == 0
		if r.IntN(8) > 0 {
			list = append(list, a)
		}
	}
	return list
}

// naive is the rule as its text says it, repeated until nothing changes.
func naive(root *nip34.Announcement, same []*nip34.Announcement) (members, invited map[nostr.PubKey]bool) {
	by := map[nostr.PubKey]*nip34.Announcement{}
	for _, a := range same {
		by[a.Address.PubKey] = a
	}
	lists := func(a *nip34.Announcement, pk nostr.PubKey) bool {
		hasRole := false
		for _, r := range a.Roles {
			if r.PubKey == pk {
				if hasRole = true; r.Active && r.Letter != 'o' {
					return true
				}
			}
		}
		return !hasRole && slices.Contains(a.Maintainers, pk)
	}
	declined := func(pk nostr.PubKey) bool {
		a := by[pk]
		if a == nil {
			return false
		}
		own := slices.ContainsFunc(a.Roles, func(r nip34.Role) bool { return r.PubKey == pk })
		return a.Fork || own && !lists(a, pk)
	}
	members, invited = map[nostr.PubKey]bool{root.Address.PubKey: true}, map[nostr.PubKey]bool{}
	for changed := true; changed; {
		changed = false
		for i := range 50 {
			pk := key(fmt.Sprint(i))
			if members[pk] || declined(pk) {
				continue
			}
			for m := range members {
				if lists(by[m], pk) && !invited[pk] {
					invited[pk], changed = true, true
				}
			}
			for m := range members {
				if a := by[pk]; invited[pk] && a != nil && lists(a, m) {
					delete(invited, pk)
					members[pk], changed = true, true
				}
			}
		}
	}
	return members, invited
}

func TestMaintainersFollowTheRule(t *testing.T) {
	joined, waiting, asked := 0, 0, 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		same := random(r, 2+r.IntN(8))
		if len(same) == 0 {
			continue
		}
		var roots []nostr.PubKey
		welcome := map[nostr.PubKey]bool{}
		for i, root := range same {
			members, invited := naive(root, same)
			got := maintainers(root, same)
			if len(got.Members) != len(members) || len(got.Invited) != len(invited) {
				t.Fatalf("seed %d: %v; want members %v, invited %v", seed, got, members, invited)
			}
			for _, pk := range got.Members {
				if !members[pk] {
					t.Fatalf("seed %d: %v is no member", seed, pk)
				}
			}
			for _, pk := range got.Invited {
				if !invited[pk] {
					t.Fatalf("seed %d: %v is not invited", seed, pk)
				}
			}
			joined, waiting = joined+len(members)-1, waiting+len(invited)
			if i%2 == 0 {
				roots = append(roots, root.Address.PubKey)
				for _, pk := range slices.Concat(got.Members, got.Invited) {
					welcome[pk] = true
				}
			}
		}
		got := newFamily(same).Welcome(roots)
		for n := range 12 {
			if pk := key(fmt.Sprint(n)); got.Has(pk) != welcome[pk] {
				t.Fatalf("seed %d: welcome is %v: %v", seed, pk, got.Has(pk))
			}
		}
		asked += invites(t, seed, same, roots)
	}
	if joined < 300 || waiting < 300 || asked < 300 {
		t.Fatalf("the worlds are too dull: %d joined, %d invited, %d would be", joined, waiting, asked)
	}
}

// invites holds what Invites says of everybody who is no root against what the rule says when his announcement is another. It
// counts those who are invited.
func invites(t *testing.T, seed uint64, same []*nip34.Announcement, roots []nostr.PubKey) (asked int) {
	t.Helper()
	w := newFamily(same).Welcome(roots)
	for n := range 12 {
		pk := key(fmt.Sprint(n))
		if slices.Contains(roots, pk) {
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(same), func(a *nip34.Announcement) bool { return a.Address.PubKey == pk })
		for _, own := range []*nip34.Announcement{nil, ann(fmt.Sprint(n)), ann(fmt.Sprint(n), "0", "1", "2", "3", "4", "5")} {
			other := rest
			if own != nil {
				other = append(slices.Clone(rest), own)
			}
			want := newFamily(other).Welcome(roots).Has(pk)
			if w.Invites(pk) != want {
				t.Fatalf("seed %d: %v is invited: %v, want %v", seed, pk, w.Invites(pk), want)
			}
			if want {
				asked++
			}
		}
	}
	return asked
}

func TestMaintainersDoNotDependOnOrder(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		same := append(random(r, 6), random(r, 6)...)
		for i, a := range same {
			a.CreatedAt += int64(r.IntN(2))
			a.ID[0] = byte(i)
		}
		root := ann("0", "1", "2", "3")
		want := maintainers(root, same)
		for range 5 {
			r.Shuffle(len(same), func(i, j int) { same[i], same[j] = same[j], same[i] })
			if got := maintainers(root, same); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: %v, in another order %v", seed, want, got)
			}
		}
	}
}

func TestMaintainersOfAnUnknownAuthor(t *testing.T) {
	got := newFamily([]*nip34.Announcement{ann("alice", "bob")}).Maintainers(key("carol"))
	if want := (grasp.Set{Members: keys("carol")}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestMaintainersAreBounded(t *testing.T) {
	root := ann("root")
	for i := range 1000 {
		root.Maintainers = append(root.Maintainers, key(fmt.Sprint(i)))
	}
	got := maintainers(root, nil)
	if len(got.Invited) != grasp.MaxMaintainers || !got.HasInvited(key("99")) || got.HasInvited(key("100")) {
		t.Errorf("%d invited", len(got.Invited))
	}
	for i := range 1000 {
		role(root, 'm', fmt.Sprint(999-i), true)
	}
	got = maintainers(root, nil)
	if len(got.Invited) != grasp.MaxMaintainers || !got.HasInvited(key("900")) || got.HasInvited(key("899")) {
		t.Errorf("%d invited by role", len(got.Invited))
	}
}

// clique is n people who all list each other as far as one may.
func clique(n int) []*nip34.Announcement {
	var list []*nip34.Announcement
	for i := range n {
		a := ann(fmt.Sprint(i))
		for j := range grasp.MaxMaintainers {
			a.Maintainers = append(a.Maintainers, key(fmt.Sprint((i+j+1-grasp.MaxMaintainers/2+n)%n)))
		}
		list = append(list, a)
	}
	return list
}

// Who is a member of a set that was worked out is not worked out again: a thousand people who list each other would cost
// a thousand looks at a hundred thousand listings.
func TestWelcomeCliqueOnce(t *testing.T) {
	same := clique(300)
	var roots []nostr.PubKey
	for _, a := range same {
		roots = append(roots, a.Address.PubKey)
	}
	g := newFamily(same)
	w := g.Welcome(roots)
	if !w.Has(key("0")) || !w.Has(key("299")) || w.Has(key("300")) {
		t.Error("somebody is not welcome")
	}
	if n := w.Steps(); n > 300*(grasp.MaxMaintainers+1) {
		t.Errorf("%d steps", n)
	}
}

func BenchmarkWelcomeClique(b *testing.B) {
	same := clique(1000)
	var roots []nostr.PubKey
	for _, a := range same {
		roots = append(roots, a.Address.PubKey)
	}
	for b.Loop() {
		if !newFamily(same).Welcome(roots).Has(roots[999]) {
			b.Fatal("not welcome")
		}
	}
}

// newFamily is the family of announcements.
func newFamily(same []*nip34.Announcement) *grasp.Family {
	var listings []grasp.Listing
	for _, a := range same {
		listings = append(listings, grasp.ListingOf(a))
	}
	return grasp.FamilyOf(listings)
}
