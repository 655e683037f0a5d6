package gitplan

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/health"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
)

// repo is a repository that lacks something.
type repo struct {
	of      nip34.Address
	needs   []need
	sources []grasp.Source
	since   health.Now // when something was lacked last that is new
	turns   map[grasp.Source]*turn
	ready   bool // it stands in its owner's queue
}

type need struct {
	Need
	due time.Duration // mono: not before
}

// turn is when a source is asked again for a repository.
type turn struct {
	next    time.Duration // mono: not before
	attempt int           // since something was lacked last that is new
	Asked
}

// Asked is what is known about a source of a repository.
type Asked struct {
	Last   time.Time // wall clock; zero: never
	Answer Answer
	Gave   bool // something became complete by it
}

func newRepo(of nip34.Address) *repo { return &repo{of: of, turns: map[grasp.Source]*turn{}} }

// lacks replaces what the repository lacks. Where something of that is new everybody is asked again soon. It reports whether somebody may
// have their turn earlier than before.
func (r *repo) lacks(now health.Now, l Lack) (earlier bool) {
	before, fresh := r.needs, false
	r.needs = nil
	for _, n := range l.Needs {
		due := now.Mono + max(n.After, 0)
		i := slices.IndexFunc(before, func(b need) bool { return b.Event == n.Event })
		if i >= 0 {
			earlier = earlier || due < before[i].due
			due = min(before[i].due, due)
		}
		fresh = fresh || i < 0 || !slices.Equal(before[i].Sources, n.Sources)
		r.needs = append(r.needs, need{n, due})
	}
	fresh = fresh || !slices.Equal(r.sources, l.Sources)
	r.sources = l.Sources
	known := r.all()
	for s := range r.turns {
		if !slices.Contains(known, s) {
			delete(r.turns, s)
		}
	}
	for _, s := range known {
		if r.turns[s] == nil {
			r.turns[s] = &turn{}
		}
	}
	if fresh {
		r.anew(now)
	}
	return earlier || fresh
}

// anew lets everybody be asked again as soon as anything is due.
func (r *repo) anew(now health.Now) {
	r.since = now
	for _, t := range r.turns {
		t.next, t.attempt = now.Mono, 0
	}
}

// hurry lets everything be looked for at once.
func (r *repo) hurry(now health.Now) {
	for i := range r.needs {
		r.needs[i].due = now.Mono
	}
	r.anew(now)
}

// next is when the first of the sources has its turn. There is one at least.
func (r *repo) next() (first time.Duration) {
	first = never
	for s, t := range r.turns {
		first = min(first, max(t.next, r.due(s)))
	}
	return first
}

// due is when the first of the needs is that a source may have.
func (r *repo) due(s grasp.Source) (first time.Duration) {
	first = never
	everything := slices.Contains(r.sources, s)
	for _, n := range r.needs {
		if everything || slices.Contains(n.Sources, s) {
			first = min(first, n.due)
		}
	}
	return first
}

// all are the sources of the repository and of what it lacks, each once.
func (r *repo) all() []grasp.Source {
	out := slices.Clone(r.sources)
	for _, n := range r.needs {
		for _, s := range n.Sources {
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// wanted are the events whose data may be at a source, of those that are due.
func (r *repo) wanted(now health.Now, s grasp.Source) (out []nostr.ID) {
	everything := slices.Contains(r.sources, s)
	for _, n := range r.needs {
		if n.due <= now.Mono && (everything || slices.Contains(n.Sources, s)) {
			out = append(out, n.Event)
		}
	}
	return out
}

// asked takes note that a source is being asked.
func (r *repo) asked(now health.Now, s grasp.Source, jitter float64) {
	t := r.turns[s]
	wait := LazyEvery
	if now.Since(r.since) < EagerFor {
		wait = min(firstWait<<min(t.attempt, 10), eagerWait)
	}
	t.attempt++
	t.next = now.Mono + wait + time.Duration(jitter*float64(wait)/8)
}

// ended takes note of what a source gave. What was too much is not sent again every two minutes.
func (r *repo) ended(now health.Now, f Fetch, o Outcome) {
	if t := r.turns[f.Source]; t != nil {
		t.Asked = Asked{Last: now.Wall, Answer: o.Answer, Gave: t.Gave || len(o.Brought) > 0}
		if o.Answer == TooMuch {
			t.next = max(t.next, now.Mono+LazyEvery)
		}
	}
	r.needs = slices.DeleteFunc(r.needs, func(n need) bool { return slices.Contains(o.Brought, n.Event) })
}
