package store_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// generator makes events as a git relay has them: unevenly spread repositories, issues and patches with their comments
// and status events, every tag that indexes grow with.
type generator struct {
	r       *rand.Rand
	authors []nostr.PubKey
	repos   []string
	roots   []*nostr.Event
	now     int64
}

const words = "the store reads commit fix error when branch is not found in index file test for patch merge add remove key value func return if nil err package import struct type diff git main"

func newGenerator(repos int) *generator {
	g := &generator{r: rand.New(rand.NewPCG(1, 2)), now: 1_700_000_000}
	for range 2 * repos {
		var pk nostr.PubKey
		g.fill(pk[:])
		g.authors = append(g.authors, pk)
	}
	for i := range repos {
		g.repos = append(g.repos, "30617:"+g.authors[i].String()+":repository-"+hex.EncodeToString([]byte{byte(i >> 8), byte(i)}))
	}
	return g
}

func (g *generator) fill(b []byte) {
	for i := range b {
		b[i] = byte(g.r.Uint32())
	}
}

func (g *generator) text(n int) string {
	w := strings.Fields(words)
	var s strings.Builder
	for s.Len() < n {
		s.WriteString(w[g.r.IntN(len(w))])
		s.WriteByte(" \n"[g.r.IntN(8)/7])
	}
	return s.String()
}

func (g *generator) event() *nostr.Event {
	g.now += int64(g.r.IntN(60))
	e := &nostr.Event{PubKey: g.authors[g.r.IntN(len(g.authors))], CreatedAt: g.now - int64(g.r.IntN(1000))}
	repo := g.repos[g.r.IntN(1+g.r.IntN(len(g.repos)))]
	owner := repo[6:70]
	switch n := g.r.IntN(100); {
	case n < 25 || len(g.roots) < 100:
		e.Kind = 1617
		e.Content = "From " + g.text(1000+g.r.IntN(4000))
		e.Tags = nostr.Tags{{"a", repo}, {"r", repo[6:46]}, {"p", owner}, {"t", "root"}, {"commit", repo[6:46]}, {"parent-commit", repo[10:50]}}
		g.roots = append(g.roots, e)
	case n < 40:
		e.Kind = 1621
		e.Content = g.text(200 + g.r.IntN(1000))
		e.Tags = nostr.Tags{{"a", repo}, {"p", owner}, {"subject", g.text(30)}, {"t", "bug"}}
		g.roots = append(g.roots, e)
	case n < 75:
		root := g.roots[g.r.IntN(len(g.roots))]
		e.Kind = 1111
		e.Content = g.text(50 + g.r.IntN(500))
		id, p := root.ID.String(), root.PubKey.String()
		e.Tags = nostr.Tags{{"E", id, "wss://relay.example.org"}, {"K", "1621"}, {"P", p}, {"e", id}, {"k", "1621"}, {"p", p}, {"p", owner}, {"q", repo}}
	default:
		root := g.roots[g.r.IntN(len(g.roots))]
		e.Kind = 1630
		e.Tags = nostr.Tags{{"e", root.ID.String(), "", "root"}, {"p", owner}, {"p", root.PubKey.String()}, root.Tags[0], {"r", repo[6:46]}}
	}
	g.fill(e.Sig[:])
	e.ID = e.ComputeID()
	return e
}

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func open(tb testing.TB, o store.Options) *store.Store {
	tb.Helper()
	s, err := store.Open(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

func load(tb testing.TB, s *store.Store, events []*nostr.Event, batch int) {
	tb.Helper()
	for i := 0; i < len(events); i += batch {
		b, err := s.Begin()
		if err != nil {
			tb.Fatal(err)
		}
		for _, e := range events[i:min(i+batch, len(events))] {
			if out, err := b.Add(e, store.Catchup); err != nil || out != policy.Accept {
				tb.Fatal(out, err)
			}
		}
		if _, err := b.Commit(); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkDecide measures what a decision asks of the open batch, for each event that is then added.
func BenchmarkDecide(b *testing.B) {
	g := newGenerator(1000)
	s := open(b, store.Options{Dir: "data", FS: vfs.NewMem()})
	var announcements []*nostr.Event
	for i, r := range g.repos {
		e := &nostr.Event{PubKey: g.authors[i], CreatedAt: g.now, Kind: 30617, Tags: nostr.Tags{{"d", r[71:]}}, Content: r}
		e.ID = e.ComputeID()
		announcements = append(announcements, e)
	}
	load(b, s, announcements, 500)
	before := make([]*nostr.Event, 20_000)
	for i := range before {
		before[i] = g.event()
	}
	load(b, s, before, 500)
	for b.Loop() {
		batch, err := s.Begin()
		if err != nil {
			b.Fatal(err)
		}
		for range 500 {
			e := g.event()
			if _, err := batch.Outcome(e); err != nil {
				b.Fatal(err)
			}
			for _, ask := range []func() (bool, error){
				func() (bool, error) { return batch.Has(before[0].ID) },
				func() (bool, error) { return batch.HasAddress(g.repos[5]) },
				func() (bool, error) { return batch.Named(e.ID, "") },
				func() (bool, error) { return batch.HasAuthor(e.PubKey) },
			} {
				if _, err := ask(); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := batch.Announcements(g.repos[7][71:]); err != nil {
				b.Fatal(err)
			}
			if _, err := batch.Add(e, store.Catchup); err != nil {
				b.Fatal(err)
			}
		}
		batch.Discard()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/500, "µs/event")
}

func BenchmarkAppend(b *testing.B) {
	g := newGenerator(1000)
	events := make([]*nostr.Event, b.N)
	bytes := 0
	for i := range events {
		events[i] = g.event()
		bytes += events[i].Size()
	}
	s := open(b, store.Options{Dir: "data", FS: vfs.NewMem()})
	b.ResetTimer()
	before := cpu()
	load(b, s, events, 500)
	b.StopTimer()
	b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-µs/op")
	b.ReportMetric(float64(bytes)/float64(b.N), "json-B/op")
	store.Compact(s)
	var total uint64
	sizes := ""
	for _, t := range "abdegiklmt" {
		n := store.Size(s, byte(t))
		total += n
		sizes += fmt.Sprintf(" %c %.0f", t, float64(n)/float64(b.N))
	}
	if b.N > 1 {
		b.Log("bytes per event in table", sizes)
	}
	b.ReportMetric(float64(total)/float64(b.N), "disk-B/op")
}
