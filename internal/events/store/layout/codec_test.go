package layout

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
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
		k1, k2 := AppendOrder(KindPrefix(1), t1, id1), AppendOrder(KindPrefix(1), t2, id2)
		want := id1.Compare(id2)
		if t1 > t2 {
			want = -1
		} else if t1 < t2 {
			want = 1
		}
		if got := bytes.Compare(k1, k2); got != want {
			t.Errorf("%d %s and %d %s: %d, want %d", t1, id1, t2, id2, got, want)
		}
		o := OrderOf(t1, id1)
		if id, ok := RowID(k1); !ok || id != id1 || TimeOf(o) != t1 {
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
		k1, k2 := TimedKey(TableQueue, t1, id), TimedKey(TableQueue, t2, id)
		if c := bytes.Compare(k1, k2); (max(t1, 0) < max(t2, 0)) != (c < 0) {
			t.Errorf("%d and %d: %d", t1, t2, c)
		}
		if at, got, ok := ParseTimedKey(k1); !ok || at != max(t1, 0) || got != id {
			t.Errorf("%d: not given back", t1)
		}
		if _, _, ok := ParseTimedKey(b); ok && len(b) != len(k1) {
			t.Errorf("%x was taken for a key", b)
		}
	})
}

// FuzzValues: whatever is on disk is read without a panic, and what is read is written back the same; a record as one that says
// the same, as a tag may stand in it twice.
func FuzzValues(f *testing.F) {
	e := &nostr.Event{Kind: 30617, CreatedAt: 7, Tags: nostr.Tags{{"d", "x"}, {"a", "y"}, {"e", "z"}, {"p", "q"}}}
	r := Record{Facts: FactsOf(e).Kept(), Why: policy.Unrelated, Epoch: 3, Due: 9}
	f.Add(r.Append(nil))
	tag := r.Append(nil)[recordHead : recordHead+1+HashLen]
	f.Add(slices.Concat(r.Append(nil), tag, tag))
	f.Add(slices.Concat(r.Append(nil), []byte{tag[0] ^ lowerBit}, tag[1:]))
	f.Add(r.Row().Append(nil))
	f.Add(Row{Seq: 1, Kind: 2, Expiration: 3}.Append(nil))
	f.Add(Row{Seq: 1, Kind: 2, Expiration: NoExpiration}.Append(nil))
	f.Add(Slot{State: SlotWithdrawn, Time: 1, ID: nostr.ID{2}, Seq: 3, First: 4}.Append(nil))
	f.Add(AppendIDRow(nil, 5, Row{Seq: 1, Kind: 2, Expiration: 3}))
	f.Add(AppendRemoved(nil, nostr.ID{1}, ReasonExpired))
	f.Add(Counters{1, 2, 3, 4, 5, 6, 7, 8}.Append(nil))
	f.Add(WaitRow{1, 2, 3, "from"}.Append(nil))
	f.Add(AppendStamp(nil, nostr.Stamp{CreatedAt: 1, ID: nostr.ID{2}}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		back := func(what string, again []byte, err error) {
			if err == nil && !bytes.Equal(again, b) {
				t.Errorf("%s: %x became %x", what, b, again)
			}
		}
		id := nostr.ID{1}
		if rec, err := ParseRecord(id, b); err == nil {
			written := rec.Append(nil)
			again, err := ParseRecord(id, written)
			if err != nil || !reflect.DeepEqual(again, rec) || len(written) > len(b) {
				t.Errorf("record: %x became %x, %v", b, written, err)
			}
		}
		fr, err := ParseFlaggedRow(b)
		back("flagged row", fr.Append(nil), err)
		if r, err := ParseRow(b); err == nil && (len(b) <= 11 || r.Expiration != NoExpiration) {
			back("row", r.Append(nil), nil)
		}
		s, err := ParseSlot(b)
		back("slot", s.Append(nil), err)
		if at, r, err := ParseIDRow(b); err == nil && (len(b) == 18 || r.Expiration != NoExpiration) {
			back("id row", AppendIDRow(nil, at, r), nil)
		}
		rid, why, err := parseRemoved(b)
		back("removal", AppendRemoved(nil, rid, why), err)
		c, err := parseCounters(b)
		back("counters", c.Append(nil), err)
		wait, err := ParseWaitRow(b)
		back("wait", wait.Append(nil), err)
		stamp, err := ParseStamp(b)
		back("version that waits", AppendStamp(nil, stamp), err)
		if _, json, err := ParseLog(b); err == nil && len(json) != len(b)-LogHeader {
			t.Errorf("log: %x", b)
		}
	})
}

func TestRecordRoundTrip(t *testing.T) {
	e := &nostr.Event{Kind: 30617, CreatedAt: math.MaxInt64, PubKey: nostr.PubKey{1, 2}, Tags: nostr.Tags{{"d", "x"}, {"a", "y"}, {"a", "y"}, {"e"}, {"E", ""}, {"p", "q"}, {"dd", "x"}}}
	e.ID = e.ComputeID()
	want := Record{Facts: FactsOf(e).Kept(), Why: policy.Vanished, Epoch: math.MaxUint32, Due: math.MaxInt64}
	if n := len(want.Tags); n != 3 {
		t.Errorf("%d tags kept", n)
	}
	got, err := ParseRecord(e.ID, want.Append(nil))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

// TestPrefixesAreNoPrefixesOfEachOther: no index range can run into another one.
func TestPrefixesAreNoPrefixesOfEachOther(t *testing.T) {
	h := HashOf("x")
	prefixes := [][]byte{TimePrefix(), KindPrefix(1), KindPrefix(257), AuthorPrefix(nostr.PubKey{1}), AuthorKindPrefix(nostr.PubKey{1}, 1),
		TagPrefix('a', h), TagPrefix('b', h), TagPrefix('a', HashOf("y"))}
	for _, p := range slices.Clone(prefixes) {
		prefixes = append(prefixes, Flagged(bytes.Clone(p)))
	}
	tables := []byte{TableMeta, TableLog, TableRemoved, TableID, TableRecord, TableQueue, TableSlot, TableAnnouncement, TableDeletedID, TableDeletedAddress, TableExpiry}
	for i, p := range prefixes {
		for j, q := range prefixes {
			if i != j && bytes.HasPrefix(q, p) {
				t.Errorf("%q begins with %q", q, p)
			}
		}
		if bytes.IndexByte(tables, p[0]) >= 0 {
			t.Errorf("%q is in the table of something else", p)
		}
		if end := PrefixEnd(p); bytes.Compare(AppendOrder(bytes.Clone(p), 0, nostr.ID{0xff}), end) >= 0 || bytes.HasPrefix(end, p) {
			t.Errorf("%q ends at %q", p, end)
		}
	}
	if PrefixEnd([]byte{0xff, 0xff}) != nil {
		t.Error("there is something after the last key")
	}
}

// TestCasesThatAreNone: what stands behind the value of a row is one of three bytes.
func TestCasesThatAreNone(t *testing.T) {
	row, memory := Row{Seq: 1, Kind: 1, Expiration: NoExpiration}.Append(nil), FlaggedRow{Kind: 1, Why: policy.Refuse}.Append(nil)
	for c := range 256 {
		_, err := ParseRow(append(slices.Clone(row), byte(c)))
		_, flaggedErr := ParseFlaggedRow(append(slices.Clone(memory), byte(c)))
		want := c < 1 || c > 3
		if errors.Is(err, ErrCorrupt) != want || errors.Is(flaggedErr, ErrCorrupt) != want {
			t.Errorf("%d: %v, %v", c, err, flaggedErr)
		}
	}
	for n := range 24 {
		if _, err := ParseRow(make([]byte, n)); (err == nil) != (n == 10 || n == 18) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
