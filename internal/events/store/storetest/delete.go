package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// deletion cases state what a set of events comes to, whatever the order in which they arrive.
var deleteCases = []testCase{
	{"in either order", func(t *testing.T, d Disk) {
		target := Event(1, Start, 1, "target")
		ann := Announcement(1, Start, "x", "ann")
		list := Event(1, Start, 10317, "list")
		for i, c := range []struct {
			name   string
			target *nostr.Event
			del    *nostr.Event
			gone   bool
		}{
			{"by id", target, Deletion(1, Start+1, nostr.Tag{"e", target.ID.String()}), true},
			{"by id, older than its target", target, Deletion(1, Start-9, nostr.Tag{"e", target.ID.String()}), true},
			{"by id of a version", ann, Deletion(1, Start-9, nostr.Tag{"e", ann.ID.String()}), true},
			{"by another author", target, Deletion(2, Start+1, nostr.Tag{"e", target.ID.String()}), false},
			{"by address", ann, Deletion(1, Start, nostr.Tag{"a", ann.Address()}), true},
			{"by address, before its target", ann, Deletion(1, Start-1, nostr.Tag{"a", ann.Address()}), false},
			{"by address of another author", ann, Deletion(2, Start+1, nostr.Tag{"a", ann.Address()}), false},
			{"by address of a replaceable event", list, Deletion(1, Start+1, nostr.Tag{"a", list.Address()}), true},
			{"by address without its last colon", list, Deletion(1, Start+1, nostr.Tag{"a", "10317:" + Author(1).String()}), true},
			{"by address in the wrong tag", ann, Deletion(1, Start+1, nostr.Tag{"A", ann.Address()}, nostr.Tag{"e", ann.Address()}), false},
			{"by id in the wrong tag", target, Deletion(1, Start+1, nostr.Tag{"E", target.ID.String()}, nostr.Tag{"a", target.ID.String()}, nostr.Tag{"e"}), false},
			{"among many", target, Deletion(1, Start+1, nostr.Tag{"k", "1"}, nostr.Tag{"e", Start8}, nostr.Tag{"e", "zz"}, nostr.Tag{"e", target.ID.String()}), true},
		} {
			for _, deletionFirst := range []bool{false, true} {
				for _, together := range []bool{false, true} {
					r := newRig(t, d.Fresh(t), store.Options{})
					events := []*nostr.Event{c.target, c.del}
					if deletionFirst {
						slices.Reverse(events)
					}
					var outs []policy.Outcome
					one := func(e *nostr.Event) func(Batch) {
						return func(b Batch) {
							out, err := b.Add(e, store.Live)
							if err != nil {
								t.Fatal(err)
							}
							if out != policy.Accept {
								err = b.Remember(e, out)
							}
							if err != nil {
								t.Fatal(err)
							}
							outs = append(outs, out)
						}
					}
					if together {
						r.batch(t, func(b Batch) { one(events[0])(b); one(events[1])(b) })
					} else {
						r.batch(t, one(events[0]))
						r.reopen(t)
						r.batch(t, one(events[1]))
					}
					want := []nostr.ID{c.del.ID}
					if !c.gone {
						want = append(want, c.target.ID)
					}
					got := r.query(t, nostr.Filter{IDs: idsOf(c.target, c.del)})
					slices.SortFunc(got, nostr.ID.Compare)
					slices.SortFunc(want, nostr.ID.Compare)
					if !slices.Equal(got, want) {
						t.Errorf("%d %s, deletion first %v, together %v: outcomes %v, %d events left", i, c.name, deletionFirst, together, outs, len(got))
					}
					if k := r.known(t, c.target.ID); c.gone && (k.State != store.Remembered || k.Why != policy.Deleted) {
						t.Errorf("%d %s: the target is known as %v", i, c.name, k)
					}
				}
			}
		}
	}},
	{"a newer version lives", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		old, del, new := Announcement(1, Start, "x", "old"), Deletion(1, Start+5, nostr.Tag{"a", Address(1, 30617, "x")}), Announcement(1, Start+6, "x", "new")
		r.add(t, policy.Accept, old, del, new)
		r.add(t, policy.Deleted, old, Announcement(1, Start+5, "x", "between"))
		wantIDs(t, "query", r.query(t, nostr.Filter{Kinds: []nostr.Kind{30617}}), idsOf(new))
	}},
	{"an earlier deletion that comes later takes nothing back", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		a := nostr.Tag{"a", Address(1, 30617, "x")}
		r.add(t, policy.Accept, Deletion(1, Start+5, a), Deletion(1, Start+2, a))
		r.add(t, policy.Deleted, Announcement(1, Start+4, "x", ""))
	}},
	{"the version before a deleted one does not come back", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		old, new := Announcement(1, Start, "x", "old"), Announcement(1, Start+1, "x", "new")
		r.add(t, policy.Accept, old, new, Deletion(1, Start+2, nostr.Tag{"e", new.ID.String()}))
		r.now += 30 * 24 * 3600
		r.add(t, policy.Superseded, old)
		r.add(t, policy.Deleted, new)
	}},
	{"deletions and requests to vanish cannot be deleted", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		del, vanish := Deletion(1, Start, nostr.Tag{"e", Start8}), Event(1, Start-1, 62, "", nostr.Tag{"relay", "ALL_RELAYS"})
		killer := Deletion(1, Start+1, nostr.Tag{"e", del.ID.String()}, nostr.Tag{"e", vanish.ID.String()})
		late := Event(2, Start-1, 62, "late", nostr.Tag{"relay", "ALL_RELAYS"})
		r.add(t, policy.Accept, del, vanish, killer, Deletion(2, Start+2, nostr.Tag{"e", late.ID.String()}), late)
		r.batch(t, func(b Batch) { purge(t, b) })
		if n := len(r.query(t, nostr.Filter{})); n != 5 {
			t.Errorf("%d events", n)
		}
	}},
	{"a deletion that names much is done in steps", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{DeleteAtOnce: 2})
		var here, later []*nostr.Event
		var names []nostr.Tag
		for i := range 10 {
			e := Event(1, Start, 1, fmt.Sprint(i))
			if i%2 == 0 {
				here = append(here, e)
			} else {
				later = append(later, e)
			}
			names = append(names, nostr.Tag{"e", e.ID.String()})
		}
		names = append(names, nostr.Tag{"a", Address(1, 10317, "")[:len(Address(1, 10317, ""))-1]}, nostr.Tag{"a", Address(1, 30618, "x")})
		r.add(t, policy.Accept, here...)
		others, root := Event(2, Start, 1, "not his"), Event(1, Start, 1621, "named as a root only")
		names = append(names, nostr.Tag{"e", others.ID.String()}, nostr.Tag{"E", root.ID.String()})
		r.add(t, policy.Accept, Deletion(1, Start+1, names...))
		r.add(t, policy.Accept, root)
		away := append(later, Event(1, Start+1, 10317, ""), Event(1, Start, 30618, "", nostr.Tag{"d", "x"}))
		r.add(t, policy.Deleted, away...)
		r.add(t, policy.Accept, others, Event(1, Start+2, 30618, "", nostr.Tag{"d", "x"}))
		if !purging(t, r) || len(r.query(t, nostr.Filter{Kinds: []nostr.Kind{1}})) != 5 {
			t.Errorf("a part of it is to be done: %d are left", len(r.query(t, nostr.Filter{Kinds: []nostr.Kind{1}})))
		}
		r.reopen(t)
		r.add(t, policy.Deleted, away...)
		r.batch(t, func(b Batch) { purge(t, b) })
		if n := len(r.query(t, nostr.Filter{Kinds: []nostr.Kind{1}})); purging(t, r) || n != 1 {
			t.Errorf("%d are left", n)
		}
		r.add(t, policy.Deleted, append(away, here...)...)
	}},
	{"a deletion that leaves before it is done", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{DeleteAtOnce: 1})
		a, b := Event(1, Start, 1, "a"), Event(1, Start, 1, "b")
		del := Deletion(1, Start+1, nostr.Tag{"e", a.ID.String()}, nostr.Tag{"e", b.ID.String()}, nostr.Tag{"expiration", fmt.Sprint(Start + 5)})
		r.add(t, policy.Accept, del)
		r.add(t, policy.Deleted, b)
		r.now += 10
		r.batch(t, func(batch Batch) {
			if _, n, err := batch.ExpireDue(time.Unix(r.now, 0), 10, nil); n != 1 || err != nil {
				t.Fatalf("%d expired, %v", n, err)
			}
		})
		if purging(t, r) {
			t.Error("there is something left to do")
		}
		r.add(t, policy.Deleted, a)
		r.add(t, policy.Accept, b)
	}},
	{"an author leaves so many marks", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{MaxMarks: 3})
		here := []*nostr.Event{Event(1, Start, 1, "0"), Event(1, Start, 1, "1"), Event(1, Start, 1, "2"), Event(1, Start, 1, "3")}
		r.add(t, policy.Accept, here...)
		name := func(n int) nostr.Tag { return nostr.Tag{"e", Event(1, Start, 1, fmt.Sprint("x", n)).ID.String()} }
		r.add(t, policy.Accept, Deletion(1, Start+1, name(0), name(1), nostr.Tag{"a", Address(1, 30618, "x")}, name(2)))
		r.reopen(t)
		// What is here is deleted, and stays away, whatever the number; so does what is marked already.
		r.add(t, policy.Accept, Deletion(1, Start+2, name(0), nostr.Tag{"e", here[0].ID.String()}, name(3), nostr.Tag{"e", here[1].ID.String()},
			nostr.Tag{"a", Address(1, 30618, "y")}, nostr.Tag{"a", Address(1, 30618, "x")}))
		r.add(t, policy.Deleted, here[0], here[1], Event(1, Start, 1, "x0"), Event(1, Start, 1, "x1"), Event(1, Start+2, 30618, "", nostr.Tag{"d", "x"}))
		r.add(t, policy.Accept, Event(1, Start, 1, "x2"), Event(1, Start, 1, "x3"), Event(1, Start, 30618, "", nostr.Tag{"d", "y"}))
		// Others have their own, and who vanished has them again.
		r.add(t, policy.Accept, Event(2, Start, 1, ""), Deletion(2, Start+1, nostr.Tag{"e", Event(2, Start, 1, "x").ID.String()}))
		r.add(t, policy.Deleted, Event(2, Start, 1, "x"))
		r.add(t, policy.Accept, Event(1, Start+3, 62, "", nostr.Tag{"relay", "ALL_RELAYS"}))
		r.batch(t, func(b Batch) { purge(t, b) })
		r.add(t, policy.Accept, Deletion(1, Start+5, nostr.Tag{"e", Event(1, Start+5, 1, "y").ID.String()}))
		r.add(t, policy.Deleted, Event(1, Start+5, 1, "y"))
	}},
	{"the feed tells of the deletion first", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		e := Event(1, Start, 1, "")
		head := r.add(t, policy.Accept, e)
		del := Deletion(1, Start, nostr.Tag{"e", e.ID.String()})
		r.add(t, policy.Accept, del)
		entries := feed(t, r, head, 10)
		if len(entries) != 2 || entries[0].Event == nil || entries[1].Removed != e.ID || entries[1].Reason != store.ReasonDeleted {
			t.Errorf("%+v", entries)
		}
	}},
}

// Start8 is an id that no event here has.
const Start8 = "00000000000000000000000000000000000000000000000000000000000000aa"
