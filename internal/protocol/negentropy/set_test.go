package negentropy_test

import (
	"crypto/sha256"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/negentropy"
)

// naiveFingerprint adds up the ids of the items as the protocol words it.
func naiveFingerprint(items []negentropy.Item) [16]byte {
	total := new(big.Int)
	for _, it := range items {
		id := it.ID
		slices.Reverse(id[:])
		total.Add(total, new(big.Int).SetBytes(id[:]))
	}
	total.Mod(total, new(big.Int).Lsh(big.NewInt(1), 256))
	var buf [32]byte
	total.FillBytes(buf[:])
	slices.Reverse(buf[:])
	hash := sha256.Sum256(negentropy.AppendVarint(buf[:], uint64(len(items))))
	return [16]byte(hash[:16])
}

func itemsOf(s *negentropy.Set) []negentropy.Item {
	items := make([]negentropy.Item, s.Len())
	for i := range items {
		items[i] = s.At(i)
	}
	return items
}

func TestSetSealsAnyInput(t *testing.T) {
	a, b, c := item(1, rep(9)), item(2, rep(1)), item(2, rep(2))
	reserved := item(math.MaxUint64, rep(0))
	last := item(math.MaxUint64-1, rep(0xff))
	// Compared as little-endian numbers these two would change places.
	low := item(3, [32]byte{0: 1, 31: 2})
	high := item(3, [32]byte{0: 2, 31: 1})
	for _, c := range []struct {
		name     string
		in, want []negentropy.Item
	}{
		{"nothing", nil, nil},
		{"sorted", []negentropy.Item{a, b, c}, []negentropy.Item{a, b, c}},
		{"newest first", []negentropy.Item{c, b, a}, []negentropy.Item{a, b, c}},
		{"ids of one time", []negentropy.Item{high, low}, []negentropy.Item{low, high}},
		{"sorted duplicates", []negentropy.Item{a, a, b, b, b}, []negentropy.Item{a, b}},
		{"scattered duplicates", []negentropy.Item{b, a, b, c, a}, []negentropy.Item{a, b, c}},
		{"one id at two times", []negentropy.Item{item(2, rep(9)), a}, []negentropy.Item{a, item(2, rep(9))}},
		{"reserved time", []negentropy.Item{reserved, a, last, reserved}, []negentropy.Item{a, last}},
		{"reserved time only", []negentropy.Item{reserved}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := itemsOf(negentropy.NewSet(c.in))
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// All ranges of sets around the distance of the prefix sums, with ids whose
// sums carry through all words.
func TestFingerprintMatchesNaive(t *testing.T) {
	r := seeded(3)
	for _, n := range []int{0, 1, 15, 16, 17, 31, 32, 33, 48, 70} {
		for _, fill := range []string{"random", "ones"} {
			items, _ := randomSets(r, n, clocks["crowded"], overlaps["equal"])
			for i := range items {
				if fill == "ones" {
					items[i] = item(uint64(i), rep(0xff))
				}
			}
			s := negentropy.NewSet(items)
			all := itemsOf(s)
			for from := 0; from <= n; from++ {
				for to := from; to <= n; to++ {
					if s.Fingerprint(from, to) != naiveFingerprint(all[from:to]) {
						t.Fatalf("%s: fingerprint of %d..%d of %d items", fill, from, to, n)
					}
				}
			}
		}
	}
}

func TestSetIsSmall(t *testing.T) {
	items := counted(100_000)
	var s *negentropy.Set
	got := allocated(func() { s = negentropy.NewSet(items) })
	if limit := uint64(s.Len() * 40 / 10); got > limit {
		t.Errorf("sealing %d sorted items allocates %d bytes, want at most %d", s.Len(), got, limit)
	}
}
