package store_test

import (
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const benchEvents = 150_000

// loaded is a store of 150,000 events, made once for all benchmarks of a run.
var loaded = sync.OnceValue(func() *bench {
	g := newGenerator(1000)
	events := make([]*nostr.Event, benchEvents)
	for i := range events {
		events[i] = g.event()
	}
	s, err := store.Open(store.Options{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		panic(err)
	}
	load(&testing.B{}, s, events, 500)
	return &bench{g, s}
})

type bench struct {
	*generator
	s *store.Store
}

func ptr[T any](v T) *T { return &v }

// BenchmarkQuery measures the shapes of filters that clients and other relays send; every event is read.
func BenchmarkQuery(b *testing.B) {
	l := loaded()
	ids := func(n int) (ids []nostr.ID, hex []string) {
		for i := range n {
			id := l.roots[i*len(l.roots)/n].ID
			ids, hex = append(ids, id), append(hex, id.String())
		}
		return ids, hex
	}
	someIDs, someHex := ids(500)
	tag := func(name byte, v ...string) []nostr.TagFilter { return []nostr.TagFilter{{Name: name, Values: v}} }
	for _, c := range []struct {
		name string
		f    nostr.Filter
	}{
		{"newest500", nostr.Filter{Limit: ptr(500)}},
		{"kind", nostr.Filter{Kinds: []nostr.Kind{1621}, Limit: ptr(500)}},
		{"fiveKinds", nostr.Filter{Kinds: []nostr.Kind{1617, 1621, 1111, 1630, 1618}, Limit: ptr(500)}},
		{"author", nostr.Filter{Authors: l.authors[:1], Limit: ptr(500)}},
		{"repositoryNewest20", nostr.Filter{Tags: tag('a', l.repos[0]), Limit: ptr(20)}},
		{"repositoryIssues", nostr.Filter{Tags: tag('a', l.repos[0]), Kinds: []nostr.Kind{1621}, Limit: ptr(500)}},
		{"repositories100", nostr.Filter{Tags: tag('a', l.repos[:100]...), Limit: ptr(500)}},
		{"roots500", nostr.Filter{Tags: tag('e', someHex...), Limit: ptr(500)}},
		{"absent500", nostr.Filter{Tags: tag('E', l.repos[:500]...), Limit: ptr(500)}},
		{"ids500", nostr.Filter{IDs: someIDs, Limit: ptr(500)}},
		{"authorsAndTag", nostr.Filter{Authors: l.authors[:3], Tags: tag('t', "bug"), Limit: ptr(500)}},
		{"twoTags", nostr.Filter{Tags: append(tag('t', "bug"), tag('a', l.repos[900])...), Limit: ptr(500)}},
		{"twoCommonTagsRarelyTogether", nostr.Filter{Tags: append(tag('t', "bug"), tag('k', "1621")...), Limit: ptr(500)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				n = 0
				v := l.s.View()
				for _, err := range v.Query(b.Context(), c.f) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				v.Close()
			}
			b.ReportMetric(float64(n), "events")
		})
	}
}

// BenchmarkAbout measures a page of what is about some events or repositories: at most 500 events, each read.
func BenchmarkAbout(b *testing.B) {
	l := loaded()
	var roots []nostr.ID
	for i := range 100 {
		roots = append(roots, l.roots[i*len(l.roots)/100].ID)
	}
	for _, c := range []struct {
		name      string
		ids       []nostr.ID
		addresses []string
	}{
		{"roots100", roots, nil},
		{"repositories1", nil, l.repos[:1]},
		{"repositories100", nil, l.repos[:100]},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				n = 0
				v := l.s.View()
				for _, err := range v.About(b.Context(), c.ids, c.addresses) {
					if err != nil {
						b.Fatal(err)
					}
					if n++; n == 500 {
						break
					}
				}
				v.Close()
			}
			b.ReportMetric(float64(n), "events")
		})
	}
}

// BenchmarkPairs measures what a reconciliation reads.
func BenchmarkPairs(b *testing.B) {
	l := loaded()
	tag := func(name byte, v ...string) []nostr.TagFilter { return []nostr.TagFilter{{Name: name, Values: v}} }
	for _, c := range []struct {
		name string
		f    nostr.Filter
	}{
		{"everything", nostr.Filter{}},
		{"kind", nostr.Filter{Kinds: []nostr.Kind{1111}}},
		{"repositories100", nostr.Filter{Tags: tag('a', l.repos[:100]...)}},
		{"repositoriesAndKinds", nostr.Filter{Tags: tag('a', l.repos[:100]...), Kinds: []nostr.Kind{1617, 1621}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				n = 0
				v := l.s.View()
				for _, err := range v.Pairs(b.Context(), c.f, true) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				v.Close()
			}
			b.ReportMetric(float64(n), "pairs")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(max(n, 1)), "ns/pair")
		})
	}
}

// BenchmarkMarks measures the local set of 100 new root events, which nobody names, and beside it that of 100 that are named.
func BenchmarkMarks(b *testing.B) {
	l := loaded()
	var named, alone []string
	for i := range 100 {
		named = append(named, l.roots[i*len(l.roots)/100].ID.String())
		alone = append(alone, nostr.ID{byte(i), 1}.String())
	}
	for name, values := range map[string][]string{"named": named, "alone": alone} {
		b.Run(name, func(b *testing.B) {
			f := nostr.Filter{Tags: []nostr.TagFilter{{Name: 'e', Values: values}}}
			n := 0
			for b.Loop() {
				n = 0
				v := l.s.View()
				for _, err := range v.Marks(b.Context(), f) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				v.Close()
			}
			b.ReportMetric(float64(n), "marks")
		})
	}
}

// BenchmarkCount measures what a step of Count's work takes: rows, places looked up, events read, and filters together.
func BenchmarkCount(b *testing.B) {
	l := loaded()
	everything, authors := nostr.Filter{}, nostr.Filter{Authors: l.authors[:min(len(l.authors), 500)]}
	for _, c := range []struct {
		name    string
		filters []nostr.Filter
	}{
		{"everything", []nostr.Filter{everything}},
		{"everythingThrice", []nostr.Filter{everything, everything, everything}},
		{"authorsOfKind", []nostr.Filter{{Authors: authors.Authors, Kinds: []nostr.Kind{1111, 1621, 7}}}},
		{"byEvent", []nostr.Filter{{Authors: authors.Authors, Tags: []nostr.TagFilter{{Name: 'a', Values: l.repos[:min(len(l.repos), 100)]}}}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			v := l.s.View()
			defer v.Close()
			for b.Loop() {
				if _, err := v.Count(b.Context(), c.filters); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
