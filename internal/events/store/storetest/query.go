package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var queryCases = []testCase{
	{"every key of a filter", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		a := Event(1, Start, 1621, "a", nostr.Tag{"a", "x"}, nostr.Tag{"t", "bug", "unindexed"}, nostr.Tag{"p", ""})
		b := Event(2, Start+10, 1617, "b", nostr.Tag{"A", "x"}, nostr.Tag{"t", "bug"}, nostr.Tag{"t", "bug"}, nostr.Tag{"t"}, nostr.Tag{"title", "bug"})
		c := Event(2, Start+20, 1621, "c", nostr.Tag{"a", "y"}, nostr.Tag{"t", "Bug"})
		r.add(t, policy.Accept, a, b, c)
		for _, q := range []struct {
			name string
			f    nostr.Filter
			want []*nostr.Event
		}{
			{"everything", nostr.Filter{}, []*nostr.Event{c, b, a}},
			{"id", nostr.Filter{IDs: []nostr.ID{a.ID, c.ID, a.ID, {7}}}, []*nostr.Event{c, a}},
			{"id and kind", nostr.Filter{IDs: []nostr.ID{a.ID, b.ID}, Kinds: []nostr.Kind{1617}}, []*nostr.Event{b}},
			{"id and tag", nostr.Filter{IDs: []nostr.ID{a.ID, b.ID}, Tags: tagged('A', "x").Tags}, []*nostr.Event{b}},
			{"id and author", nostr.Filter{IDs: []nostr.ID{a.ID, b.ID}, Authors: []nostr.PubKey{Author(1)}}, []*nostr.Event{a}},
			{"id out of time", nostr.Filter{IDs: []nostr.ID{a.ID}, Since: ptr[int64](Start + 1)}, nil},
			{"author", nostr.Filter{Authors: []nostr.PubKey{Author(2)}}, []*nostr.Event{c, b}},
			{"authors", nostr.Filter{Authors: []nostr.PubKey{Author(2), Author(1), Author(9)}}, []*nostr.Event{c, b, a}},
			{"kind", nostr.Filter{Kinds: []nostr.Kind{1621, 1621}}, []*nostr.Event{c, a}},
			{"author and kind", nostr.Filter{Authors: []nostr.PubKey{Author(2)}, Kinds: []nostr.Kind{1621, 1}}, []*nostr.Event{c}},
			{"tag", tagged('t', "bug"), []*nostr.Event{b, a}},
			{"tag values", tagged('t', "bug", "Bug", "none"), []*nostr.Event{c, b, a}},
			{"lower-case tag is not the upper-case one", tagged('a', "x"), []*nostr.Event{a}},
			{"upper-case tag is not the lower-case one", tagged('A', "x"), []*nostr.Event{b}},
			{"empty value", tagged('p', ""), []*nostr.Event{a}},
			{"only the first value counts", tagged('t', "unindexed"), nil},
			{"two tags", nostr.Filter{Tags: []nostr.TagFilter{{Name: 't', Values: []string{"bug", "Bug"}}, {Name: 'a', Values: []string{"y", "x"}}}}, []*nostr.Event{c, a}},
			{"tag and author", nostr.Filter{Authors: []nostr.PubKey{Author(2)}, Tags: tagged('t', "bug").Tags}, []*nostr.Event{b}},
			{"tag and kind", nostr.Filter{Kinds: []nostr.Kind{1621}, Tags: tagged('t', "bug").Tags}, []*nostr.Event{a}},
			{"since is inclusive", nostr.Filter{Since: ptr[int64](Start + 10)}, []*nostr.Event{c, b}},
			{"until is inclusive", nostr.Filter{Until: ptr[int64](Start + 10)}, []*nostr.Event{b, a}},
			{"since and until", nostr.Filter{Kinds: []nostr.Kind{1617, 1621}, Since: ptr[int64](Start + 1), Until: ptr[int64](Start + 19)}, []*nostr.Event{b}},
			{"since after until", nostr.Filter{Since: ptr[int64](Start + 10), Until: ptr[int64](Start)}, nil},
			{"from the beginning of time to its end", nostr.Filter{Since: ptr[int64](math.MinInt64), Until: ptr[int64](math.MaxInt64)}, []*nostr.Event{c, b, a}},
			{"before time", nostr.Filter{Until: ptr[int64](-1)}, nil},
			{"limit", nostr.Filter{Limit: ptr(2)}, []*nostr.Event{c, b}},
			{"limit 0", nostr.Filter{Limit: ptr(0)}, nil},
			{"limit below 0", nostr.Filter{Limit: ptr(-1)}, nil},
			{"limit after the last condition", nostr.Filter{Kinds: []nostr.Kind{1621}, Tags: tagged('t', "bug", "Bug").Tags, Limit: ptr(2)}, []*nostr.Event{c, a}},
			{"no ids", nostr.Filter{IDs: []nostr.ID{}}, nil},
			{"no authors", nostr.Filter{Authors: []nostr.PubKey{}}, nil},
			{"no kinds", nostr.Filter{Kinds: []nostr.Kind{}}, nil},
			{"no values", tagged('t'), nil},
		} {
			wantIDs(t, q.name, r.query(t, q.f), idsOf(q.want...))
			wantIDs(t, q.name+", pairs", r.pairs(t, q.f, false), idsOf(q.want...))
		}
	}},
	{"a tag in both cases of its name", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		lower := Event(1, Start, 1111, "", nostr.Tag{"e", "x"})
		upper := Event(1, Start+1, 1111, "", nostr.Tag{"E", "x"})
		both := Event(1, Start+2, 1111, "", nostr.Tag{"E", "x"}, nostr.Tag{"e", "x"})
		apart := Event(1, Start+3, 1111, "", nostr.Tag{"E", "x"}, nostr.Tag{"e", "y"})
		r.add(t, policy.Accept, lower, upper, both, apart)
		refused := Event(1, Start+4, 1111, "", nostr.Tag{"E", "x"}, nostr.Tag{"e", "y"})
		r.remember(t, policy.Refuse, refused)
		and := nostr.Filter{Tags: []nostr.TagFilter{{Name: 'e', Values: []string{"x", "y"}}, {Name: 'E', Values: []string{"x"}}}}
		wantIDs(t, "lower", r.query(t, tagged('e', "x")), idsOf(both, lower))
		wantIDs(t, "upper", r.query(t, tagged('E', "x")), idsOf(apart, both, upper))
		wantIDs(t, "both", r.query(t, and), idsOf(apart, both))
		wantIDs(t, "of what is remembered, lower", r.pairs(t, tagged('e', "x"), true), idsOf(both, lower))
		wantIDs(t, "of what is remembered, upper", r.pairs(t, tagged('E', "x"), true), idsOf(refused, apart, both, upper))
	}},
	{"many tags in both cases of their names", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		var tags []nostr.Tag
		for i := range 40 {
			tags = append(tags, nostr.Tag{"p", fmt.Sprint(i)})
		}
		for i := range 40 {
			tags = append(tags, nostr.Tag{"P", fmt.Sprint(i)}, nostr.Tag{"P", fmt.Sprint(100 + i)})
		}
		e := Event(1, Start, 1111, "", tags...)
		r.add(t, policy.Accept, e)
		for i := range 40 {
			wantIDs(t, "lower", r.query(t, tagged('p', fmt.Sprint(i))), idsOf(e))
			wantIDs(t, "upper", r.query(t, tagged('P', fmt.Sprint(i))), idsOf(e))
			wantIDs(t, "upper alone", r.query(t, tagged('P', fmt.Sprint(100+i))), idsOf(e))
			wantIDs(t, "not lower", r.query(t, tagged('p', fmt.Sprint(100+i))), nil)
		}
	}},
	{"what authors wrote, of usual and of unusual kinds", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		var all []*nostr.Event
		var authors []nostr.PubKey
		for a := range byte(20) {
			authors = append(authors, Author(a))
			for i, k := range []nostr.Kind{1, 2, 1111, 1621, 1622, 20_000, 65_535} {
				e := Event(a, Start+int64(i), k, "")
				all = append(all, e)
			}
		}
		r.add(t, policy.Accept, all...)
		slices.SortFunc(all, func(a, b *nostr.Event) int { return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), a.ID.Compare(b.ID)) })
		of := func(want func(*nostr.Event) bool) []nostr.ID {
			return idsOf(slices.DeleteFunc(slices.Clone(all), func(e *nostr.Event) bool { return !want(e) })...)
		}
		odd := []nostr.Kind{65_535, 1111, 2, 1, 7}
		many := slices.Clone(odd)
		for k := range nostr.Kind(200) {
			many = append(many, 3000+k)
		}
		isOdd := func(e *nostr.Event) bool { return slices.Contains(odd, e.Kind) }
		wantIDs(t, "everything", r.query(t, nostr.Filter{}), idsOf(all...))
		wantIDs(t, "one author", r.query(t, nostr.Filter{Authors: authors[3:4]}), of(func(e *nostr.Event) bool { return e.PubKey == authors[3] }))
		wantIDs(t, "all authors", r.query(t, nostr.Filter{Authors: authors}), idsOf(all...))
		wantIDs(t, "many kinds of all authors", r.query(t, nostr.Filter{Authors: authors, Kinds: many}), of(isOdd))
		wantIDs(t, "of all authors, since", r.query(t, nostr.Filter{Authors: authors, Since: ptr[int64](Start + 5)}),
			of(func(e *nostr.Event) bool { return e.CreatedAt >= Start+5 }))
	}},
	{"newest first, lowest id first within a second", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		var events []*nostr.Event
		for i := range 200 {
			events = append(events, Event(byte(i%7), Start+int64(i%5), nostr.Kind(1+i%2), fmt.Sprint(i), nostr.Tag{"t", fmt.Sprint(i % 3)}))
		}
		r.add(t, policy.Accept, events...)
		slices.SortFunc(events, func(a, b *nostr.Event) int {
			return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), a.ID.Compare(b.ID))
		})
		for _, f := range []nostr.Filter{{}, {Kinds: []nostr.Kind{1, 2}}, tagged('t', "0", "1", "2"), {IDs: idsOf(events...)}} {
			wantIDs(t, string(f.AppendJSON(nil)), r.query(t, f), idsOf(events...))
			for _, n := range []int{1, 39, 40, 41, 199} {
				f.Limit = &n
				wantIDs(t, string(f.AppendJSON(nil)), r.query(t, f), idsOf(events[:n]...))
			}
		}
	}},
	{"thousands of events of one second", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		n := 10_000
		if UnderRace {
			n = 1_500
		}
		ids := make([]nostr.ID, 0, n)
		for i := 0; i < n; i += 500 {
			r.batch(t, func(b Batch) {
				for j := range 500 {
					e := Event(byte(j), Start, 1621, fmt.Sprint(i, j), nostr.Tag{"a", "x"})
					add(t, b, policy.Accept, e, j)
					ids = append(ids, e.ID)
				}
			})
		}
		slices.SortFunc(ids, nostr.ID.Compare)
		f := tagged('a', "x")
		wantIDs(t, "all pairs", r.pairs(t, f, true), ids)
		f.Limit = ptr(500)
		wantIDs(t, "the first 500", r.query(t, f), ids[:500])
	}},
	{"an event with many matching tags comes once", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		var tags []nostr.Tag
		var values []string
		for i := range 500 {
			values = append(values, fmt.Sprint(i))
			tags = append(tags, nostr.Tag{"p", values[i]}, nostr.Tag{"p", values[i]})
		}
		e := Event(1, Start, 1, "", tags...)
		r.add(t, policy.Accept, e)
		wantIDs(t, "query", r.query(t, tagged('p', values...)), idsOf(e))
	}},
	{"a query can be left and resumed by time", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		for i := range 30 {
			r.add(t, policy.Accept, Event(1, Start+int64(i), 1, ""))
		}
		v := r.View()
		defer v.Close()
		n := 0
		for _, err := range v.Query(t.Context(), nostr.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 3 {
				break
			}
		}
		if got := queryIDs(t, v, nostr.Filter{Until: ptr[int64](Start + 26)}); len(got) != 27 {
			t.Errorf("%d events left", len(got))
		}
	}},
	{"a cancelled query ends with the cause", func(t *testing.T, d Disk) {
		if _, naive := d.(*ModelDisk); naive {
			t.Skip("the model does not wait for anything")
		}
		r := newRig(t, d, store.Options{})
		r.add(t, policy.Accept, Event(1, Start, 1, ""))
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("client left")
		cancel(cause)
		v := r.View()
		defer v.Close()
		for _, f := range []nostr.Filter{{}, {IDs: []nostr.ID{{1}}}} {
			var last error
			for _, err := range v.Query(ctx, f) {
				last = err
			}
			if !errors.Is(last, cause) {
				t.Errorf("%s: %v", f.AppendJSON(nil), last)
			}
		}
	}},
	{"get", func(t *testing.T, d Disk) {
		r := newRig(t, d, store.Options{})
		e := Event(1, Start, 1, "text \"quoted\"\n", nostr.Tag{"t", "é"})
		r.add(t, policy.Accept, e)
		r.reopen(t)
		v := r.View()
		defer v.Close()
		got, ok, err := v.Get(e.ID)
		if err != nil || !ok || string(got.AppendJSON(nil)) != string(e.AppendJSON(nil)) {
			t.Errorf("%v %v %v", got, ok, err)
		}
		if _, ok, err := v.Get(nostr.ID{1}); ok || err != nil {
			t.Errorf("unknown id: %v %v", ok, err)
		}
	}},
}
