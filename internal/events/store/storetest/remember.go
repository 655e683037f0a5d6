package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const day = 24 * 3600

var rememberCases = []testCase{
	{"in every scan that it would match, and in no query", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		e := Event(1, Start, 1621, "", nostr.Tag{"a", "1"}, nostr.Tag{"A", "2"}, nostr.Tag{"q", "3"}, nostr.Tag{"e", "4"}, nostr.Tag{"E", "5"},
			nostr.Tag{"d", "6"}, nostr.Tag{"p", "7"}, nostr.Tag{"a", "1"})
		r.remember(t, policy.Refuse, e)
		author := []nostr.PubKey{Author(1)}
		for _, f := range []nostr.Filter{
			{}, {IDs: idsOf(e)}, {Kinds: []nostr.Kind{1, 1621}}, {Authors: author}, {Authors: author, Kinds: []nostr.Kind{1621}},
			tagged('a', "1"), tagged('A', "2"), tagged('q', "3"), tagged('e', "4"), tagged('E', "x", "5"), tagged('d', "6"),
			{Tags: []nostr.TagFilter{{Name: 'a', Values: []string{"1"}}, {Name: 'd', Values: []string{"6"}}}, Authors: author, Kinds: []nostr.Kind{1621}, Since: ptr[int64](Start), Until: ptr[int64](Start)},
			{IDs: idsOf(e), Authors: author, Kinds: []nostr.Kind{1621}, Tags: tagged('a', "1").Tags},
		} {
			wantIDs(t, "flagged "+string(f.AppendJSON(nil)), r.pairs(t, f, true), idsOf(e))
			wantIDs(t, "not flagged "+string(f.AppendJSON(nil)), r.pairs(t, f, false), nil)
			wantIDs(t, "query "+string(f.AppendJSON(nil)), r.query(t, f), nil)
		}
		for _, f := range []nostr.Filter{
			{Kinds: []nostr.Kind{1}}, {Authors: []nostr.PubKey{Author(2)}}, {Since: ptr[int64](Start + 1)}, {Until: ptr[int64](Start - 1)},
			tagged('a', "2"), tagged('p', "7"), {IDs: []nostr.ID{{1}}}, {IDs: idsOf(e), Kinds: []nostr.Kind{1}}, {IDs: idsOf(e), Since: ptr[int64](Start + 1)},
			{Tags: []nostr.TagFilter{{Name: 'a', Values: []string{"1"}}, {Name: 'd', Values: []string{"1"}}}}, {Authors: []nostr.PubKey{Author(2)}, Tags: tagged('a', "1").Tags},
		} {
			wantIDs(t, "flagged "+string(f.AppendJSON(nil)), r.pairs(t, f, true), nil)
		}
		if n := len(feed(t, r, 0, 10)); n != 0 || r.Head() != 0 {
			t.Errorf("the feed has %d entries", n)
		}
	}},
	{"known for what it is", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		for i, why := range []policy.Outcome{policy.Refuse, policy.Unlisted, policy.Unrelated, policy.NoMaintainer, policy.Superseded, policy.Deleted, policy.Expired, policy.Vanished} {
			e := Event(1, Start, 1, fmt.Sprint(i))
			r.remember(t, why, e)
			if k := r.known(t, e.ID); k.State != store.Remembered || k.Why != why {
				t.Errorf("%v: known as %v", why, k)
			}
		}
		for i, why := range []policy.Outcome{policy.Accept, policy.Duplicate, policy.Discard, policy.Invalid} {
			e := Event(2, Start, 1, fmt.Sprint(i))
			r.remember(t, why, e)
			if k := r.known(t, e.ID); k.State != store.Unknown {
				t.Errorf("%v: known as %v", why, k)
			}
		}
	}},
	{"the last reason counts, and storing ends it", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		e := Event(1, Start, 1, "", nostr.Tag{"e", "x"})
		r.remember(t, policy.Unrelated, e)
		r.remember(t, policy.Refuse, e, e)
		if k := r.known(t, e.ID); k.Why != policy.Refuse {
			t.Errorf("known as %v", k)
		}
		if s := r.Stats(); s.Remembered != 1 || s.RememberedRows != 3 {
			t.Errorf("%+v", s)
		}
		r.add(t, policy.Accept, e)
		wantIDs(t, "pairs", r.pairs(t, nostr.Filter{}, true), idsOf(e))
		if s := r.Stats(); s.Remembered != 0 || s.RememberedRows != 0 {
			t.Errorf("%+v", s)
		}
		r.remember(t, policy.Refuse, e)
		if k := r.known(t, e.ID); k.State != store.Stored {
			t.Errorf("a stored event is known as %v", k)
		}
	}},
	{"of an event with too many tags the first are remembered, and no orphan is", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		var tags []nostr.Tag
		for i := range 64 {
			tags = append(tags, nostr.Tag{"e", fmt.Sprint(i)}, nostr.Tag{"p", fmt.Sprint(i)})
		}
		fits := Event(1, Start, 1, "", slices.Concat(tags, []nostr.Tag{{"e", "0"}})...)
		over := Event(1, Start, 1, "", slices.Concat(tags, []nostr.Tag{{"e", "64"}})...)
		r.remember(t, policy.Unrelated, fits, over)
		wantIDs(t, "pairs", r.pairs(t, nostr.Filter{}, true), idsOf(fits))
		r.remember(t, policy.Refuse, over)
		wantIDs(t, "pairs", r.pairs(t, nostr.Filter{}, true), idsOf(over, fits))
		by := func(value string) nostr.Filter {
			return nostr.Filter{Tags: []nostr.TagFilter{{Name: 'e', Values: []string{value}}}}
		}
		wantIDs(t, "by the last that is kept", r.pairs(t, by("63"), true), idsOf(over, fits))
		wantIDs(t, "by one more", r.pairs(t, by("64"), true), nil)
	}},
	{"for seven days and up to one more", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		const n = 50
		for i := range n {
			r.remember(t, policy.Refuse, Event(1, Start, 1, fmt.Sprint(i)))
		}
		left := func() int {
			r.add(t, policy.Accept, Event(2, r.now, 2, "")) // forgetting goes with a commit
			return len(r.pairs(t, nostr.Filter{Kinds: []nostr.Kind{1}}, true))
		}
		r.now += 7*day - 1
		if got := left(); got != n {
			t.Errorf("before 7 days: %d", got)
		}
		r.now += day / 2
		if got := left(); got == n || got == 0 {
			t.Errorf("after 7.5 days: %d; they should go one by one", got)
		}
		r.reopen(t)
		r.now += day/2 + 1
		if got := left(); got != 0 {
			t.Errorf("after 8 days: %d", got)
		}
	}},
	{"at most so many events, the oldest go first", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{MaxRemembered: 3})
		pinned := Announcement(9, Start, "x", "")
		r.add(t, policy.Accept, Announcement(9, Start-1, "x", ""))
		r.remember(t, policy.Withdraw, pinned) // and the version before
		var events []*nostr.Event
		for i := range 6 {
			r.now += 2 * day / 3 // beyond the spread
			e := Event(1, Start+int64(i), 1, fmt.Sprint(i))
			events = append(events, e)
			r.remember(t, policy.Refuse, e)
			r.now += 2 * day / 3
		}
		wantIDs(t, "left", r.pairs(t, nostr.Filter{}, true), idsOf(events[5], events[4], pinned))
		if s := r.Stats(); s.Remembered != 3 {
			t.Errorf("%+v", s)
		}
	}},
	{"at most so many rows", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{MaxRememberedRows: 14})
		for i := range 20 {
			r.remember(t, policy.Refuse, Event(1, Start, 1, fmt.Sprint(i), nostr.Tag{"e", "x"}))
		}
		if s := r.Stats(); s.Remembered != 4 || s.RememberedRows != 12 {
			t.Errorf("%+v", s)
		}
	}},
	{"other rules forget what was refused, and only that", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{Rules: "one"})
		refused, orphan := Event(1, Start, 1, "refused"), Event(1, Start+1, 1, "orphan")
		superseded, deleted := Event(1, Start+2, 1, "superseded"), Event(1, Start+3, 1, "deleted")
		ann, left := Announcement(1, Start+4, "x", ""), Announcement(1, Start+5, "x", "left")
		r.add(t, policy.Accept, ann)
		r.remember(t, policy.Withdraw, left)
		r.remember(t, policy.Refuse, refused)
		r.remember(t, policy.Unrelated, orphan)
		r.remember(t, policy.Superseded, superseded)
		r.remember(t, policy.Deleted, deleted)
		r.reopen(t)
		wantIDs(t, "same rules", r.pairs(t, nostr.Filter{}, true), idsOf(left, ann, deleted, superseded, orphan, refused))
		r.opt.Rules = "two"
		r.reopen(t)
		wantIDs(t, "other rules", r.pairs(t, nostr.Filter{}, true), idsOf(ann, deleted, superseded))
		wantIDs(t, "other rules, by id", r.pairs(t, nostr.Filter{IDs: idsOf(refused, deleted)}, true), idsOf(deleted))
		if k := r.known(t, refused.ID); k.State != store.Unknown {
			t.Errorf("known as %v", k)
		}
		r.add(t, policy.Superseded, ann) // no older version comes back
		r.remember(t, policy.Refuse, refused)
		r.opt.Rules = "one"
		r.reopen(t)
		if k := r.known(t, refused.ID); k.State != store.Unknown {
			t.Errorf("back to the first rules: known as %v", k)
		}
		r.add(t, policy.Accept, left)
	}},
	{"rules that change while the store is open", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{Rules: "one"})
		early, late, deleted := Event(1, Start, 1, "early"), Event(1, Start+1, 1, "late"), Event(1, Start+2, 1, "deleted")
		r.remember(t, policy.Refuse, early)
		r.remember(t, policy.Deleted, deleted)
		old := r.View()
		set := func(rules string, forget bool, also ...*nostr.Event) {
			t.Helper()
			r.batch(t, func(b Batch) {
				for _, e := range also {
					if err := b.Remember(e, policy.Refuse); err != nil {
						t.Fatal(err)
					}
				}
				if err := b.SetRules(rules, forget); err != nil {
					t.Fatal(err)
				}
				if k, err := b.Known(early.ID); err != nil || (k.State == store.Remembered) == forget {
					t.Errorf("in the batch: %v, %v", k, err)
				}
			})
		}
		set("stricter", false)
		wantIDs(t, "stricter", r.pairs(t, nostr.Filter{}, true), idsOf(deleted, early))
		r.opt.Rules = "stricter"
		old.Close()
		r.reopen(t)
		wantIDs(t, "stricter, opened again", r.pairs(t, nostr.Filter{}, true), idsOf(deleted, early))
		old = r.View()
		set("looser", true, late)
		wantIDs(t, "looser", r.pairs(t, nostr.Filter{}, true), idsOf(deleted))
		if k, err := old.Known(early.ID); err != nil || k.State != store.Remembered {
			t.Errorf("in the state of before: %v, %v", k, err)
		}
		r.remember(t, policy.Refuse, late)
		r.opt.Rules = "looser"
		old.Close()
		r.reopen(t)
		wantIDs(t, "looser, opened again", r.pairs(t, nostr.Filter{}, true), idsOf(deleted, late))
		r.batch(t, func(b Batch) {
			if err := b.SetRules("looser", true); err != nil || b.Len() != 0 {
				t.Errorf("the same rules: %d done, %v", b.Len(), err)
			}
		})
		wantIDs(t, "the same rules", r.pairs(t, nostr.Filter{}, true), idsOf(deleted, late))
	}},
	{"no rules leave alone what other rules refused", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		early, e := Event(1, Start, 1, "early"), Event(1, Start, 1, "")
		r.remember(t, policy.Refuse, early)
		r.opt.Rules = "one"
		r.reopen(t)
		wantIDs(t, "first rules", r.pairs(t, nostr.Filter{}, true), nil)
		r.remember(t, policy.Refuse, e)
		for _, rules := range []string{"", "one"} {
			r.opt.Rules = rules
			r.reopen(t)
			wantIDs(t, "rules "+rules, r.pairs(t, nostr.Filter{}, true), idsOf(e))
		}
	}},
}
