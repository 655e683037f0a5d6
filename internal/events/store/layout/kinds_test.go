package layout_test

import (
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// rare are kinds that nip34 knows and that are no usual ones of format 7, though they may be many where people send them.
var rare = []nostr.Kind{nostr.KindVanish, nostr.KindZap, nip34.KindWorkflowResult}

// TestUsualKinds: a kind that nip34 knows by its traits is a usual one, or stands among the rare ones above. Rows on disk follow the list, so a
// kind moves from there to layout.UsualKinds with a new format alone.
func TestUsualKinds(t *testing.T) {
	known := nip34.Kinds(^nip34.Trait(0))
	want := slices.DeleteFunc(known, func(k nostr.Kind) bool { return slices.Contains(rare, k) })
	if got := layout.UsualKinds[:]; !slices.Equal(got, want) {
		t.Errorf("usual are %v, and nip34 knows %v", got, want)
	}
	for k := range layout.MaxKind {
		if layout.IsUsual(k) != slices.Contains(want, k) {
			t.Errorf("IsUsual(%d) = %v", k, layout.IsUsual(k))
		}
	}
}
