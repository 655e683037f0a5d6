package logs

import (
	"strconv"
	"testing"
	"time"
)

func TestStrangersDoNotFillTheMemory(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	b := newBounds(func() time.Time { return now })
	for range burst + 5 {
		b.pass("cannot be read", "loud")
	}
	for i := range 3 * mostKinds {
		b.pass("connection failed", strconv.Itoa(i))
	}
	if len(b.alike) > mostKinds+1 {
		t.Fatalf("%d buckets", len(b.alike))
	}
	now = now.Add(burst * refill)
	b.pass("connection failed", "another")
	if len(b.alike) > 2*burst {
		t.Errorf("%d buckets of lines that may be written again", len(b.alike))
	}
	if ok, left := b.pass("cannot be read", "loud"); !ok || left != 5 {
		t.Errorf("%d of five lines that were left out are told", left)
	}
}
