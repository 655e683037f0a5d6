package store

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// FuzzOrder: keys of one prefix sort newest first, then lowest id first, and give back what they were made of.
func FuzzOrder(f *testing.F) {
	f.Add(int64(0), int64(1), []byte{1}, []byte{2})
	f.Add(int64(math.MaxInt64), int64(math.MaxInt64-1), []byte{}, []byte{0xff})
	f.Add(int64(5), int64(5), []byte{9, 9}, []byte{9, 8})
	f.Fuzz(func(t *testing.T, t1, t2 int64, b1, b2 []byte) {
		if t1 < 0 || t2 < 0 {
			t.Skip("no event was created before 1970")
		}
		var id1, id2 nostr.ID
		copy(id1[:], b1)
		copy(id2[:], b2)
		k1, k2 := appendOrder(kindPrefix(1), t1, id1), appendOrder(kindPrefix(1), t2, id2)
		want := id1.Compare(id2)
		if t1 > t2 {
			want = -1
		} else if t1 < t2 {
			want = 1
		}
		if got := bytes.Compare(k1, k2); got != want {
			t.Errorf("%d %s and %d %s: %d, want %d", t1, id1, t2, id2, got, want)
		}
		o := orderOf(t1, id1)
		if id, ok := rowID(k1); !ok || id != id1 || timeOf(o) != t1 {
			t.Errorf("%d %s: not given back", t1, id1)
		}
	})
}

// FuzzTimedKey: keys of the queue and of the expiry table sort by time and give back what they were made of.
func FuzzTimedKey(f *testing.F) {
	f.Add(int64(0), int64(1), []byte("id"))
	f.Add(int64(-1), int64(math.MaxInt64), []byte{})
	f.Fuzz(func(t *testing.T, t1, t2 int64, b []byte) {
		var id nostr.ID
		copy(id[:], b)
		k1, k2 := timedKey(tableQueue, t1, id), timedKey(tableQueue, t2, id)
		if c := bytes.Compare(k1, k2); (max(t1, 0) < max(t2, 0)) != (c < 0) {
			t.Errorf("%d and %d: %d", t1, t2, c)
		}
		if at, got, ok := parseTimedKey(k1); !ok || at != max(t1, 0) || got != id {
			t.Errorf("%d: not given back", t1)
		}
		if _, _, ok := parseTimedKey(b); ok && len(b) != len(k1) {
			t.Errorf("%x was taken for a key", b)
		}
	})
}

// FuzzValues: whatever is on disk is read without a panic, and what is read is written back the same; a record as one that says
// the same, as a tag may stand in it twice.
func FuzzValues(f *testing.F) {
	e := &nostr.Event{Kind: 30617, CreatedAt: 7, Tags: nostr.Tags{{"d", "x"}, {"a", "y"}, {"e", "z"}, {"p", "q"}}}
	r := record{facts: factsOf(e).kept(), why: policy.Unrelated, epoch: 3, due: 9}
	f.Add(r.append(nil))
	tag := r.append(nil)[recordHead : recordHead+1+hashLen]
	f.Add(slices.Concat(r.append(nil), tag, tag))
	f.Add(slices.Concat(r.append(nil), []byte{tag[0] ^ lowerBit}, tag[1:]))
	f.Add(r.row().append(nil))
	f.Add(row{seq: 1, kind: 2, expiration: 3}.append(nil))
	f.Add(row{seq: 1, kind: 2, expiration: noExpiration}.append(nil))
	f.Add(slot{state: slotWithdrawn, time: 1, id: nostr.ID{2}, seq: 3, first: 4}.append(nil))
	f.Add(appendIDRow(nil, 5, row{seq: 1, kind: 2, expiration: 3}))
	f.Add(appendRemoved(nil, nostr.ID{1}, ReasonExpired))
	f.Add(counters{1, 2, 3, 4, 5, 6, 7, 8}.append(nil))
	f.Add(waitRow{1, 2, 3, "from"}.append(nil))
	f.Add(appendStamp(nil, nostr.Stamp{CreatedAt: 1, ID: nostr.ID{2}}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		back := func(what string, again []byte, err error) {
			if err == nil && !bytes.Equal(again, b) {
				t.Errorf("%s: %x became %x", what, b, again)
			}
		}
		id := nostr.ID{1}
		if rec, err := parseRecord(id, b); err == nil {
			written := rec.append(nil)
			again, err := parseRecord(id, written)
			if err != nil || !reflect.DeepEqual(again, rec) || len(written) > len(b) {
				t.Errorf("record: %x became %x, %v", b, written, err)
			}
		}
		fr, err := parseFlaggedRow(b)
		back("flagged row", fr.append(nil), err)
		if r, err := parseRow(b); err == nil && (len(b) <= 11 || r.expiration != noExpiration) {
			back("row", r.append(nil), nil)
		}
		s, err := parseSlot(b)
		back("slot", s.append(nil), err)
		if at, r, err := parseIDRow(b); err == nil && (len(b) == 18 || r.expiration != noExpiration) {
			back("id row", appendIDRow(nil, at, r), nil)
		}
		rid, why, err := parseRemoved(b)
		back("removal", appendRemoved(nil, rid, why), err)
		c, err := parseCounters(b)
		back("counters", c.append(nil), err)
		wait, err := parseWaitRow(b)
		back("wait", wait.append(nil), err)
		stamp, err := parseStamp(b)
		back("version that waits", appendStamp(nil, stamp), err)
		if _, json, err := parseLog(b); err == nil && len(json) != len(b)-logHeader {
			t.Errorf("log: %x", b)
		}
	})
}

func TestRecordRoundTrip(t *testing.T) {
	e := &nostr.Event{Kind: 30617, CreatedAt: math.MaxInt64, PubKey: nostr.PubKey{1, 2}, Tags: nostr.Tags{{"d", "x"}, {"a", "y"}, {"a", "y"}, {"e"}, {"E", ""}, {"p", "q"}, {"dd", "x"}}}
	e.ID = e.ComputeID()
	want := record{facts: factsOf(e).kept(), why: policy.Vanished, epoch: math.MaxUint32, due: math.MaxInt64}
	if n := len(want.tags); n != 3 {
		t.Errorf("%d tags kept", n)
	}
	got, err := parseRecord(e.ID, want.append(nil))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

// TestPrefixesAreNoPrefixesOfEachOther: no index range can run into another one.
func TestPrefixesAreNoPrefixesOfEachOther(t *testing.T) {
	h := hashOf("x")
	prefixes := [][]byte{timePrefix(), kindPrefix(1), kindPrefix(257), authorPrefix(nostr.PubKey{1}), authorKindPrefix(nostr.PubKey{1}, 1),
		tagPrefix('a', h), tagPrefix('b', h), tagPrefix('a', hashOf("y"))}
	for _, p := range slices.Clone(prefixes) {
		prefixes = append(prefixes, flagged(bytes.Clone(p)))
	}
	tables := []byte{tableMeta, tableLog, tableRemoved, tableID, tableRecord, tableQueue, tableSlot, tableAnnouncement, tableDeletedID, tableDeletedAddress, tableExpiry}
	for i, p := range prefixes {
		for j, q := range prefixes {
			if i != j && bytes.HasPrefix(q, p) {
				t.Errorf("%q begins with %q", q, p)
			}
		}
		if bytes.IndexByte(tables, p[0]) >= 0 {
			t.Errorf("%q is in the table of something else", p)
		}
		if end := prefixEnd(p); bytes.Compare(appendOrder(bytes.Clone(p), 0, nostr.ID{0xff}), end) >= 0 || bytes.HasPrefix(end, p) {
			t.Errorf("%q ends at %q", p, end)
		}
	}
	if prefixEnd([]byte{0xff, 0xff}) != nil {
		t.Error("there is something after the last key")
	}
}

// TestCasesThatAreNone: what stands behind the value of a row is one of three bytes.
func TestCasesThatAreNone(t *testing.T) {
	row, memory := row{seq: 1, kind: 1, expiration: noExpiration}.append(nil), flaggedRow{kind: 1, why: policy.Refuse}.append(nil)
	for c := range 256 {
		_, err := parseRow(append(slices.Clone(row), byte(c)))
		_, flaggedErr := parseFlaggedRow(append(slices.Clone(memory), byte(c)))
		want := c < 1 || c > 3
		if errors.Is(err, errCorrupt) != want || errors.Is(flaggedErr, errCorrupt) != want {
			t.Errorf("%d: %v, %v", c, err, flaggedErr)
		}
	}
	for n := range 24 {
		if _, err := parseRow(make([]byte, n)); (err == nil) != (n == 10 || n == 18) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
