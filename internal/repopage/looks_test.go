package repopage

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/nip34"
)

// What is kept is bounded in bytes and in number, and who was not asked for goes first.
func TestLooksAreBounded(t *testing.T) {
	var k looks
	now := time.Unix(1, 0)
	r := Repository{Dir: "d", Generation: 1}
	of := func(i int) nip34.Address { return nip34.Address{D: fmt.Sprint(i)} }
	for i := range looksMost + 10 {
		k.put(of(i), r, now, false, looked{})
		if _, ok := k.get(of(0), r, now); !ok {
			t.Fatalf("%d pushed out what is asked for", i)
		}
	}
	if _, ok := k.get(of(1), r, now); ok || k.order.Len() != looksMost || len(k.by) != looksMost {
		t.Errorf("%d are kept", k.order.Len())
	}
	large := looked{text: strings.Repeat("x", 1<<20), branches: refList{Shown: make([]ref, 200)}}
	for i := range 100 {
		k.put(of(i%50), r, now, false, large)
		if k.bytes > looksBytes {
			t.Fatalf("%d bytes", k.bytes)
		}
	}
	if n := k.order.Len(); n < 10 || n > 16 || len(k.by) != n {
		t.Errorf("%d large ones are kept", n)
	}
	for k.order.Len() > 0 {
		k.drop(k.order.Back())
	}
	if k.bytes != 0 || len(k.by) != 0 {
		t.Errorf("%d bytes of nothing", k.bytes)
	}
}
