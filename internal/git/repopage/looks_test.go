package repopage

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
)

// What is kept is bounded in bytes and in number, and who was not asked for goes first.
func TestLooksAreBounded(t *testing.T) {
	k := newLooks()
	now := time.Unix(1, 0)
	r := Repository{Dir: "d", Generation: 1}
	of := func(i int) nip34.Address { return nip34.Address{D: fmt.Sprint(i)} }
	for i := range looksMost + 10 {
		k.put(of(i), r, now, 0, false, looked{})
		if _, ok, _ := k.get(of(0), r, now); !ok {
			t.Fatalf("%d pushed out what is asked for", i)
		}
	}
	if _, ok, _ := k.get(of(1), r, now); ok || k.kept.Len() != looksMost {
		t.Errorf("%d are kept", k.kept.Len())
	}
	large := looked{text: strings.Repeat("x", 1<<20), branches: refList{Shown: make([]ref, 200)}}
	for i := range 100 {
		k.put(of(i%50), r, now, 0, false, large)
		if k.kept.Cost() > looksBytes {
			t.Fatalf("%d bytes", k.kept.Cost())
		}
	}
	if n := k.kept.Len(); n < 10 || n > 16 {
		t.Errorf("%d large ones are kept", n)
	}
}
