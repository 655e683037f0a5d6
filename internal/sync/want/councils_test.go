package want_test

import (
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// Who maintains what is told as it follows from all that is served and not barred, whatever came and went before, and by the
// lists of the moment.
func TestCouncilsAreThoseOfWhatIsServed(t *testing.T) {
	several, barred := 0, 0
	for seed := range uint64(100) {
		s := newShop(seed)
		d := want.NewDesired(policy.Rules{Service: service(t)}, nil, want.Bounds{})
		for range 20 {
			for range 1 + s.Rand.IntN(8) {
				apply(d, s.Happen())
			}
			lists := policy.Lists{}
			if s.Rand.IntN(2) == 0 {
				lists = s.Lists()
			}
			d.SetLists(lists)
			for n := range 3 {
				name := wanttest.Identifier(n)
				var same []grasp.Listing
				for _, e := range s.Served {
					a, err := nip34.ParseAnnouncement(e)
					if e.Kind != nip34.KindRepository || err != nil || a.Address.D != name {
						continue
					}
					if lists.Bars(a.Address) {
						barred++
						continue
					}
					same = append(same, grasp.ListingOf(a))
				}
				group, councils := grasp.FamilyOf(same), d.Councils(name)
				for i := range 7 {
					wanted, got := group.Maintainers(key(i)), councils.Of(key(i))
					slices.SortFunc(wanted.Members, nostr.PubKey.Compare)
					if !slices.Equal(got.Members, wanted.Members) || !slices.Equal(got.Invited, wanted.Invited) {
						t.Fatalf("seed %d: the council of %d for %q is %v, not %v", seed, i, name, got, wanted)
					}
					if len(got.Members) > 1 {
						several++
					}
				}
			}
		}
	}
	if several < 1000 || barred < 500 {
		t.Errorf("dull histories: %d councils of several, %d announcements barred", several, barred)
	}
}
