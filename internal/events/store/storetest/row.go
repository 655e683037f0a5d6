package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// setRow sets a row in a batch.
func setRow(t testing.TB, b Batch, name string, value []byte) {
	t.Helper()
	if err := b.SetRow(name, value); err != nil {
		t.Fatalf("row %.20q: %v", name, err)
	}
}

// rows are all rows from a place on, as text.
func (r *rig) rows(t testing.TB, prefix, after string) string {
	t.Helper()
	v := r.View()
	defer v.Close()
	var all []string
	err := v.EachRow(prefix, after, func(name string, value []byte) (bool, error) {
		one, err := v.Row(name)
		if !bytes.Equal(one, value) || one == nil {
			t.Errorf("row %q is %q by itself and %q among others", name, one, value)
		}
		all = append(all, fmt.Sprintf("%s=%.9s", name, value))
		return true, err
	})
	if err != nil {
		t.Errorf("rows: %v", err)
	}
	return strings.Join(all, " ")
}

var rowCases = []testCase{
	{"seen by its batch at once and by others with the commit", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		e := Event(1, Start, 1, "x")
		b, err := r.Begin()
		if err != nil {
			t.Fatal(err)
		}
		add(t, b, policy.Accept, e, "event")
		value := []byte("one")
		setRow(t, b, "a", value)
		copy(value, "two")
		if v, err := b.Row("a"); string(v) != "one" || err != nil {
			t.Errorf("in the batch %q, %v", v, err)
		}
		if got := r.rows(t, "", ""); got != "" {
			t.Errorf("before the commit: %s", got)
		}
		if _, err := b.Commit(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got := r.rows(t, "", ""); got != "a=one" || len(r.query(t, nostr.Filter{})) != 1 {
				t.Errorf("after the commit: %s", got)
			}
			r.reopen(t)
		}
	}},
	{"alone they are a commit, and nothing for the feed", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		head := r.add(t, policy.Accept, Event(1, Start, 1, "x"))
		_, changed, err := r.Since(head, 10)
		if err != nil {
			t.Fatal(err)
		}
		before := r.View()
		seq := r.batch(t, func(b Batch) {
			setRow(t, b, "a", []byte("1"))
			setRow(t, b, "b", []byte{})
			if b.Len() != 2 {
				t.Errorf("%d things done", b.Len())
			}
		})
		if got := r.rows(t, "", ""); got != "a=1 b=" || seq != head || r.Head() != head {
			t.Errorf("%s, number %d after %d", got, seq, head)
		}
		if v, err := before.Row("a"); v != nil || err != nil {
			t.Errorf("an older view has %q, %v", v, err)
		}
		err = before.EachRow("", "", func(name string, _ []byte) (bool, error) { return true, fmt.Errorf("%q", name) })
		if err != nil {
			t.Errorf("an older view has the row %v", err)
		}
		before.Close()
		select {
		case <-changed:
			t.Error("who reads the feed was woken")
		default:
		}
		if n := len(feed(t, r, 0, 10)); n != 1 {
			t.Errorf("%d entries", n)
		}
	}},
	{"dropped with their batch", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		r.batch(t, func(b Batch) { setRow(t, b, "a", []byte("1")) })
		b, err := r.Begin()
		if err != nil {
			t.Fatal(err)
		}
		setRow(t, b, "a", nil)
		setRow(t, b, "b", []byte("2"))
		if v, err := b.Row("a"); v != nil || err != nil {
			t.Errorf("removed in the batch: %q, %v", v, err)
		}
		b.Discard()
		if got := r.rows(t, "", ""); got != "a=1" {
			t.Errorf("there is %s", got)
		}
	}},
	{"in the order of their names", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		r.batch(t, func(b Batch) {
			for _, name := range []string{"b", "a/2", "a", "a/10", "a0", "gone", "\xff\xff", "\xff"} {
				setRow(t, b, name, []byte(name))
			}
			setRow(t, b, "gone", nil)
			setRow(t, b, "never there", nil)
			setRow(t, b, "b", []byte("anew"))
		})
		for _, c := range []struct{ prefix, after, want string }{
			{"", "", "a=a a/10=a/10 a/2=a/2 a0=a0 b=anew \xff=\xff \xff\xff=\xff\xff"},
			{"a", "", "a=a a/10=a/10 a/2=a/2 a0=a0"},
			{"a/", "", "a/10=a/10 a/2=a/2"},
			{"a/", "a/10", "a/2=a/2"},
			{"a/", "a/1", "a/10=a/10 a/2=a/2"},
			{"a/", "b", ""},
			{"b", "a", "b=anew"},
			{"\xff", "\xff", "\xff\xff=\xff\xff"},
			{"never", "", ""},
		} {
			if got := r.rows(t, c.prefix, c.after); got != c.want {
				t.Errorf("%q after %q: %q, want %q", c.prefix, c.after, got, c.want)
			}
		}
		v := r.View()
		defer v.Close()
		n, enough := 0, errors.New("enough")
		count := func(more bool, err error) error {
			n = 0
			return v.EachRow("", "", func(string, []byte) (bool, error) { n++; return more, err })
		}
		if err := count(false, nil); n != 1 || err != nil {
			t.Errorf("%d rows to who wants one, %v", n, err)
		}
		if err := count(true, enough); n != 1 || err != enough {
			t.Errorf("%d rows to who fails, %v", n, err)
		}
	}},
	{"what came back is not gone", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		a, b := Announcement(1, Start, "a", ""), Event(1, Start, 1618, "")
		r.add(t, policy.Accept, a, b)
		r.batch(t, func(x Batch) {
			remove(t, x, store.ReasonWithdrawn, a, b)
			add(t, x, policy.Accept, a, "again")
			wantIDs(t, "gone", idsOf(x.Gone()...), idsOf(b))
			remove(t, x, store.ReasonWithdrawn, a)
			remove(t, x, store.ReasonWithdrawn, a)
			wantIDs(t, "gone then", idsOf(x.Gone()...), idsOf(a))
			wantIDs(t, "gone once more", idsOf(x.Gone()...), nil)
		})
		r.batch(t, func(x Batch) { wantIDs(t, "gone in the next batch", idsOf(x.Gone()...), nil) })
	}},
	{"gone, whatever took it", func(t *testing.T, d Disk) {
		soon := nostr.Tag{"expiration", fmt.Sprint(Start + 5)}
		of := func(tags ...nostr.Tag) (all []*nostr.Event) {
			for i, k := range []nostr.Kind{30617, 30618, 1618, 1619, 1617, 30019} {
				all = append(all, Event(1, Start+int64(i), k, "", append(tags, nostr.Tag{"d", "x"})...))
			}
			return all
		}
		for _, c := range []struct {
			name string
			tags nostr.Tags
			do   func(b Batch, e *nostr.Event, now time.Time)
		}{
			{"a deletion", nil, func(b Batch, e *nostr.Event, _ time.Time) {
				add(t, b, policy.Accept, Deletion(1, Start+10, nostr.Tag{"e", e.ID.String()}), "deletion")
			}},
			{"a removal", nil, func(b Batch, e *nostr.Event, _ time.Time) { remove(t, b, store.ReasonWithdrawn, e) }},
			{"its expiration", nostr.Tags{soon}, func(b Batch, _ *nostr.Event, now time.Time) {
				if _, _, err := b.ExpireDue(now, 1, nil); err != nil {
					t.Fatal(err)
				}
			}},
			{"a request to vanish", nil, func(b Batch, e *nostr.Event, _ time.Time) {
				if out, err := b.Add(Event(1, Start+10, nostr.KindVanish, "", nostr.Tag{"relay", "ALL_RELAYS"}), store.Live); err != nil {
					t.Fatal(out, err)
				}
				if _, err := b.Purge(1 << 20); err != nil {
					t.Fatal(err)
				}
			}},
		} {
			r := newRig(t, d.Fresh(t), store.Options{})
			all := of(c.tags...)
			r.add(t, policy.Accept, all...)
			r.now = Start + 6
			gone := map[nostr.ID]int{}
			r.batch(t, func(b Batch) {
				for _, e := range all {
					c.do(b, e, r.opt.Now())
				}
				for _, e := range b.Gone() {
					gone[e.ID]++
					if want := all[e.CreatedAt-Start]; !bytes.Equal(e.AppendJSON(nil), want.AppendJSON(nil)) {
						t.Errorf("%s: gone is %s", c.name, e.AppendJSON(nil))
					}
				}
			})
			for i, e := range all {
				if want := i < 4; gone[e.ID] > 1 || (gone[e.ID] == 1) != want {
					t.Errorf("%s: kind %d is gone %d times", c.name, e.Kind, gone[e.ID])
				}
			}
		}
	}},
	{"not gone with a newer version", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		a, s, w := Announcement(1, Start, "a", ""), Event(1, Start, 30618, "", nostr.Tag{"d", "a"}), Announcement(1, Start, "w", "")
		r.add(t, policy.Accept, a, s, w)
		r.batch(t, func(b Batch) {
			add(t, b, policy.Accept, Announcement(1, Start+1, "a", "newer"), "newer announcement")
			add(t, b, policy.Accept, Event(1, Start+1, 30618, "", nostr.Tag{"d", "a"}), "newer state")
			wantIDs(t, "gone", idsOf(b.Gone()...), nil)
			if err := b.Remember(Announcement(1, Start+1, "w", "left"), policy.Withdraw); err != nil {
				t.Fatal(err)
			}
			wantIDs(t, "gone with a version that is not served", idsOf(b.Gone()...), idsOf(w))
		})
	}},
	{"what only waited is not gone", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		a := Announcement(1, Start, "a", "")
		r.wait(t, policy.Wait, a)
		r.batch(t, func(b Batch) {
			if err := b.EndWait(a.ID, policy.Lapsed); err != nil {
				t.Fatal(err)
			}
			wantIDs(t, "gone", idsOf(b.Gone()...), nil)
		})
	}},
}

func remove(t testing.TB, b Batch, why store.Reason, events ...*nostr.Event) {
	t.Helper()
	for _, e := range events {
		if err := b.Remove(e.ID, why); err != nil {
			t.Fatal(err)
		}
	}
}
