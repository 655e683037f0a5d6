package nip34_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// everyTrait is larger than all traits together.
const everyTrait = nip34.Searched<<1 - 1

func TestKindsByTrait(t *testing.T) {
	for _, c := range []struct {
		of   nip34.Trait
		want []nostr.Kind
	}{
		{0, nil},
		{nip34.Thread, []nostr.Kind{1617, 1618, 1621}},
		{nip34.Root, []nostr.Kind{1617, 1618, 1619, 1621}},
		{nip34.Standing, []nostr.Kind{1630, 1631, 1632, 1633}},
		{nip34.Hosted, []nostr.Kind{30617, 30618}},
		{nip34.Personal, []nostr.Kind{0, 5, 62, 10002, 10317}},
		{nip34.ByAuthor, []nostr.Kind{1111, 1617, 1618, 1619, 1621, 1622, 1624, 1630, 1631, 1632, 1633, 1985, 30617, 30618}},
		{nip34.Naming, []nostr.Kind{1, 5, 7, 1111, 1617, 1618, 1619, 1621, 1622, 1624, 1630, 1631, 1632, 1633, 1985, 9735, 9842}},
		{nip34.Foremost, []nostr.Kind{5, 1111, 1617, 1618, 1619, 1621, 1630, 1631, 1632, 1633}},
		{nip34.Searched, []nostr.Kind{1617, 1618, 1621, 30617}},
		{nip34.Hosted | nip34.Standing, []nostr.Kind{1630, 1631, 1632, 1633, 30617, 30618}},
	} {
		if got := nip34.Kinds(c.of); !slices.Equal(got, c.want) {
			t.Errorf("%b: %v", c.of, got)
		}
	}
	for k := range nostr.Kind(40000) {
		for of := nip34.Trait(1); of < everyTrait; of <<= 1 {
			if nip34.Is(k, of) != slices.Contains(nip34.Kinds(of), k) {
				t.Errorf("Is(%d, %b) = %v", k, of, nip34.Is(k, of))
			}
		}
		if known := slices.Contains(nip34.Kinds(everyTrait), k) || k == nostr.KindReport; known != (nip34.NameOf(k) != "") {
			t.Errorf("kind %d is called %q", k, nip34.NameOf(k))
		}
	}
	if one := nip34.Kinds(nip34.Hosted); &one[0] == &nip34.Kinds(nip34.Hosted)[0] {
		t.Error("two callers have one slice")
	}
}

// TestAKindStandsInItsPlaces: whoever adds a constant of NIP-34 is told that the kind needs a row in the table, and one that is told apart by
// a trait. layout.TestUsualKinds tells of the third place.
func TestAKindStandsInItsPlaces(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "kind.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(f, func(x ast.Node) bool {
		v, ok := x.(*ast.ValueSpec)
		if !ok {
			return true
		}
		n++
		k, err := strconv.Atoi(v.Values[0].(*ast.BasicLit).Value)
		if err != nil || !nip34.Is(nostr.Kind(k), everyTrait) || nip34.NameOf(nostr.Kind(k)) == "" {
			t.Errorf("%s (%d, %v) has no row with a name and a trait in traits.go", v.Names[0], k, err)
		}
		return true
	})
	if n < 13 {
		t.Errorf("only %d constants", n)
	}
	if all := nip34.Kinds(everyTrait); !slices.IsSorted(all) || len(slices.Compact(all)) != len(nip34.Kinds(everyTrait)) {
		t.Errorf("not in ascending order, or twice: %v", all)
	}
}
