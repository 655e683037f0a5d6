package status

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
)

// Sight is what one look at the parts of this relay has found, for a Filling.
type Sight struct {
	At      time.Time
	Relays  []grasp.RelayURL // bootstrap relays with which the catch-up of Filling.Round is not through
	Git     bool             // this relay hosts repositories
	Waits   bool             // some event waits for git data
	Changed uint64           // the number of the last change of rows
	Looked  uint64           // up to which change the search for git data has looked what is missing; 0 before its first look at everything
	Served  int              // repositories
	Missing []Missing        // all that lack git data for which events of other relays wait, in any order; without Since and Lapsed
	Back    []string         // addresses of those of Filling.Lapsed that are served after all
}

// Filling follows how a relay fills itself from its bootstrap relays after a start, from look to look. In each round the relays answer all that
// is wanted of them; then the git data comes which waiting events name, or proves not to be had. What became served by that makes more wanted,
// so there is a further round. What comes later puts nothing off: nobody can keep a relay from being ready by announcing ever more.
type Filling struct {
	begun time.Time
	seen  Sight
	ready bool
	took  time.Duration

	round   uint64
	through bool            // the relays have answered everything in this round
	changed uint64          // the number of the last change when they had
	owed    map[string]bool // addresses of repositories for whose git data this round waits; nil before it has begun to
	waited  bool            // it has had to wait for some

	counted map[string]bool    // addresses of all repositories that were missing when a round looked
	known   map[string]Missing // what is missing, by address
	lapsed  map[string]Missing // what was given up, of those counted
}

// lastRound has only relays asked.
const lastRound = 2

// lapsedTold is for how long the operator hears of what was given up, and lapsedKept of how many repositories.
const (
	lapsedTold = 24 * time.Hour
	lapsedKept = 1000
)

// slack is how much before its time a wait may be found over.
const slack = time.Minute

// NewFilling returns the Filling of a relay that starts now.
func NewFilling(now time.Time) *Filling {
	return &Filling{begun: now, counted: map[string]bool{}, known: map[string]Missing{}, lapsed: map[string]Missing{}}
}

// Round returns the catch-up that the next Sight is about, from 0.
func (f *Filling) Round() uint64 { return f.round }

// Ready reports whether the relay is ready. Once it is, it stays so.
func (f *Filling) Ready() bool { return f.ready }

// Lapsed returns the addresses of repositories that were given up.
func (f *Filling) Lapsed() []string { return slices.Sorted(maps.Keys(f.lapsed)) }

// Look takes what was found.
func (f *Filling) Look(s Sight) {
	f.note(s)
	if f.ready || len(s.Relays) > 0 {
		return
	}
	if !f.through {
		f.through, f.changed = true, s.Changed
	}
	if s.Git && f.round < lastRound {
		if s.Waits && s.Looked < f.changed {
			return
		}
		if f.settle(s); len(f.owed) > 0 {
			return
		}
	}
	if !s.Git || f.round == lastRound || f.round > 0 && !f.waited {
		f.ready, f.took = true, s.At.Sub(f.begun)
		return
	}
	f.round, f.through, f.owed, f.waited = f.round+1, false, nil, false
}

// settle drops from what this round waits for what it need not wait for any more.
func (f *Filling) settle(s Sight) {
	open := map[string]bool{}
	for _, m := range s.Missing {
		if !m.Through {
			open[m.Address] = true
		}
	}
	if f.owed == nil {
		for _, m := range s.Missing {
			f.counted[m.Address] = true
		}
		f.owed, f.waited = open, len(open) > 0
		return
	}
	maps.DeleteFunc(f.owed, func(address string, _ bool) bool { return !open[address] })
}

// note keeps since when each repository is missing, and which were given up.
func (f *Filling) note(s Sight) {
	before := f.known
	f.seen, f.known = s, make(map[string]Missing, len(s.Missing))
	for _, m := range s.Missing {
		m.Since = Moment{s.At}
		if old, ok := before[m.Address]; ok {
			m.Since = old.Since
		}
		f.known[m.Address] = m
		delete(f.lapsed, m.Address)
		delete(before, m.Address)
	}
	for address, m := range before {
		if over := !m.Until.IsZero() && !s.At.Before(m.Until.Add(-slack)); over && f.counted[address] && len(f.lapsed) < lapsedKept {
			m.Lapsed = true
			f.lapsed[address] = m
		}
	}
	for _, address := range s.Back {
		delete(f.lapsed, address)
	}
	maps.DeleteFunc(f.lapsed, func(_ string, m Missing) bool { return s.At.Sub(m.Since.Time) > lapsedTold })
}

// Readiness returns how things stood at the last look.
func (f *Filling) Readiness() Readiness {
	r := Readiness{Ready: f.ready, Served: f.seen.Served, Announced: f.seen.Served, Relays: append([]grasp.RelayURL{}, f.seen.Relays...), Further: f.round > 0,
		Missing: []Missing{}, For: Seconds{f.took}}
	if f.ready {
		r.Relays = []grasp.RelayURL{}
	} else if !f.seen.At.IsZero() {
		r.For = Seconds{f.seen.At.Sub(f.begun)}
	}
	all := slices.AppendSeq(slices.Collect(maps.Values(f.known)), maps.Values(f.lapsed))
	slices.SortFunc(all, func(a, b Missing) int {
		return cmp.Or(a.Since.Compare(b.Since.Time), cmp.Compare(a.Address, b.Address))
	})
	for _, m := range all {
		if !m.Served {
			r.Announced++
		}
		take(&r.Missing, &r.More, m)
		if f.seen.At.Sub(m.Since.Time) >= lateAfter && (f.counted[m.Address] || !f.ready) {
			take(&r.Late, &r.LateMore, m)
		}
	}
	return r
}

// take adds one more to a list that has up to MissingTold.
func take(list *[]Missing, more *int, m Missing) {
	if len(*list) < MissingTold {
		*list = append(*list, m)
	} else {
		*more++
	}
}
