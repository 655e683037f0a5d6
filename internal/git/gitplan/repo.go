package gitplan

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// repo is a repository that lacks something.
type repo struct {
	of      nip34.Address
	needs   []need
	sources []grasp.Source
	since   backoff.Now // when the repository last began to lack something new
	turns   map[grasp.Source]*turn
	ready   bool          // it stands in its owner's queue
	at      time.Duration // mono: of its next round, as later has it
	place   int           // in later, from 1; 0 for none
}

type need struct {
	Need
	due  time.Duration // mono: not before
	most int           // how many events a fetch for this one may ask for, this one included; 0 is any number
	not  map[grasp.Source]rest
}

// rest says for how long the plan does not ask a source for an event whose data graspd has refused from it.
type rest struct {
	until time.Duration // mono
	wait  time.Duration
}

// mostRest is the longest rest. Rests begin with LazyEvery and double.
const mostRest = 6 * time.Hour

// turn says when the plan asks a source again for a repository. Events that one fetch cannot ask for together come in parts, one after the
// other.
type turn struct {
	host, server string        // of the source, without a port and with it
	next         time.Duration // mono: not before
	attempt      int           // rounds since repo.since
	open         bool          // in this round the source was not asked for all parts yet
	done         map[nostr.ID]bool
	began        time.Duration // mono: when the source was last asked since repo.since; 0: it was not
	stopped      time.Duration // mono: when its fetch was first stopped for others before its end; 0: it was not
	Asked
}

// Asked has what the plan knows about one source of a repository.
type Asked struct {
	Last    time.Time // wall clock; zero: never
	Answer  Answer
	Gave    bool // its data made some event complete
	Useless bool
}

func newRepo(of nip34.Address) *repo { return &repo{of: of, turns: map[grasp.Source]*turn{}} }

// lacks replaces what the repository lacks. Where some of it is new, the plan asks all sources again soon. It reports whether a source may have
// its turn earlier than before.
func (r *repo) lacks(now backoff.Now, l Lack) (earlier bool) {
	before, fresh := r.needs, false
	r.needs = nil
	for _, n := range l.Needs {
		x := need{Need: n, due: now.Mono + max(n.After, 0)}
		if n.Alone {
			x.most = 1
		}
		i := slices.IndexFunc(before, func(b need) bool { return b.Event == n.Event })
		if i >= 0 {
			earlier = earlier || x.due < before[i].due
			x.due, x.most, x.not = min(before[i].due, x.due), before[i].most, before[i].not
		}
		fresh = fresh || i < 0 || !slices.Equal(before[i].Sources, n.Sources)
		r.needs = append(r.needs, x)
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
			r.turns[s] = &turn{host: s.Host(), server: s.Server()}
		}
	}
	if fresh {
		r.anew(now)
	}
	return earlier || fresh
}

// anew gives every source a turn as soon as an event is due whose data it may have.
func (r *repo) anew(now backoff.Now) {
	r.since = now
	for _, t := range r.turns {
		t.next, t.attempt, t.open, t.began = now.Mono, 0, false, 0
	}
}

// hurry makes every need due now.
func (r *repo) hurry(now backoff.Now) {
	for i := range r.needs {
		r.needs[i].due = now.Mono
	}
	r.anew(now)
}

// next returns when the first of the sources has its turn. The repository must have a source.
func (r *repo) next() (first time.Duration) {
	first = backoff.Never
	for s, t := range r.turns {
		first = min(first, max(t.next, r.due(s)))
	}
	return first
}

// due returns when the first need is due that a source may have.
func (r *repo) due(s grasp.Source) (first time.Duration) {
	first = backoff.Never
	everything, t := slices.Contains(r.sources, s), r.turns[s]
	for _, n := range r.needs {
		if (everything || slices.Contains(n.Sources, s)) && !t.had(n.Event) {
			first = min(first, max(n.due, n.not[s].until))
		}
	}
	return first
}

// rank returns the rank of a source: the plan asks those of rank 0 first.
func (t *turn) rank() int {
	switch {
	case t.began == 0:
		return 0
	case t.open:
		return 1
	}
	return 2
}

// had reports whether the source was asked for an event in this round.
func (t *turn) had(id nostr.ID) bool { return t.open && t.done[id] }

// all returns the sources of the repository and of its needs, each once.
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

// wanted returns the due events to ask a source for: the first, and those that one fetch can ask for together with it.
func (r *repo) wanted(now backoff.Now, s grasp.Source) (out []nostr.ID) {
	most := -1
	for _, n := range r.eligible(now, s) {
		if most < 0 {
			most = n.most
		}
		if n.most == most && (most == 0 || len(out) < most) {
			out = append(out, n.Event)
		}
	}
	return out
}

func (r *repo) eligible(now backoff.Now, s grasp.Source) (out []need) {
	everything, t := slices.Contains(r.sources, s), r.turns[s]
	for _, n := range r.needs {
		if max(n.due, n.not[s].until) <= now.Mono && (everything || slices.Contains(n.Sources, s)) && !t.had(n.Event) {
			out = append(out, n)
		}
	}
	return out
}

// through reports whether every source has answered in order since something new was lacking, or is useless, and everything was due. A repository of which a
// fetch is under way is not through, whatever this says.
func (r *repo) through(now backoff.Now) bool {
	for _, n := range r.needs {
		if n.due > now.Mono {
			return false
		}
	}
	for _, t := range r.turns {
		if t.began == 0 || t.open || !t.Answer.inOrder() && !t.Useless {
			return false
		}
	}
	return true
}

// asked takes note of a fetch that begins. The round of a source is over when there is nothing else to ask it for.
func (r *repo) asked(now backoff.Now, s grasp.Source, events []nostr.ID, jitter float64) {
	t := r.turns[s]
	t.began = max(now.Mono, 1)
	if !t.open {
		t.open, t.done = true, map[nostr.ID]bool{}
	}
	for _, id := range events {
		t.done[id] = true
	}
	if t.next = now.Mono; len(r.eligible(now, s)) > 0 {
		return
	}
	wait := LazyEvery
	if now.Since(r.since) < EagerFor {
		wait = min(firstWait<<min(t.attempt, 10), eagerWait)
	}
	t.attempt++
	t.open, t.next = false, now.Mono+wait+time.Duration(jitter*float64(wait)/8)
}

// ended takes note of what a source gave.
func (r *repo) ended(now backoff.Now, f *running, o Outcome) {
	if t := r.turns[f.Source]; t != nil {
		t.Asked = Asked{Last: now.Wall, Answer: o.Answer, Gave: t.Gave || len(o.Brought) > 0, Useless: o.Useless}
		switch {
		case !f.evicted:
			t.stopped = 0
		case t.stopped == 0:
			t.stopped = max(now.Mono, 1)
		}
		switch o.Answer {
		case TooMuch:
			t.next = max(t.next, now.Mono+LazyEvery)
		case Refused:
			r.refused(now, t, f, o)
		}
	}
	r.needs = slices.DeleteFunc(r.needs, func(n need) bool { return slices.Contains(o.Brought, n.Event) })
}

// refused halves what one fetch asks for, after graspd has refused some of its data in the same round. An event that was refused by itself
// rests longer each time, and the plan never asks for it with others again.
func (r *repo) refused(now backoff.Now, t *turn, f *running, o Outcome) {
	for i := range r.needs {
		n := &r.needs[i]
		if !slices.Contains(f.Needs, n.Event) || slices.Contains(o.Brought, n.Event) {
			continue
		}
		if half := (len(f.Needs) + 1) / 2; n.most == 0 || n.most > half {
			n.most = half
		}
		if len(f.Needs) == 1 {
			wait := min(max(LazyEvery, 2*n.not[f.Source].wait), mostRest)
			if n.not == nil {
				n.not = map[grasp.Source]rest{}
			}
			n.not[f.Source] = rest{now.Mono + wait, wait}
			return
		}
		delete(t.done, n.Event)
		t.open, t.next = true, now.Mono
	}
}

// returns brings the turns of servers forward that are there again, and reports whether the repository has such a source.
func (r *repo) returns(back map[string]time.Duration) (some bool) {
	for _, t := range r.turns {
		if until, ok := back[t.server]; ok {
			t.next, some = min(t.next, until), true
		}
	}
	return some
}
