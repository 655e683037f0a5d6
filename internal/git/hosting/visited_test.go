package hosting_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/graspd/graspd/internal/protocol/nip34"
)

// Owners take turns with the looks at their repositories, each of which is looked at once, and nobody takes all places.
func TestOwnersTakeTurnsWithLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMortal(t)
		m.start()
		defer m.end()
		for _, x := range []struct {
			owner byte
			d     string
		}{{1, "a"}, {1, "b"}, {1, "a"}, {1, "c"}, {2, "d"}, {2, "e"}} {
			m.host.Visit(nip34.Address{Kind: nip34.KindRepository, PubKey: key(x.owner), D: x.d})
		}
		order := ""
		for of, ok := m.host.Visited(); ok; of, ok = m.host.Visited() {
			order += of.D
		}
		if order != "adbec" {
			t.Errorf("the order is %s", order)
		}
		for i := range 10_001 {
			m.host.Visit(nip34.Address{PubKey: key(1), D: fmt.Sprint(i)})
		}
		for i := range 3 {
			m.host.Visit(nip34.Address{PubKey: key(2), D: fmt.Sprint("other ", i)})
		}
		n, others := 0, 0
		for of, ok := m.host.Visited(); ok; of, ok = m.host.Visited() {
			if n++; strings.HasPrefix(of.D, "other") {
				others++
			}
		}
		if n != 5003 || others != 3 {
			t.Errorf("%d wait, %d of them another owner's", n, others)
		}
	})
}
