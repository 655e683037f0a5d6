package policy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// among says whether an announcement is accepted, by the rule itself: with it in the place of its author's, he is the author of one
// that lists this service and is admitted, or in the maintainer set of one.
func among(t *testing.T, r policy.Rules, served []*nostr.Event, e *nostr.Event) bool {
	t.Helper()
	in := func(counts, root func(*nip34.Announcement) bool) bool {
		var same []grasp.Listing
		var roots []nostr.PubKey
		for _, o := range append(slices.Clone(served), e) {
			a, err := nip34.ParseAnnouncement(o)
			if err != nil {
				t.Fatal(err)
			}
			if o.PubKey == e.PubKey && o.ID != e.ID || !counts(a) {
				continue
			}
			same = append(same, grasp.ListingOf(a))
			if root(a) {
				roots = append(roots, a.Address.PubKey)
			}
		}
		return grasp.FamilyOf(same).Welcome(roots).Has(e.PubKey)
	}
	all := func(*nip34.Announcement) bool { return true }
	left := func(a *nip34.Announcement) bool { return !r.Lists.Bars(a.Address) }
	own, err := nip34.ParseAnnouncement(e)
	return err == nil && left(own) && in(all, r.Service.Lists) && in(left, func(a *nip34.Announcement) bool {
		return r.Service.Lists(a) && r.Lists.Admits(a.Address)
	})
}

// What is worked out once for all announcements with one d gives for each the verdict that working it out for that one does.
func TestInvitedAsAmongAll(t *testing.T) {
	accepted, own := 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		rules := rules(t)
		if seed%3 == 0 {
			rules.Lists = randomLists(r)
		}
		v := &memory{}
		events := announcements(r, 3+r.IntN(5), 1)
		v.add(events[:len(events)/2+1]...)
		same, err := v.Announcements("d", rules)
		if err != nil {
			t.Fatal(err)
		}
		kept := &keeping{memory: v, same: same}
		for i, e := range append(events, announcements(r, 4, 1)...) {
			want := among(t, rules, v.events, e)
			got, err := rules.Decide(e, policy.Stranger, kept, now)
			if err != nil || (got.Outcome == policy.Accept) != want {
				t.Fatalf("seed %d, event %d: %v (%q), %v; want accepted: %v", seed, i, got.Outcome, got.Reason, err, want)
			}
			if want {
				accepted++
			}
			if at := slices.IndexFunc(v.events, func(o *nostr.Event) bool { return o.PubKey == e.PubKey }); at >= 0 {
				own++
			}
		}
	}
	if accepted < 3000 || own < 3000 {
		t.Fatalf("dull worlds: %d accepted, %d by authors of whom there is one", accepted, own)
	}
}

// keeping is a view that gives the same Announced again and again.
type keeping struct {
	*memory
	same *policy.Announced
}

func (k *keeping) Announcements(string, policy.Rules) (*policy.Announced, error) { return k.same, nil }

// What was worked out for one question serves the next ones: of a thousand announcements that all invite a hundred, the second
// question costs nothing.
func TestTheSecondQuestionCostsNothing(t *testing.T) {
	v := &memory{}
	for i := range policy.MaxAnnouncements {
		var others []string
		for j := range grasp.MaxMaintainers {
			others = append(others, fmt.Sprint((i+j)%policy.MaxAnnouncements))
		}
		v.events = append(v.events, inviting(announce(1, fmt.Sprint(i), "d", ours), others...))
	}
	same, err := v.Announcements("d", rules(t))
	if err != nil {
		t.Fatal(err)
	}
	kept := &keeping{memory: &memory{}, same: same}
	for i, most := range []int{400_000, 0, 0} {
		decide(t, kept, announce(1, "stranger", "d", "wss://a.example"))
		if n := same.Steps(); n > most || i == 0 && n < 100_000 {
			t.Errorf("question %d took %d steps", i, n)
		}
	}
}
