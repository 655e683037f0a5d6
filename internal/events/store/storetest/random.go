package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Compare plays one random history, determined by the seed, to a store on each disk, and requires that they agree on
// everything that can be asked.
func Compare(t *testing.T, seed uint64, steps int, a, b Disk) {
	t.Helper()
	h := newHistory(t, seed)
	h.disks = [2]Disk{a.Fresh(t), b.Fresh(t)}
	for i, d := range h.disks {
		h.stores[i] = d.Open(t, h.opt)
		defer func() { h.stores[i].Close() }()
	}
	h.play(seed, steps)
}

// newHistory chooses the bounds of the stores.
func newHistory(t *testing.T, seed uint64) *history {
	h := &history{t: t, world: NewWorld(seed), now: Start}
	h.r = h.world.r
	h.opt = store.Options{Rules: "0", Now: func() time.Time { return time.Unix(h.now, 0) }}
	if h.r.IntN(2) == 0 {
		h.opt.MaxRemembered, h.opt.MaxRememberedRows = 20, 120
	}
	if h.r.IntN(2) == 0 {
		h.opt.DeleteAtOnce, h.opt.MaxMarks = 1+h.r.IntN(2), int64(1+h.r.IntN(6))
	}
	if h.r.IntN(2) == 0 {
		h.opt.MaxUnused = int64(1 + h.r.IntN(4))
	}
	return h
}

func (h *history) play(seed uint64, steps int) {
	h.t.Helper()
	for range steps {
		h.step()
		if h.t.Failed() {
			h.t.Fatalf("seed %d: the stores differ after: %v", seed, h.log)
		}
	}
}

// history drives two stores in step.
type history struct {
	t      *testing.T
	r      *rand.Rand
	world  *World
	opt    store.Options
	now    int64
	disks  [2]Disk
	stores [2]Store
	log    []string // what was done last

	couple *Couple // the second store follows; nil where both are told
	inside bool    // a batch is open
}

func (h *history) note(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
	if len(h.log) > 40 {
		h.log = h.log[1:]
	}
}

// step is one batch and what surrounds it.
func (h *history) step() {
	if h.r.IntN(4) == 0 {
		h.now += int64(h.r.IntN(20))
	}
	if h.r.IntN(60) == 0 {
		h.now += int64(h.r.IntN(9 * day))
		h.note("clock +%d", h.now-Start)
	}
	if h.r.IntN(80) == 0 {
		h.now += int64(h.r.IntN(120 * day))
		h.note("clock +%d", h.now-Start)
	}
	if h.r.IntN(25) == 0 {
		h.reopen()
	}
	h.batch()
	h.follow()
	h.compare()
}

func (h *history) reopen() {
	if h.disks[0] == nil {
		h.swap()
		return
	}
	if h.r.IntN(3) == 0 {
		h.opt.Rules = []string{"", "1", "2"}[h.r.IntN(3)]
	}
	h.note("reopen, rules %s", h.opt.Rules)
	for i, d := range h.disks {
		if err := h.stores[i].Close(); err != nil {
			h.t.Fatal(err)
		}
		h.stores[i] = d.Open(h.t, h.opt)
	}
}

func (h *history) batch() {
	var b [2]Batch
	for i, s := range h.stores[:h.told()] {
		var err error
		if b[i], err = s.Begin(); err != nil {
			h.t.Fatal(err)
		}
		defer b[i].Discard()
	}
	h.inside = true
	defer func() { h.inside = false }()
	for range h.r.IntN(12) {
		h.operation(b)
		h.lookups(b)
	}
	if h.r.IntN(10) == 0 {
		h.note("discard")
		return
	}
	h.note("commit")
	both(h, "commit", func(i int) (string, error) {
		seq, err := b[i].Commit()
		return fmt.Sprint(seq), err
	})
}

// both asks the two stores the same and compares the answers.
func both(h *history, what string, ask func(i int) (string, error)) {
	h.t.Helper()
	x, err := ask(0)
	if err != nil {
		h.t.Errorf("%s: %v", what, err)
	}
	if h.inside && h.told() == 1 {
		return
	}
	y, err := ask(1)
	if err != nil {
		h.t.Errorf("%s: %v", what, err)
	}
	if x != y {
		h.t.Errorf("%s: %s", what, firstDifference(x, y))
	}
}

// firstDifference is the first line in which two answers differ.
func firstDifference(x, y string) string {
	a, b := strings.Split(x, "\n"), strings.Split(y, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d of %d and %d:\n  %.300s\n  %.300s", i, len(a), len(b), a[i], b[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(a), len(b))
}

// operation is one random change.
func (h *history) operation(b [2]Batch) {
	e := h.world.Event(h.now)
	switch n := h.r.IntN(111); {
	case n < 45:
		src := store.Source(h.r.IntN(4))
		h.note("add %d %s", e.Kind, e.ID.String()[:6])
		both(h, "add", func(i int) (string, error) {
			out, err := b[i].Add(e, src)
			if err == nil && out > policy.Wait && out < policy.Discard {
				err = b[i].Remember(e, out)
			}
			return fmt.Sprint(out), err
		})
	case n < 57:
		w := store.Wait{Source: store.Source(h.r.IntN(4)), Came: h.now, Until: h.now + int64(h.r.IntN(30)), From: h.world.source()}
		h.note("wait %d %s", e.Kind, e.ID.String()[:6])
		both(h, "wait", func(i int) (string, error) {
			out, err := b[i].Wait(e, w)
			return fmt.Sprint(out), err
		})
	case n < 60:
		until := h.now + int64(h.r.IntN(40)) - 5
		h.note("postpone %s", e.ID.String()[:6])
		both(h, "postpone", func(i int) (string, error) { return "", b[i].Postpone(e.ID, until) })
	case n < 62:
		why := []policy.Outcome{policy.Refuse, policy.Lapsed, policy.Unrelated, policy.Discard}[h.r.IntN(4)]
		h.note("end wait %v %s", why, e.ID.String()[:6])
		both(h, "end wait", func(i int) (string, error) { return "", b[i].EndWait(e.ID, why) })
	case n < 65:
		max, odd := h.r.IntN(5), byte(h.r.IntN(3))
		keep := func(e *nostr.Event) bool { return e.ID[0]%2 == odd }
		h.note("lapse %d, keep %d", max, odd)
		both(h, "lapse", func(i int) (string, error) {
			next, n, err := b[i].LapseDue(time.Unix(h.now, 0), max, nil, keep)
			return fmt.Sprint(next.Unix(), n), err
		})
	case n < 75:
		whys := []policy.Outcome{policy.Refuse, policy.Unlisted, policy.Unrelated, policy.NoMaintainer, policy.Superseded, policy.Vanished, policy.Withdraw, policy.Discard}
		why := whys[h.r.IntN(len(whys))]
		h.note("remember %v %d %s", why, e.Kind, e.ID.String()[:6])
		both(h, "remember", func(i int) (string, error) { return "", b[i].Remember(e, why) })
	case n < 80:
		why := []store.Reason{store.ReasonWithdrawn, store.ReasonVanished, store.ReasonDeleted}[h.r.IntN(3)]
		h.note("remove %v %d %s", why, e.Kind, e.ID.String()[:6])
		both(h, "remove", func(i int) (string, error) { return "", b[i].Remove(e.ID, why) })
	case n < 87:
		h.note("forget orphans of %s", e.ID.String()[:6])
		both(h, "forget orphans", func(i int) (string, error) {
			n, more, err := b[i].ForgetOrphans(e, 1000)
			return fmt.Sprint(n, more), err
		})
	case n < 90:
		h.note("purge")
		both(h, "purge", func(i int) (string, error) {
			more, err := b[i].Purge(1 << 30)
			return fmt.Sprint(more), err
		})
	case n < 91:
		rules, forget := fmt.Sprint(h.r.IntN(3)), h.r.IntN(2) == 0
		h.note("rules %s, forget %v", rules, forget)
		both(h, "rules", func(i int) (string, error) { return "", b[i].SetRules(rules, forget) })
	case n < 94:
		d := h.world.d()
		h.note("forget repository %q", d)
		both(h, "forget repository", func(i int) (string, error) {
			n, more, err := b[i].ForgetRepository(d, 1000)
			return fmt.Sprint(n, more), err
		})
		of := nip34.Address{Kind: nip34.KindRepository, PubKey: Event(h.world.author(), Start, 1, "").PubKey, D: d}
		h.note("forget lapsed %s", of)
		both(h, "forget lapsed", func(i int) (string, error) {
			n, err := b[i].ForgetLapsed(of, 1000)
			return fmt.Sprint(n), err
		})
	case n < 99:
		name, value := h.world.Row()
		h.note("row %q, %d bytes", name, len(value))
		both(h, "row", func(i int) (string, error) { return "", b[i].SetRow(name, value) })
	case n < 103:
		max := h.r.IntN(5)
		h.note("age %d", max)
		both(h, "age", func(i int) (string, error) {
			next, n, err := b[i].AgeDue(time.Unix(h.now, 0), max)
			return fmt.Sprint(next.Unix(), n), err
		})
	case n < 105:
		h.note("sweep")
		both(h, "sweep", func(i int) (string, error) {
			more, err := b[i].SweepMarks(time.Unix(h.now, 0), 1<<30)
			return fmt.Sprint(more), err
		})
	default:
		max := h.r.IntN(5)
		h.note("expire %d", max)
		both(h, "expire", func(i int) (string, error) {
			next, n, err := b[i].ExpireDue(time.Unix(h.now, 0), max, nil)
			return fmt.Sprint(next.Unix(), n), err
		})
	}
	both(h, "lost", func(i int) (string, error) { return fmt.Sprintf("%q", b[i].LostRepositories()), nil })
	if h.r.IntN(3) > 0 {
		both(h, "gone", func(i int) (string, error) { return fmt.Sprint(idsOf(b[i].Gone()...)), nil })
	}
	both(h, "anything to commit", func(i int) (string, error) { return fmt.Sprint(b[i].Len() > 0), nil })
}

// lookups asks the open batches.
func (h *history) lookups(b [2]Batch) {
	e, d := h.world.Event(h.now), h.world.d()
	both(h, "outcome", func(i int) (string, error) {
		out, err := b[i].Outcome(e)
		return fmt.Sprint(out), err
	})
	both(h, "known in batch", func(i int) (string, error) {
		k, err := b[i].Known(e.ID)
		return fmt.Sprint(k), err
	})
	both(h, "what waits", func(i int) (string, error) {
		var s strings.Builder
		w, err1 := b[i].Waiting(e.ID)
		stamp, at, err2 := b[i].WaitingAt(e.Address())
		list, err3 := b[i].WaitingAnnouncements(d)
		fmt.Fprintln(&s, told(w), stamp, at, idsOf(list...))
		err4 := b[i].EachWaitOf(e.PubKey, func(w store.Waiting) error { fmt.Fprintln(&s, told(w)); return nil })
		return s.String(), errors.Join(err1, err2, err3, err4)
	})
	from := h.world.source()
	both(h, "tally of what waits", func(i int) (string, error) {
		text := fmt.Sprint(b[i].WaitTally(e.PubKey, from))
		var errs []error
		for _, of := range []store.WaitGroup{store.WaitAnnouncements, store.WaitsOfAuthor, store.WaitsOfSource, store.WaitsOfLargest} {
			w, ok, err := b[i].OldestWait(of, e.PubKey, from)
			text += fmt.Sprint("\n", ok, told(w))
			errs = append(errs, err)
		}
		return text, errors.Join(errs...)
	})
	name, _ := h.world.Row()
	both(h, "row in batch", func(i int) (string, error) {
		value, err := b[i].Row(name)
		return fmt.Sprintf("%x %v", value, value == nil), err
	})
	both(h, "announcements", func(i int) (string, error) {
		list, err := b[i].Announcements(d)
		return fmt.Sprint(idsOf(list...)), err
	})
	both(h, "decision", func(i int) (string, error) {
		has, err1 := b[i].Has(e.ID)
		at, err2 := b[i].HasAddress(e.Address())
		named, err3 := b[i].Named(e.ID, e.Address())
		author, err4 := b[i].HasAuthor(e.PubKey)
		part, err8 := b[i].TakesPart(e.PubKey)
		by, err5 := b[i].HasBy(e.ID, e.PubKey)
		one, ok, err6 := b[i].Get(e.ID)
		standing, stands, err7 := b[i].At(e.Address())
		for _, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8} {
			if err != nil {
				return "", err
			}
		}
		return fmt.Sprint(has, at, named, author, part, by, ok, jsonOf(one), stands, jsonOf(standing)), nil
	})
}

// compare asks the durable states.
func (h *history) compare() {
	var v [2]View
	for i, s := range h.stores {
		v[i] = s.View()
		defer v[i].Close()
	}
	both(h, "head", func(i int) (string, error) {
		s := h.stores[i].Stats()
		s.DiskBytes = 0
		purging, err := v[i].Purging()
		return fmt.Sprint(h.stores[i].Head(), v[i].Head(), s, purging), err
	})
	e := h.world.Event(h.now)
	both(h, "at its address", func(i int) (string, error) {
		at, ok, err1 := v[i].At(e.Address())
		stamp, waits, err2 := v[i].WaitingAt(e.Address())
		return fmt.Sprint(jsonOf(at), ok, stamp, waits), errors.Join(err1, err2)
	})
	both(h, "all that waits", func(i int) (string, error) {
		var s strings.Builder
		err := v[i].EachWait(func(w store.Waiting) error { fmt.Fprintln(&s, told(w)); return nil })
		return s.String(), err
	})
	for range 6 {
		f := h.world.Filter(h.now)
		text := string(f.AppendJSON(nil))
		both(h, "query "+text, func(i int) (string, error) {
			var s strings.Builder
			for row, err := range v[i].Query(h.t.Context(), f) {
				if err != nil {
					return "", err
				}
				fmt.Fprintf(&s, "%d %d %s %s\n", row.Seq, row.Time, row.ID, row.JSON)
			}
			return s.String(), nil
		})
		for _, flagged := range []bool{false, true} {
			both(h, fmt.Sprintf("pairs %v %s", flagged, text), func(i int) (string, error) {
				var s strings.Builder
				for p, err := range v[i].Pairs(h.t.Context(), f, flagged) {
					if err != nil {
						return "", err
					}
					fmt.Fprintln(&s, p.Time, p.ID)
				}
				return s.String(), nil
			})
		}
	}
	h.compareRows(v)
	h.compareCounts(v)
	h.compareAbout(v)
	for range 5 {
		id := h.world.Event(h.now).ID
		both(h, "known", func(i int) (string, error) {
			k, err := v[i].Known(id)
			return fmt.Sprint(k), err
		})
		both(h, "get", func(i int) (string, error) {
			e, ok, err := v[i].Get(id)
			if ok {
				return string(e.AppendJSON(nil)), err
			}
			return "", err
		})
	}
	h.compareFeeds(v)
}

// compareRows asks for rows one by one, and for some in order.
func (h *history) compareRows(v [2]View) {
	name, _ := h.world.Row()
	prefix, _ := h.world.Row()
	prefix = prefix[:h.r.IntN(len(prefix)+1)]
	after, _ := h.world.Row()
	after = after[:h.r.IntN(len(after)+1)]
	max := 1 + h.r.IntN(9)
	both(h, fmt.Sprintf("rows %q %q %q", name, prefix, after), func(i int) (string, error) {
		value, err := v[i].Row(name)
		text := fmt.Sprintf("%x %v", value, value == nil)
		n := 0
		err2 := v[i].EachRow(prefix, after, func(name string, value []byte) (bool, error) {
			n++
			text += fmt.Sprintf("\n%q %x", name, value)
			return n < max, nil
		})
		return text, errors.Join(err, err2)
	})
}

// told is all that is known of a wait.
func told(w store.Waiting) string {
	if w.Event == nil {
		return "none"
	}
	return fmt.Sprint(w.Seq, " ", string(w.Event.AppendJSON(nil)), w.Wait)
}

// compareCounts asks how many match some filters.
func (h *history) compareCounts(v [2]View) {
	for range 4 {
		filters := some(h.world, 4, func() nostr.Filter { return h.world.Filter(h.now) })
		both(h, fmt.Sprint("count ", filters), func(i int) (string, error) {
			n, err := v[i].Count(h.t.Context(), filters)
			return fmt.Sprint(n), err
		})
	}
}

// compareAbout asks for what is about some things.
func (h *history) compareAbout(v [2]View) {
	ids, addresses := some(h.world, 4, h.world.id), some(h.world, 4, h.world.address)
	both(h, fmt.Sprint("about ", ids, addresses), func(i int) (string, error) {
		var s strings.Builder
		for row, err := range v[i].About(h.t.Context(), ids, addresses) {
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&s, "%d %d %s %s\n", row.Seq, row.Time, row.ID, row.JSON)
		}
		return s.String(), nil
	})
}

// compareFeeds compares from a random place on. An event that has left the store may still be shown or not.
func (h *history) compareFeeds(v [2]View) {
	after, page := store.Seq(h.r.IntN(int(h.stores[0].Head())+2)), 1+h.r.IntN(30)
	both(h, fmt.Sprintf("since %d", after), func(i int) (string, error) {
		var s strings.Builder
		entries := feed(h.t, h.stores[i], after, page)
		left := map[nostr.ID]store.Seq{}
		for _, e := range entries {
			if e.Event == nil && e.Waits == nil {
				left[e.Removed] = e.Seq
			}
		}
		for _, e := range entries {
			if e.Waits != nil {
				if w, err := v[i].Waiting(e.Waits.ID); err != nil {
					return "", err
				} else if w.Seq == e.Seq {
					fmt.Fprintln(&s, e.Seq, "waits", e.Waits.ID, e.Source)
				}
				continue
			}
			if e.Event == nil {
				fmt.Fprintln(&s, e.Seq, "removed", e.Removed, e.Reason)
				continue
			}
			if left[e.Event.ID] > e.Seq {
				continue // it may have come again
			}
			if k, err := v[i].Known(e.Event.ID); err != nil {
				return "", err
			} else if k.State == store.Stored {
				fmt.Fprintln(&s, e.Seq, "added", e.Event.ID, e.Source)
			}
		}
		return s.String(), nil
	})
}

func jsonOf(e *nostr.Event) string {
	if e == nil {
		return ""
	}
	return string(e.AppendJSON(nil))
}
