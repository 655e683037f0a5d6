package gitplan

import (
	"time"

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/health"
	"github.com/graspd/graspd/internal/nip34"
)

// Stats are counts of what is planned.
type Stats struct {
	Lacking  int // repositories that lack something
	Fetching int // fetches under way
	Surveys  int // that wait
	Hosts    int // that are known
	Resting  int // of them, those that are left alone now
}

// Stats counts.
func (p *Plan) Stats(now health.Now) Stats {
	s := Stats{Lacking: len(p.repos), Fetching: len(p.fetches), Surveys: len(p.surveys), Hosts: max(len(p.hosts), len(p.allowances))}
	for _, h := range p.hosts {
		if h.until > now.Mono {
			s.Resting++
		}
	}
	return s
}

// Standing is how the search for what a repository lacks stands.
type Standing struct {
	Needs    int           // events whose data is looked for
	Next     time.Duration // from now until somebody is asked again; 0 for now, and where there is nobody to ask
	Fetching []grasp.Source
	Asked    map[grasp.Source]Asked
	Sources  []grasp.Source
}

// Standing tells of one repository; false for one that lacks nothing.
func (p *Plan) Standing(now health.Now, of nip34.Address) (s Standing, ok bool) {
	r := p.repos[of]
	if r == nil {
		return s, false
	}
	s = Standing{Needs: len(r.needs), Asked: map[grasp.Source]Asked{}, Sources: r.all()}
	if next := r.next(); next != never {
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

// Lacking are the addresses of up to most repositories that lack something.
func (p *Plan) Lacking(most int) (out []nip34.Address) {
	for of := range p.repos {
		if len(out) == most {
			break
		}
		out = append(out, of)
	}
	return out
}
