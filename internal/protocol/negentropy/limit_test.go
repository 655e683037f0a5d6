package negentropy_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/negentropy"
)

// A list that does not fit is cut before the first item left out, and all from
// there on becomes one fingerprint.
func TestFrameCutsList(t *testing.T) {
	s := set(counted(1000)...)
	reply := respond(t, s, 4096, newMessage().bound(1011).skip().bound(0).ids().Bytes())
	ranges := wantTrue(t, s, reply)
	if len(ranges) != 3 || ranges[0].mode != 0 || ranges[1].mode != 2 || ranges[2].mode != 1 {
		t.Fatalf("got %v, want a skip, a list and a fingerprint", ranges)
	}
	if len(reply) > 4096 || len(reply) < 4096-200-32 {
		t.Errorf("%d bytes of 4096 are used", len(reply))
	}
	next := s.At(10 + len(ranges[1].ids))
	if ranges[1].upper != next || ranges[1].prefix != 32 || ranges[2].upper != infinite {
		t.Errorf("list ends at %v, then %v", ranges[1], ranges[2])
	}
}

// What does not fit is dropped, and the closing fingerprint begins at the last
// bound that was written, so that no difference is skipped by accident.
func TestFrameDropsSplit(t *testing.T) {
	items := counted(3000)
	s := set(items...)
	query := append([]byte{0x61}, overfull(items)...)
	for role, reply := range replies(t, s, 4096, query) {
		if len(reply) > 4096 || len(reply) < 4096-200-1100 {
			t.Errorf("%s uses %d bytes of 4096", role, len(reply))
		}
		ranges := wantTrue(t, s, reply)
		last := ranges[len(ranges)-1]
		if last.mode != 1 || last.upper != infinite {
			t.Errorf("%s ends with %v", role, last)
		}
		if len(ranges) < 100 {
			t.Errorf("%s has only %v", role, ranges)
		}
	}
}

// Settled ranges before a dropped one stay settled.
func TestFrameKeepsSettled(t *testing.T) {
	items := counted(3000)
	s := set(slices.Clone(items)...)
	m, last := newMessage(), uint64(0)
	for i := 0; i < len(items); i += 100 {
		differ, equal := items[i].Time+31, items[min(i+100, len(items)-1)].Time
		m.bound(1 + differ - last).print([16]byte{1})
		m.bound(1 + equal - differ).skip()
		last = equal
	}
	for role, reply := range replies(t, s, 4096, m.Bytes()) {
		ranges := wantTrue(t, s, reply)
		tail := ranges[len(ranges)-2:]
		if tail[0].mode != 0 || tail[1].mode != 1 || tail[1].upper != infinite {
			t.Errorf("%s ends with %v, want a skip and a fingerprint", role, tail)
		}
	}
}

// replies returns what both roles say to a message.
func replies(t *testing.T, s *negentropy.Set, limit int, msg []byte) map[string][]byte {
	t.Helper()
	reply, _, _, err := negentropy.NewInitiator(s, limit).Step(msg)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"responder": respond(t, s, limit, msg), "initiator": reply}
}

// Empty answers count too: many small ranges must not pass the limit.
func TestFrameBoundsEmptyLists(t *testing.T) {
	s := set(item(1, rep(1)), item(1<<40, rep(2)))
	m := newMessage()
	for i := range 5000 {
		m.bound(2, byte(i)).ids()
	}
	reply := respond(t, s, 4096, m.Bytes())
	if len(reply) > 4096 || len(reply) < 4096-200 {
		t.Errorf("%d bytes of 4096 are used", len(reply))
	}
	ranges := wantTrue(t, s, reply)
	if last := ranges[len(ranges)-1]; last.mode != 1 || last.upper != infinite {
		t.Errorf("ends with %v", last)
	}
}

// A frame that is just large enough holds the whole answer.
func TestFrameNotCutWithoutNeed(t *testing.T) {
	for n := 115; n < 125; n++ {
		s := set(counted(n)...)
		reply := respond(t, s, 4096, newMessage().bound(0).ids().Bytes())
		ranges := wantTrue(t, s, reply)
		if fits := 4+1+32*n <= 4096-200; fits != (len(ranges) == 1) {
			t.Errorf("%d items come in %v", n, ranges)
		}
	}
}

// Where not one id of a range fits, the closing fingerprint covers it whole.
// The length of the bound moves the rest of the frame byte by byte.
func TestFrameHoldsNoID(t *testing.T) {
	s := set(counted(300)...)
	for _, first := range []int{119, 120} {
		for size := range 33 {
			m := newMessage().bound(uint64(1+1000+first), make([]byte, size)...).ids().bound(0).ids()
			ranges := wantTrue(t, s, respond(t, s, 4096, m.Bytes()))
			last := ranges[len(ranges)-1]
			if len(ranges[0].ids) != first || last.mode != 1 || last.upper != infinite {
				t.Errorf("%d items and %d bytes of bound: %v", first, size, ranges)
			}
		}
	}
}

func TestFrameLimitValues(t *testing.T) {
	s := set(counted(5000)...)
	msg := newMessage().bound(0).ids().Bytes()
	size := func(limit int) int { return len(respond(t, s, limit, msg)) }
	for _, limit := range []int{0, -1, 1 << 40} {
		if size(limit) != 1+3+2+5000*32 {
			t.Errorf("limit %d: %d bytes", limit, size(limit))
		}
	}
	for _, limit := range []int{1, 200, negentropy.MinFrameLimit - 1} {
		if size(limit) != size(negentropy.MinFrameLimit) {
			t.Errorf("limit %d is not taken for the least", limit)
		}
	}
	for _, limit := range []int{-1, 1, negentropy.MinFrameLimit - 1} {
		query := append([]byte{0x61}, overfull(itemsOf(s))...)
		reply, _, _, err := negentropy.NewInitiator(s, limit).Step(query)
		if err != nil || (limit > 0) != (len(reply) <= negentropy.MinFrameLimit) || len(reply) < 1536-200-1100 {
			t.Errorf("initiator with limit %d says %d bytes, error %v", limit, len(reply), err)
		}
	}
	if size(negentropy.MinFrameLimit) > negentropy.MinFrameLimit || size(10_000) < 9000 {
		t.Errorf("frames of %d and %d bytes", size(negentropy.MinFrameLimit), size(10_000))
	}
}

// Frame limits of both sides at every size that shifts where they cut.
func TestFrameLimitSweep(t *testing.T) {
	for limit := 4096; limit < 4300; limit += 7 {
		testSets(t, 700, clocks["crowded"], overlaps["half"], limit, limit+100)
	}
}

// TestBound: with one difference more than is allowed the reconciliation ends, having told little more than that.
func TestBound(t *testing.T) {
	items := make([]negentropy.Item, 5000)
	for i := range items {
		items[i] = negentropy.Item{Time: uint64(i + 1), ID: [32]byte{byte(i), byte(i >> 8), 7}}
	}
	all, none, half := negentropy.NewSet(items), negentropy.NewSet(nil), negentropy.NewSet(slices.Clone(items[:4900]))
	for _, c := range []struct {
		name         string
		ours, theirs *negentropy.Set
		most         int
		err          error
	}{
		{"they lack everything", all, none, 500, negentropy.ErrTooMany},
		{"we lack everything", none, all, 500, negentropy.ErrTooMany},
		{"as many as allowed are lacked", all, half, 100, nil},
		{"one more is lacked", all, half, 99, negentropy.ErrTooMany},
		{"as many as allowed are needed", half, all, 100, nil},
		{"one more is needed", half, all, 99, negentropy.ErrTooMany},
		{"any number", all, none, 0, nil},
	} {
		n := negentropy.NewInitiator(c.ours, 0)
		n.Bound(c.most)
		told := 0
		msg, err := n.Start(), error(nil)
		for msg != nil && err == nil {
			var reply []byte
			if reply, err = negentropy.Respond(c.theirs, 0, msg); err != nil {
				t.Fatal(err)
			}
			var have, need [][32]byte
			msg, have, need, err = n.Step(reply)
			told += len(have) + len(need)
		}
		if !errors.Is(err, c.err) || c.most > 0 && told > c.most+1 {
			t.Errorf("%s: %v after %d ids", c.name, err, told)
		}
	}
}
