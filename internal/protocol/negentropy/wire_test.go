package negentropy_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/negentropy"
)

// wireRange is a range as read by a second, simple-minded reader.
type wireRange struct {
	lower, upper negentropy.Item // the prefix filled up with zeros
	prefix       int
	mode         uint64
	print        [16]byte
	ids          [][32]byte
}

func (g wireRange) String() string {
	return fmt.Sprintf("[%d/%x, %d/%x) mode %d, %d ids", g.lower.Time, g.lower.ID[:4], g.upper.Time, g.upper.ID[:4], g.mode, len(g.ids))
}

func compareItems(a, b negentropy.Item) int {
	return cmp.Or(cmp.Compare(a.Time, b.Time), bytes.Compare(a.ID[:], b.ID[:]))
}

var infinite = negentropy.Item{Time: math.MaxUint64}

// extends reports whether a range is more than its bound.
func (g wireRange) extends() bool { return compareItems(g.lower, g.upper) < 0 }

// parse reads a message that must be well formed.
func parse(t testing.TB, msg []byte) (ranges []wireRange) {
	t.Helper()
	if len(msg) == 0 || msg[0] != 0x61 {
		t.Fatalf("message without version: %x", msg)
	}
	rest := msg[1:]
	number := func() uint64 {
		v, r, err := negentropy.ReadVarint(rest)
		if err != nil {
			t.Fatalf("message %x: %v", msg, err)
		}
		rest = r
		return v
	}
	bytesOf := func(n int) []byte {
		if len(rest) < n {
			t.Fatalf("message %x cut short", msg)
		}
		part := rest[:n]
		rest = rest[n:]
		return part
	}
	var last negentropy.Item
	for len(rest) > 0 {
		g := wireRange{lower: last}
		delta := number()
		g.prefix = int(number())
		copy(g.upper.ID[:], bytesOf(g.prefix))
		g.upper.Time = last.Time + delta - 1
		if delta == 0 || g.upper.Time < last.Time || g.upper.Time == math.MaxUint64 {
			g.upper = infinite
		}
		g.mode = number()
		switch g.mode {
		case 0:
		case 1:
			g.print = [16]byte(bytesOf(16))
		case 2:
			for n := number(); n > 0; n-- {
				g.ids = append(g.ids, [32]byte(bytesOf(32)))
			}
		default:
			t.Fatalf("mode %d in %x", g.mode, msg)
		}
		last = g.upper
		ranges = append(ranges, g)
	}
	return ranges
}

// within returns the items of a range.
func within(items []negentropy.Item, g wireRange) (in []negentropy.Item) {
	for _, it := range items {
		if compareItems(it, g.lower) >= 0 && compareItems(it, g.upper) < 0 {
			in = append(in, it)
		}
	}
	return in
}

func idsOf(items []negentropy.Item) (ids [][32]byte) {
	for _, it := range items {
		ids = append(ids, it.ID)
	}
	return ids
}

// wantTrue checks that all that a message says of a set holds, and that it
// does not end in a skip.
func wantTrue(t testing.TB, s *negentropy.Set, msg []byte) []wireRange {
	t.Helper()
	items, ranges := itemsOf(s), parse(t, msg)
	for i, g := range ranges {
		own := within(items, g)
		switch {
		case !g.extends():
			t.Errorf("range without extent: %v", g)
		case g.mode == 0 && (i == len(ranges)-1 || ranges[i+1].mode == 0):
			t.Errorf("useless skip: %v", g)
		case g.mode == 1 && g.print != naiveFingerprint(own):
			t.Errorf("wrong fingerprint: %v", g)
		case g.mode == 2 && !slices.Equal(g.ids, idsOf(own)):
			t.Errorf("wrong ids: %v", g)
		}
	}
	return ranges
}

// wantAnswer checks a message that answers another, without a frame limit:
// each range that is open gets its answer, no other does.
func wantAnswer(t testing.TB, s *negentropy.Set, responder bool, query, reply []byte) {
	t.Helper()
	items, answers := itemsOf(s), wantTrue(t, s, reply)
	answers = slices.DeleteFunc(answers, func(g wireRange) bool { return g.mode == 0 })
	for _, g := range parse(t, query) {
		own := within(items, g)
		var modes []uint64
		switch {
		case !g.extends(), g.mode == 0, g.mode == 2 && !responder, g.mode == 1 && g.print == naiveFingerprint(own):
			continue
		case g.mode == 2 || len(own) < 32:
			modes = []uint64{2}
		default:
			modes = slices.Repeat([]uint64{1}, 16)
		}
		lower := g.lower
		for i, mode := range modes {
			if len(answers) == 0 || answers[0].mode != mode || answers[0].lower != lower {
				t.Fatalf("part %d of the answer to %v: %v", i, g, answers)
			}
			size := len(own) / len(modes)
			if i < len(own)%len(modes) {
				size++
			}
			if got := len(within(items, answers[0])); got != size {
				t.Errorf("part %d of the answer to %v has %d items, want %d", i, g, got, size)
			}
			lower = answers[0].upper
			answers = answers[1:]
		}
		if lower != g.upper {
			t.Errorf("the answer to %v ends at %v", g, lower)
		}
	}
	if len(answers) > 0 {
		t.Errorf("answers without a question: %v", answers)
	}
}

// message builds messages by hand.
type message struct{ bytes.Buffer }

func newMessage() *message {
	m := &message{}
	m.WriteByte(0x61)
	return m
}

// bound writes a bound; time is encoded as it stands on the wire.
func (m *message) bound(encoded uint64, prefix ...byte) *message {
	m.Write(negentropy.AppendVarint(nil, encoded))
	m.Write(negentropy.AppendVarint(nil, uint64(len(prefix))))
	m.Write(prefix)
	return m
}

func (m *message) skip() *message {
	m.WriteByte(0)
	return m
}

func (m *message) print(p [16]byte) *message {
	m.WriteByte(1)
	m.Write(p[:])
	return m
}

func (m *message) ids(ids ...[32]byte) *message {
	m.WriteByte(2)
	m.Write(negentropy.AppendVarint(nil, uint64(len(ids))))
	for _, id := range ids {
		m.Write(id[:])
	}
	return m
}

func TestVarint(t *testing.T) {
	for v, want := range map[uint64]string{
		0: "00", 1: "01", 127: "7f", 128: "8100", 1000: "8768", 1039: "880f", 16383: "ff7f", 16384: "818000",
		1<<63 - 1: "ffffffffffffffff7f", 1 << 63: "81808080808080808000", math.MaxUint64: "81ffffffffffffffff7f",
	} {
		got := negentropy.AppendVarint(nil, v)
		if !bytes.Equal(got, unhex(t, want)) {
			t.Errorf("%d is written as %x, want %s", v, got, want)
		}
		back, rest, err := negentropy.ReadVarint(append(got, 0xff))
		if back != v || !bytes.Equal(rest, []byte{0xff}) || err != nil {
			t.Errorf("%s is read as %d, rest %x, error %v", want, back, rest, err)
		}
	}
	for name, in := range map[string]string{
		"empty":            "",
		"cut short":        "81",
		"leading zero":     "8001",
		"only zeros":       "8000",
		"2^64":             "82808080808080808000",
		"eleven digits":    "8180808080808080808000",
		"one bit too many": "83ffffffffffffffff7f",
	} {
		_, _, err := negentropy.ReadVarint(unhex(t, in))
		if err == nil {
			t.Errorf("%s is taken", name)
		}
		wantMalformed(t, unhex(t, in), err)
	}
}

// All digits at every length survive a round trip.
func TestVarintRoundTrip(t *testing.T) {
	for shift := range 64 {
		for _, v := range []uint64{1 << shift, 1<<shift - 1, 0x5a5a5a5a5a5a5a5a >> shift} {
			got, rest, err := negentropy.ReadVarint(negentropy.AppendVarint(nil, v))
			if got != v || len(rest) != 0 || err != nil {
				t.Errorf("%d comes back as %d, rest %x, %v", v, got, rest, err)
			}
		}
	}
}
