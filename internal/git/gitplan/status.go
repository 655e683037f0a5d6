package gitplan

import (
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// Stats counts what the plan knows.
type Stats struct {
	Lacking  int // repositories that lack something
	Fetching int // fetches under way
	Surveys  int // surveys that wait for their turn
	Hosts    int // hosts that the plan knows
	Resting  int // hosts that the plan leaves alone now
}

// Stats returns the counts.
func (p *Plan) Stats(now backoff.Now) Stats {
	s := Stats{Lacking: len(p.repos), Fetching: len(p.fetches), Surveys: len(p.surveys), Hosts: max(len(p.hosts), len(p.allowances))}
	for _, h := range p.hosts {
		if h.until > now.Mono {
			s.Resting++
		}
	}
	return s
}

// Standing says how far the search for a repository's missing data is.
type Standing struct {
	Needs    int           // events whose data is missing
	Next     time.Duration // from now until a source is asked again; 0 for now, and where there is no source
	Fetching []grasp.Source
	Asked    map[grasp.Source]Asked
	Sources  []grasp.Source
}

// Standing returns the standing of one repository; ok is false where it lacks nothing.
func (p *Plan) Standing(now backoff.Now, of nip34.Address) (s Standing, ok bool) {
	r := p.repos[of]
	if r == nil {
		return s, false
	}
	s = Standing{Needs: len(r.needs), Asked: map[grasp.Source]Asked{}, Sources: r.all()}
	if next := r.next(); next != backoff.Never {
		s.Next = max(0, next-now.Mono)
	}
	for source, t := range r.turns {
		s.Asked[source] = t.Asked
	}
	for _, f := range p.fetches {
		if f.Of == of {
			s.Fetching = append(s.Fetching, f.Source)
		}
	}
	return s, true
}

// Lacking returns the addresses of up to most repositories that lack something.
func (p *Plan) Lacking(most int) (out []nip34.Address) {
	for of := range p.repos {
		if len(out) == most {
			break
		}
		out = append(out, of)
	}
	return out
}

// Through reports of each repository that lacks something whether the search is through for now: every source has answered in order since the
// repository began to lack something new, or is useless, and none had it. The plan goes on asking them all the same.
func (p *Plan) Through(now backoff.Now) map[nip34.Address]bool {
	busy := map[nip34.Address]bool{}
	for _, f := range p.fetches {
		busy[f.Of] = true
	}
	out := make(map[nip34.Address]bool, len(p.repos))
	for of, r := range p.repos {
		out[of] = !busy[of] && r.through(now)
	}
	return out
}
