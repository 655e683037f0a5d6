package negentropy_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/negentropy"
)

// allocated returns how many bytes f allocates, at least: the runtime now and
// then allocates for itself.
func allocated(f func()) uint64 {
	least := uint64(math.MaxUint64)
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}

var someIDs = [][32]byte{rep(1), rep(2), rep(3)}

func TestMalformed(t *testing.T) {
	full := func() *message { return newMessage().bound(0) }
	for name, msg := range map[string][]byte{
		"empty":                      {},
		"json":                       []byte("[]"),
		"time only":                  {0x61, 0x01},
		"no mode":                    {0x61, 0x00, 0x00},
		"time cut short":             {0x61, 0x81},
		"prefix length cut short":    {0x61, 0x00, 0x81},
		"prefix cut short":           {0x61, 0x05, 0x02, 0xaa},
		"prefix of 33 bytes":         newMessage().bound(5, make([]byte, 33)...).skip().Bytes(),
		"huge prefix":                append([]byte{0x61, 0x05}, negentropy.AppendVarint(nil, math.MaxUint64)...),
		"prefix of infinity cut":     {0x61, 0x00, 0x02, 0xaa},
		"33 bytes at infinity":       newMessage().bound(0, make([]byte, 33)...).skip().Bytes(),
		"mode 3":                     append(full().Bytes(), 3),
		"mode 127":                   append(full().Bytes(), 127),
		"mode 256":                   append(full().Bytes(), 0x82, 0x00),
		"fingerprint cut short":      full().print([16]byte{}).Bytes()[:19],
		"no count":                   append(full().Bytes(), 2),
		"ids cut short":              full().ids(someIDs...).Bytes()[:3+1+1+95],
		"count of 2^60":              append(append(full().Bytes(), 2), negentropy.AppendVarint(nil, 1<<60)...),
		"count of 2^59, ids":         append(append(append(full().Bytes(), 2), negentropy.AppendVarint(nil, 1<<59)...), make([]byte, 64)...),
		"count of 2^64-1":            append(append(full().Bytes(), 2), negentropy.AppendVarint(nil, math.MaxUint64)...),
		"one byte after the end":     append(full().ids().Bytes(), 0),
		"garbage after the end":      append(full().skip().Bytes(), "garbage"...),
		"bound with lower prefix":    newMessage().bound(5, 2).skip().bound(1, 1).skip().Bytes(),
		"bound with shorter prefix":  newMessage().bound(5, 2).skip().bound(1).skip().Bytes(),
		"time with a leading zero":   {0x61, 0x80, 0x05, 0x00, 0x00},
		"time above 64 bits":         append([]byte{0x61, 0x83}, slices.Repeat([]byte{0xff}, 9)...),
		"endless varint":             append([]byte{0x61}, slices.Repeat([]byte{0x81}, 1000)...),
		"count with a leading zero":  append(full().Bytes(), 2, 0x80, 0x00),
		"second range is malformed":  append(newMessage().bound(5).skip().bound(1).print([16]byte{}).Bytes(), 0x85),
		"malformed behind the frame": append(append(newMessage().bound(1).skip().Bytes(), overfull(counted(3000))...), 0, 0, 9),
	} {
		t.Run(name, func(t *testing.T) {
			s := set(counted(3000)...)
			for _, limit := range []int{0, 4096} {
				reply, err := negentropy.Respond(s, limit, msg)
				wantMalformed(t, msg, err)
				if reply != nil {
					t.Errorf("responder says %x", reply)
				}
				n := negentropy.NewInitiator(s, limit)
				reply, _, _, err = n.Step(msg)
				wantMalformed(t, msg, err)
				if reply != nil {
					t.Errorf("initiator says %x", reply)
				}
				_, _, _, err = n.Step([]byte{0x61})
				wantMalformed(t, []byte{0x61}, err)
			}
		})
	}
}

// overfull returns ranges, without a version, that differ everywhere from the
// items, so that the answer passes a frame of 4096 bytes.
func overfull(items []negentropy.Item) []byte {
	m, last := newMessage(), uint64(0)
	for i := 0; i < len(items); i += 40 {
		m.bound(1+items[i].Time-last, 1).print([16]byte{1})
		last = items[i].Time
	}
	return m.Bytes()[1:]
}

func TestClaimsAllocateNothing(t *testing.T) {
	s := set(counted(100)...)
	for _, count := range []uint64{1000, 1 << 32, 1 << 60, math.MaxUint64} {
		msg := append(newMessage().bound(0).Bytes(), 2)
		msg = append(negentropy.AppendVarint(msg, count), make([]byte, 320)...)
		got := allocated(func() {
			if _, err := negentropy.Respond(s, 0, msg); err == nil {
				t.Error("responder takes the claim")
			}
			if _, _, _, err := negentropy.NewInitiator(s, 0).Step(msg); err == nil {
				t.Error("initiator takes the claim")
			}
		})
		if got > 8192 {
			t.Errorf("a claim of %d ids makes us allocate %d bytes", count, got)
		}
	}
}

// Reading must cost memory in proportion to the reply, not to the number of
// ranges.
func TestRangesAllocateNothing(t *testing.T) {
	s := set(counted(100)...)
	m := newMessage()
	for range 100_000 {
		m.bound(1).skip()
	}
	if got := allocated(func() { respond(t, s, 0, m.Bytes()) }); got > 4096 {
		t.Errorf("100,000 skips allocate %d bytes", got)
	}
}

func TestRangesWithoutExtent(t *testing.T) {
	s := set(counted(100)...)
	lie := [16]byte{1}
	for name, m := range map[string]*message{
		"at zero":             newMessage().bound(1).print(lie).bound(1).ids(),
		"between":             newMessage().bound(1001).skip().bound(1).print(lie).bound(1).ids(),
		"with a prefix":       newMessage().bound(1001, 7).skip().bound(1, 7).print(lie).bound(1, 7, 0).print(lie),
		"at infinity":         newMessage().bound(0).skip().bound(0).print(lie).bound(0).ids(),
		"at infinity, offset": newMessage().bound(0).skip().bound(9, 8).print(lie),
		"exactly infinity":    newMessage().bound(1001).skip().bound(math.MaxUint64-999, 7).skip().bound(0).print(lie),
		"beyond infinity":     newMessage().bound(1001).skip().bound(math.MaxUint64).skip().bound(0).print(lie),
	} {
		t.Run(name, func(t *testing.T) {
			wantMessage(t, respond(t, s, 0, m.Bytes()), "61")
			reply, have, need, err := negentropy.NewInitiator(s, 0).Step(m.Bytes())
			if reply != nil || len(have)+len(need) != 0 || err != nil {
				t.Errorf("reply %x, have %x, need %x, error %v", reply, have, need, err)
			}
		})
	}
}

// The reference implementation closes a message that a list up to infinity
// made too long with the fingerprint of nothing.
func TestListToInfinityAndFingerprint(t *testing.T) {
	m := newMessage().bound(0).ids(someIDs...).bound(0).print(naiveFingerprint(nil))
	reply, _, need, err := negentropy.NewInitiator(set(counted(2)...), 0).Step(m.Bytes())
	if reply != nil || err != nil || len(need) != len(someIDs) {
		t.Errorf("reply %x, need %x, error %v", reply, need, err)
	}
}

func TestSaturatingTime(t *testing.T) {
	// 2^63 three times: were the sum to wrap, the third bound would be low.
	m := newMessage().bound(1 << 63).skip().bound(1 << 63).skip().bound(1 << 63).ids(someIDs...)
	last := item(math.MaxUint64-1, rep(9))
	_, have, need, err := negentropy.NewInitiator(set(item(1000, rep(8)), last), 0).Step(m.Bytes())
	if err != nil || !slices.Equal(have, [][32]byte{last.ID}) || len(need) != 3 {
		t.Errorf("have %x, need %x, error %v", have, need, err)
	}
	// One less than infinity is a time like any other.
	m = newMessage().bound(math.MaxUint64).ids(someIDs...)
	_, have, _, err = negentropy.NewInitiator(set(last), 0).Step(m.Bytes())
	if err != nil || len(have) != 0 {
		t.Errorf("item at its exclusive bound: have %x, error %v", have, err)
	}
}

func TestDuplicateIDs(t *testing.T) {
	own := set(item(5, rep(1)), item(6, rep(9)))
	m := newMessage().bound(0).ids(rep(2), rep(1), rep(2), rep(1), rep(1), rep(2), rep(3))
	reply, have, need, err := negentropy.NewInitiator(own, 0).Step(m.Bytes())
	if reply != nil || err != nil {
		t.Fatalf("reply %x, error %v", reply, err)
	}
	slices.SortFunc(need, func(a, b [32]byte) int { return slices.Compare(a[:], b[:]) })
	if !slices.Equal(have, [][32]byte{rep(9)}) || !slices.Equal(need, [][32]byte{rep(2), rep(3)}) {
		t.Errorf("have %x, need %x", have, need)
	}
	wantMessage(t, respond(t, set(), 0, m.Bytes()), "6100000200")
}

// Ids come once even when a responder shows the same range in every message.
func TestRepeatedIDs(t *testing.T) {
	own := set(counted(100)...)
	n := negentropy.NewInitiator(own, 0)
	m := newMessage().bound(1011).ids(someIDs...).bound(0).print([16]byte{1}).Bytes()
	for round := range 5 {
		reply, have, need, err := n.Step(m)
		if reply == nil || err != nil {
			t.Fatalf("reply %x, error %v", reply, err)
		}
		if wantHave, wantNeed := 10, 3; round == 0 && (len(have) != wantHave || len(need) != wantNeed) {
			t.Errorf("have %d, need %d ids, want %d and %d", len(have), len(need), wantHave, wantNeed)
		}
		if round > 0 && len(have)+len(need) > 0 {
			t.Errorf("round %d tells %d+%d ids again", round, len(have), len(need))
		}
	}
}

// A responder that always differs and never says where is left.
func TestNoProgress(t *testing.T) {
	for _, n := range []int{0, 1, 1000} {
		initiator := negentropy.NewInitiator(set(counted(n)...), 0)
		m := newMessage().bound(0).print([16]byte{1}).Bytes()
		for round := 1; ; round++ {
			reply, _, _, err := initiator.Step(m)
			if round < negentropy.MaxIdle {
				if err != nil || reply == nil {
					t.Fatalf("%d items: round %d ends with %x, %v", n, round, reply, err)
				}
				continue
			}
			wantError(t, m, err, negentropy.ErrNoProgress)
			if reply != nil {
				t.Errorf("reply %x with an error", reply)
			}
			break
		}
	}
}

// The first open range counts, whatever is said of those above it.
func TestOnlyTheFrontCounts(t *testing.T) {
	initiator := negentropy.NewInitiator(set(counted(1000)...), 0)
	for round := 1; ; round++ {
		m := newMessage().bound(1001).print([16]byte{1}).bound(uint64(1 + round)).skip().bound(0).print([16]byte{1})
		_, _, _, err := initiator.Step(m.Bytes())
		if round < negentropy.MaxIdle && err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if round == negentropy.MaxIdle {
			wantError(t, nil, err, negentropy.ErrNoProgress)
			break
		}
	}
}

// A responder may settle a large set piece by piece without telling any id.
func TestSettlingIsProgress(t *testing.T) {
	own := set(counted(1000)...)
	initiator := negentropy.NewInitiator(own, 0)
	for i := 0; i < own.Len(); i += 3 {
		m := newMessage().bound(1 + own.At(i).Time).skip().bound(0).print([16]byte{1})
		if reply, _, _, err := initiator.Step(m.Bytes()); reply == nil || err != nil {
			t.Fatalf("at item %d: reply %x, error %v", i, reply, err)
		}
	}
}

// Own items that were settled, opened again and settled again are not progress.
func TestSettlingTwiceIsNone(t *testing.T) {
	initiator := negentropy.NewInitiator(set(counted(1000)...), 0)
	late := newMessage().bound(1501).skip().bound(0).print([16]byte{1})
	early := newMessage().bound(1).ids().bound(1000).ids(rep(1)).bound(0).print([16]byte{1})
	for i, m := range []*message{late, early} {
		if _, _, _, err := initiator.Step(m.Bytes()); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	for idle := 1; idle <= negentropy.MaxIdle; idle++ {
		_, _, _, err := initiator.Step(late.Bytes())
		if idle < negentropy.MaxIdle && err != nil {
			t.Fatalf("idle message %d: %v", idle, err)
		}
		if idle == negentropy.MaxIdle {
			wantError(t, nil, err, negentropy.ErrNoProgress)
		}
	}
}

// A responder that brings one invented id now and then is heard, up to the
// greatest number of ids and no further.
func TestDripEnds(t *testing.T) {
	const maxNeed = 50
	initiator := negentropy.NewInitiator(set(counted(1000)...), 0)
	initiator.SetMaxNeed(maxNeed)
	got, round := 0, 0
	for {
		m := newMessage().bound(2)
		if round%(negentropy.MaxIdle-1) == 0 {
			var id [32]byte
			binary.BigEndian.PutUint64(id[:], uint64(round))
			m.ids(id)
		} else {
			m.skip()
		}
		m.bound(0).print([16]byte{1})
		_, have, need, err := initiator.Step(m.Bytes())
		if got += len(need); len(have) > 0 {
			t.Fatalf("have %x", have)
		}
		round++
		if err != nil {
			wantError(t, nil, err, negentropy.ErrTooMany)
			break
		}
	}
	if want := maxNeed*(negentropy.MaxIdle-1) + 1; got != maxNeed || round != want {
		t.Errorf("%d ids in %d rounds, want %d in %d", got, round, maxNeed, want)
	}
}

func TestTooManyKeepsWhatFits(t *testing.T) {
	initiator := negentropy.NewInitiator(set(), 0)
	initiator.SetMaxNeed(2)
	reply, _, need, err := initiator.Step(newMessage().bound(0).ids(someIDs...).Bytes())
	wantError(t, nil, err, negentropy.ErrTooMany)
	if reply != nil || len(need) != 2 {
		t.Errorf("reply %x, need %x", reply, need)
	}
	initiator = negentropy.NewInitiator(set(), 0)
	initiator.SetMaxNeed(3)
	if _, _, need, err = initiator.Step(newMessage().bound(0).ids(someIDs...).Bytes()); err != nil || len(need) != 3 {
		t.Errorf("need %x, error %v", need, err)
	}
}

func TestErrorTellsWhatCameBefore(t *testing.T) {
	m := newMessage().bound(1010).ids(someIDs...).bound(5).Bytes()
	reply, have, need, err := negentropy.NewInitiator(set(counted(20)...), 0).Step(m)
	wantMalformed(t, m, err)
	if reply != nil || len(have) != 9 || len(need) != 3 {
		t.Errorf("reply %x, have %d, need %d ids", reply, len(have), len(need))
	}
}

func TestStepAfterTheEnd(t *testing.T) {
	n := negentropy.NewInitiator(set(), 0)
	if reply, _, _, err := n.Step([]byte{0x61}); reply != nil || err != nil {
		t.Fatalf("reply %x, error %v", reply, err)
	}
	_, _, need, err := n.Step(newMessage().bound(0).ids(someIDs...).Bytes())
	if !errors.Is(err, negentropy.ErrMalformed) || len(need) != 0 {
		t.Errorf("need %x, error %v", need, err)
	}
}

// A range without extent holds nothing: whatever is said about one changes
// nothing about the answer, between two ranges that are answered neither.
func TestRangesWithoutExtentAreIgnored(t *testing.T) {
	s := set(counted(1000)...)
	said := func(m *message) map[string]*message {
		n := func() *message { return &message{*bytes.NewBuffer(slices.Clone(m.Bytes()))} }
		return map[string]*message{
			"skipped": n().bound(1).skip(), "by fingerprint": n().bound(1).print([16]byte{9}), "by ids": n().bound(1).ids(rep(1)),
		}
	}
	lower := newMessage().bound(501).print([16]byte{1})
	want, err := negentropy.Respond(s, 0, slices.Clone(lower.bound(0).print([16]byte{2}).Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range said(newMessage().bound(501).print([16]byte{1})) {
		got, err := negentropy.Respond(s, 0, m.bound(0).print([16]byte{2}).Bytes())
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %x, error %v, want %x", name, got, err, want)
		}
	}
	for name, m := range said(newMessage()) {
		_, have, need, err := negentropy.NewInitiator(s, 0).Step(m.Bytes())
		if len(have)+len(need) > 0 || err != nil {
			t.Errorf("%s: have %x, need %x, error %v", name, have, need, err)
		}
	}
}
