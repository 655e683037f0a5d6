package gitsync

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/histogram"
	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/git/gitplan"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// pagesKept is the number of repositories that the log has a page of. The page touched longest ago goes first.
const pagesKept = 10_000

// textBytes is how many bytes the log has of each error.
const textBytes = 200

// fetchLog has a page for each repository with what it lacks and how servers have answered, for people to read. graspd decides nothing by it.
type fetchLog struct {
	mu   sync.Mutex
	of   map[nip34.Address]*page
	turn uint64
}

type page struct {
	turn    uint64 // the turn in which the page was touched last
	lacks   []Lacking
	sources map[Source]Answer
}

// Lacking is missing git data, and the event that names it.
type Lacking struct {
	Event   string
	Objects int
	Tip     bool
	Waits   bool // the event is not served as long as its data is missing
	Pushed  bool // a client brought the event, and will probably push the data
}

// Answer is the last answer of a server.
type Answer struct {
	At    time.Time
	Error string // "" where it answered
	Text  string // how its refs differ from those here; "" where they do not
}

func (b *fetchLog) init() { b.of = map[nip34.Address]*page{} }

func (b *fetchLog) page(of nip34.Address) *page {
	p := b.of[of]
	if p == nil {
		if len(b.of) >= pagesKept {
			b.drop()
		}
		p = &page{sources: map[Source]Answer{}}
		b.of[of] = p
	}
	b.turn++
	p.turn = b.turn
	return p
}

// drop forgets a tenth of the pages, those touched longest ago.
func (b *fetchLog) drop() {
	turns := make([]uint64, 0, len(b.of))
	for _, p := range b.of {
		turns = append(turns, p.turn)
	}
	slices.Sort(turns)
	before := turns[len(turns)/10]
	for of, p := range b.of {
		if p.turn <= before {
			delete(b.of, of)
		}
	}
}

// looked writes down what a repository lacks.
func (b *fetchLog) looked(l refdb.Lack) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !l.Hosted {
		delete(b.of, l.Of)
		return
	}
	if len(l.Needs) == 0 && b.of[l.Of] == nil {
		return
	}
	p := b.page(l.Of)
	p.lacks = nil
	for _, n := range l.Needs {
		p.lacks = append(p.lacks, Lacking{Event: n.Event.String(), Objects: len(n.IDs), Tip: n.Tip, Waits: n.Came != 0, Pushed: n.Pushed})
	}
	known := map[Source]bool{}
	for _, s := range l.Sources {
		known[s] = true
	}
	for _, n := range l.Needs {
		for _, s := range n.Sources {
			known[s] = true
		}
	}
	for s := range p.sources {
		if !known[s] {
			delete(p.sources, s)
		}
	}
}

// noted writes down how a server answered.
func (b *fetchLog) noted(f gitplan.Fetch, at time.Time, err error, text string) {
	if errors.Is(err, context.Canceled) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	a := Answer{At: at, Text: text}
	if err != nil {
		a.Error, _ = safetext.Cut(safetext.Printable(err.Error()), textBytes)
	}
	b.page(f.Of).sources[f.Source] = a
}

// Standing says what a repository lacks, and how other servers have answered.
type Standing struct {
	Of      nip34.Address
	Lacks   []Lacking
	Sources []SourceStanding
	Next    time.Duration // from now until a source is asked again; 0 for now, and where there is no source
}

// SourceStanding says what the plan and the log know about one source of a repository.
type SourceStanding struct {
	Source
	Fetching bool
	Answer   // with a zero time where the server was not asked yet
}

// Standing returns the standing of one repository. It asks the goroutine of Run, and blocks until that answers or ctx ends.
func (s *Sync) Standing(ctx context.Context, of nip34.Address) Standing {
	out := Standing{Of: of}
	q := standingAsk{of, make(chan standing, 1)}
	var now standing
	select {
	case s.told <- q:
		now = <-q.answer
	case <-s.over:
	case <-ctx.Done():
	}
	out.Next = now.Next
	s.fetchLog.mu.Lock()
	defer s.fetchLog.mu.Unlock()
	answers := map[Source]Answer{}
	if p := s.fetchLog.of[of]; p != nil {
		out.Lacks = slices.Clone(p.lacks)
		for source, a := range p.sources {
			answers[source] = a
		}
	}
	for _, source := range now.Sources {
		if _, ok := answers[source]; !ok {
			answers[source] = Answer{}
		}
	}
	for source, a := range answers {
		out.Sources = append(out.Sources, SourceStanding{source, slices.Contains(now.Fetching, source), a})
	}
	slices.SortFunc(out.Sources, func(a, b SourceStanding) int { return cmp.Compare(a.Source, b.Source) })
	return out
}

// Lacking returns up to most of the repositories that lack something or differ from another server, and how many there are in all.
func (s *Sync) Lacking(most int) (list []nip34.Address, all int) {
	s.fetchLog.mu.Lock()
	defer s.fetchLog.mu.Unlock()
	for of, p := range s.fetchLog.of {
		if len(p.lacks) > 0 {
			all++
			list = append(list, of)
		}
	}
	slices.SortFunc(list, func(a, b nip34.Address) int { return cmp.Compare(a.String(), b.String()) })
	return list[:min(len(list), most)], all
}

// all returns the repositories that the log has a page of.
func (b *fetchLog) all() []nip34.Address {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]nip34.Address, 0, len(b.of))
	for of := range b.of {
		out = append(out, of)
	}
	return out
}

// awaited returns the repositories that lack data for which an event waits that no client will push.
func (b *fetchLog) awaited() (out []nip34.Address) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for of, p := range b.of {
		if slices.ContainsFunc(p.lacks, func(l Lacking) bool { return l.Waits && !l.Pushed }) {
			out = append(out, of)
		}
	}
	return out
}

// Stats has figures since the start, and of now.
type Stats struct {
	Plan           gitplan.Stats
	Fetches        uint64 // fetches that have ended, also those that failed
	Failed         uint64 // fetches that have failed
	Bytes          uint64 // bytes that servers have sent
	Brought        uint64 // events whose git data became complete
	Surveys        uint64
	Sweeps         uint64 // over all repositories
	Swept, ToSweep int64  // repositories of the sweep under way, or the last

	Took, TookFailed histogram.Counts // how long fetches took that graspd did not stop
}

// Stats returns the figures.
func (s *Sync) Stats() Stats {
	var out Stats
	answer := make(chan Stats, 1)
	select {
	case s.asks <- answer:
		out = <-answer
	case <-s.over:
	}
	c := &s.counts
	out.Fetches, out.Failed, out.Bytes, out.Brought, out.Surveys = c.fetches.Load(), c.failed.Load(), c.bytes.Load(), c.brought.Load(), c.surveys.Load()
	out.Sweeps, out.Swept, out.ToSweep = c.sweeps.Load(), c.swept.Load(), c.toSweep.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	out.Took, out.TookFailed = c.took[0], c.took[1]
	return out
}
