package commitlog_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/logtest"
)

func change(key, value string) commitlog.Change {
	return commitlog.Change{Key: []byte(key), Value: []byte(value)}
}

func goes(key string) commitlog.Change { return commitlog.Change{Key: []byte(key), Gone: true} }

func encode(t testing.TB, b commitlog.Body) []byte {
	t.Helper()
	encoded, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

func TestABodyIsReadAsItWasWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return string(b)
	}
	for _, b := range []commitlog.Body{
		{},
		{Term: 1, Head: 1<<64 - 1},
		{Term: 1<<64 - 1, Head: 5, Changes: commitlog.Changes{Told: []string{"b", "", "a", "b"}}},
		{Changes: commitlog.Changes{Keys: []commitlog.Change{change("\x00", ""), goes("a"), change("ab", "value"), goes("b"), change("\xff", random(300_000))}}},
		{Changes: commitlog.Changes{Told: []string{random(200)}, Keys: []commitlog.Change{goes(string(bytes.Repeat([]byte{9}, 70_000)))}}},
	} {
		got, err := commitlog.ParseBody(encode(t, b))
		if err != nil {
			t.Fatal(err)
		}
		for i := range got.Changes.Keys {
			if k := &got.Changes.Keys[i]; !k.Gone && k.Value == nil || k.Gone && k.Value != nil {
				t.Errorf("key %q has the value %v", k.Key, k.Value)
			}
		}
		if !reflect.DeepEqual(got, b) {
			t.Errorf("%d %d %q and %d keys, want %d %d %q and %d keys", got.Term, got.Head, got.Changes.Told, len(got.Changes.Keys), b.Term, b.Head, b.Changes.Told, len(b.Changes.Keys))
		}
	}
}

// listed is a body with that list of changes, whatever it says.
func listed(list []byte) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return w.EncodeAll(list, binary.BigEndian.AppendUint32(nil, commitlog.Format)[:4:4])
}

// withList is a body with a whole header.
func withList(list []byte) []byte {
	b := listed(list)
	return slices.Concat(b[:4], make([]byte, commitlog.Header-4), b[4:])
}

func TestADamagedBodyIsRefused(t *testing.T) {
	good := encode(t, commitlog.Body{Term: 3, Head: 4, Changes: commitlog.Changes{Told: []string{"row"}, Keys: []commitlog.Change{change("key", "a value that is long enough"), goes("z")}}})
	whole, err := commitlog.ParseBody(good)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(good) {
		if _, err := commitlog.ParseBody(good[:cut]); !errors.Is(err, commitlog.ErrDamaged) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
	if _, err := commitlog.ParseBody(append(slices.Clone(good), 0)); !errors.Is(err, commitlog.ErrDamaged) {
		t.Errorf("with a byte more: %v", err)
	}
	for i := commitlog.Header; i < len(good); i++ {
		b := bytes.Clone(good)
		b[i] ^= 0x11
		if got, err := commitlog.ParseBody(b); err == nil && !reflect.DeepEqual(got, whole) {
			t.Errorf("byte %d was changed: nothing is noticed", i)
		}
	}
	other := bytes.Clone(good)
	other[3]++
	if _, err := commitlog.ParseBody(other); !errors.Is(err, commitlog.ErrFormat) || errors.Is(err, commitlog.ErrDamaged) {
		t.Errorf("of another format: %v", err)
	}
	if _, err := commitlog.ParseBody(other[:4]); !errors.Is(err, commitlog.ErrFormat) {
		t.Errorf("of another format, shorter than ours: %v", err)
	}
}

func TestADamagedListIsRefused(t *testing.T) {
	list := func(told uint32, parts ...any) []byte {
		b := binary.BigEndian.AppendUint32(nil, told)
		for _, p := range parts {
			switch p := p.(type) {
			case int:
				b = binary.BigEndian.AppendUint32(b, uint32(p))
			case string:
				b = append(b, p...)
			}
		}
		return b
	}
	const gone = 1 << 31
	for _, c := range []struct {
		name string
		list []byte
		ok   bool
	}{
		{"one key", list(0, 1, "a", 2, "xy"), true},
		{"told", list(1, 1, "a"), true},
		{"two keys", list(0, gone|1, "a", gone|2, "aa"), true},
		{"no number", []byte{0, 0, 0}, false},
		{"names are missing", list(2, 1, "a"), false},
		{"very many names", list(1<<32-1, 1, "a"), false},
		{"a key is cut", list(0, 3, "ab"), false},
		{"a key without a value", list(0, 1, "a"), false},
		{"a value is cut", list(0, 1, "a", 2, "x"), false},
		{"an empty key", list(0, 0, 1, "x"), false},
		{"an empty key that goes", list(0, gone), false},
		{"a key twice", list(0, gone|1, "a", 1, "a", 0), false},
		{"not in order", list(0, gone|1, "b", gone|1, "a"), false},
		{"a byte at the end", list(0, gone|1, "b", "x"), false},
		{"nothing at all", nil, false},
	} {
		_, err := commitlog.ParseBody(withList(c.list))
		if (err == nil) != c.ok || !c.ok && !errors.Is(err, commitlog.ErrDamaged) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestBoundsOfACommit(t *testing.T) {
	large := make([]byte, commitlog.MaxSize-4-4-1-4)
	b := commitlog.Body{Changes: commitlog.Changes{Keys: []commitlog.Change{{Key: []byte("k"), Value: large}}}}
	encoded := encode(t, b)
	if _, err := commitlog.ParseBody(encoded); err != nil || len(encoded) > 1<<20 {
		t.Errorf("the largest: %d bytes, %v", len(encoded), err)
	}
	b.Changes.Told = []string{""}
	if _, err := b.Encode(); !errors.Is(err, commitlog.ErrTooLarge) {
		t.Errorf("larger by a name: %v", err)
	}
	list := slices.Concat([]byte{0, 0, 0, 0, 0, 0, 0, 1, 'k'}, binary.BigEndian.AppendUint32(nil, commitlog.MaxSize), make([]byte, commitlog.MaxSize))
	if _, err := commitlog.ParseBody(withList(list)); !errors.Is(err, commitlog.ErrDamaged) {
		t.Errorf("a list that is too large: %v", err)
	}
	many := commitlog.Body{}
	for i := range commitlog.MaxKeys {
		many.Changes.Keys = append(many.Changes.Keys, commitlog.Change{Key: binary.BigEndian.AppendUint32(nil, uint32(i)), Gone: true})
	}
	if _, err := commitlog.ParseBody(encode(t, many)); err != nil {
		t.Errorf("as many keys as may be: %v", err)
	}
	many.Changes.Keys = append(many.Changes.Keys, goes("\xff\xff\xff\xff"))
	if _, err := many.Encode(); !errors.Is(err, commitlog.ErrTooLarge) {
		t.Errorf("a key more: %v", err)
	}
}

// FuzzChanges: whatever a list says, it is refused, or is the one form of what it says.
func FuzzChanges(f *testing.F) {
	for _, c := range []commitlog.Changes{
		{}, {Told: []string{"a", ""}}, {Keys: []commitlog.Change{change("a", "b"), goes("c"), change("d", "")}},
	} {
		body, err := commitlog.Body{Changes: c}.Encode()
		if err != nil {
			f.Fatal(err)
		}
		r, err := zstd.NewReader(nil)
		if err != nil {
			f.Fatal(err)
		}
		list, err := r.DecodeAll(body[commitlog.Header:], nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list []byte) {
		b, err := commitlog.ParseBody(withList(list))
		if err != nil {
			return
		}
		again, err := b.Encode()
		if err != nil {
			t.Fatal(err)
		}
		r, err := zstd.NewReader(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if got, err := r.DecodeAll(again[commitlog.Header:], nil); err != nil || !bytes.Equal(got, list) {
			t.Errorf("%x was read as %+v, which is %x", list, b.Changes, got)
		}
	})
}

// FuzzBody: whatever a body says, reading it ends, without an entry that cannot be written.
func FuzzBody(f *testing.F) {
	body, err := commitlog.Body{Term: 1, Head: 2, Changes: commitlog.Changes{Told: []string{"a"}, Keys: []commitlog.Change{change("a", "b")}}}.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Add([]byte{0, 0, 0, commitlog.Format})
	f.Fuzz(func(t *testing.T, body []byte) {
		if b, err := commitlog.ParseBody(body); err == nil {
			if _, err := b.Encode(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestAnEntryFollowsOneAlone(t *testing.T) {
	first := commitlog.NewEntry(1, commitlog.Chain{}, []byte("one"))
	second := commitlog.NewEntry(2, first.Chain, []byte("two"))
	got, err := commitlog.ParseEntry(2, second.Append(nil))
	if err != nil || !got.Follows(1, first.Chain) || !reflect.DeepEqual(got, second) {
		t.Errorf("%+v, %v", got, err)
	}
	other := got
	other.Body = []byte("twO")
	for what, ok := range map[string]bool{
		"at another position":  got.Follows(2, first.Chain) || got.Follows(0, first.Chain),
		"after another entry":  got.Follows(1, commitlog.Chain{}),
		"with another body":    other.Follows(1, first.Chain),
		"a chain without body": commitlog.Entry{At: 1}.Follows(0, commitlog.Chain{}),
	} {
		if ok {
			t.Errorf("it follows %s", what)
		}
	}
	if _, err := commitlog.ParseEntry(1, first.Append(nil)[:31]); !errors.Is(err, commitlog.ErrDamaged) {
		t.Errorf("half a chain: %v", err)
	}
}

// TestSettle: whatever becomes of the first tries, an entry is there once and somebody knows it.
func TestSettle(t *testing.T) {
	faults := []logtest.Fault{logtest.Well, logtest.LostBefore, logtest.LostAfter, logtest.Late, logtest.Twice}
	for _, first := range faults {
		for _, second := range faults {
			for taken := range 4 { // after how many tries another node writes; 0 is never
				synctest.Test(t, func(t *testing.T) { settle(t, []logtest.Fault{first, second}, taken) })
			}
		}
	}
}

func settle(t *testing.T, faults []logtest.Fault, taken int) {
	before := commitlog.Chain{7}
	ours, other := commitlog.NewEntry(5, before, []byte("ours")), commitlog.NewEntry(5, before, []byte("other"))
	tries, reads := 0, 0
	m := new(logtest.Memory)
	m.Fault = func(e commitlog.Entry) logtest.Fault {
		if string(e.Body) == "other" {
			return logtest.Well
		}
		if tries++; tries == taken {
			if r, err := m.Append(t.Context(), 5, before, other.Body); r == commitlog.Unknown || err != nil {
				t.Error(r, err)
			}
		}
		if tries <= len(faults) {
			return faults[tries-1]
		}
		return logtest.Well
	}
	m.ReadFails = func(commitlog.Position) bool { reads++; return reads == 1 }
	begun := time.Now()
	err := commitlog.Settle(t.Context(), m, ours, before)
	took := time.Since(begun)
	m.Deliver()
	reads = 1
	there, err2 := m.Read(t.Context(), 5)
	if err2 != nil {
		t.Fatal(err2)
	}
	if want := string(there.Body) == "ours"; (err == nil) != want || !want && !errors.Is(err, commitlog.ErrOther) {
		t.Errorf("faults %v, taken %d: %v, and %q is there", faults, taken, err, there.Body)
	}
	if m.Len() != 5 || took > time.Second {
		t.Errorf("faults %v, taken %d: up to %d, after %v", faults, taken, m.Len(), took)
	}
}

// TestSettleGoesOnUntilItIsKnown: for an hour, and not without a pause; the end of the context gives its cause.
func TestSettleGoesOnUntilItIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		begun := time.Now()
		m := &logtest.Memory{Fault: func(commitlog.Entry) logtest.Fault {
			tries++
			if time.Since(begun) < time.Hour && tries < 10_000 {
				return logtest.LostBefore
			}
			return logtest.Well
		}}
		e := commitlog.NewEntry(1, commitlog.Chain{}, []byte("body"))
		if err := commitlog.Settle(t.Context(), m, e, commitlog.Chain{}); err != nil || tries < 1800 || tries > 1820 {
			t.Errorf("%v after %d tries", err, tries)
		}
		if took := time.Since(begun); took > time.Hour+2*time.Second {
			t.Errorf("it took %v", took)
		}
		over := errors.New("over")
		ctx, end := context.WithCancelCause(t.Context())
		m.Fault = func(commitlog.Entry) logtest.Fault { return logtest.LostAfter }
		m.ReadFails = func(commitlog.Position) bool { return true }
		time.AfterFunc(time.Minute, func() { end(over) })
		if err := commitlog.Settle(ctx, m, commitlog.NewEntry(2, e.Chain, nil), e.Chain); !errors.Is(err, over) {
			t.Errorf("after the end: %v", err)
		}
		time.AfterFunc(time.Minute, m.Close)
		begun = time.Now()
		ctx, end2 := context.WithTimeout(t.Context(), time.Hour)
		defer end2()
		if err := commitlog.Settle(ctx, m, commitlog.NewEntry(3, e.Chain, nil), e.Chain); !errors.Is(err, commitlog.ErrClosed) || time.Since(begun) > time.Minute+2*time.Second {
			t.Errorf("after %v the log is closed: %v", time.Since(begun), err)
		}
	})
}
