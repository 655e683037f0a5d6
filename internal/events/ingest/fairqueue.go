package ingest

import "github.com/graspd/graspd/internal/base/fair"

// syncPart is the part of the turns, one in so many, for sources of the sync engine while clients want all turns. So clients, who wait for
// answers, go first, but they cannot bring syncing to a halt.
const syncPart = 8

// fairQueue holds the sources that have something to do, and gives each its turn: direct ones first, but one turn in syncPart to the others,
// and within each kind party by party. A source stands in it at most once; callers of push see to that.
type fairQueue struct {
	direct, others fair.Turns[*party, *Source]
	streak         int // turns in a row that direct sources had while others waited
}

func (t *fairQueue) push(s *Source) { t.turns(s).Push(s.party, s) }

// charge says that a turn of a source took as long as so many more.
func (t *fairQueue) charge(s *Source, turns int) { t.turns(s).Charge(s.party, turns) }

func (t *fairQueue) turns(s *Source) *fair.Turns[*party, *Source] {
	if s.conf.Direct {
		return &t.direct
	}
	return &t.others
}

// pop takes the source whose turn it is; nil if there is none. With onlyBeside, others than direct ones have turns only while direct ones
// wait.
func (t *fairQueue) pop(onlyBeside bool) *Source {
	switch {
	case len(t.direct.Parties()) == 0:
		if onlyBeside {
			return nil
		}
		t.streak = 0
		return t.others.Pop()
	case len(t.others.Parties()) == 0:
		t.streak = 0
		return t.direct.Pop()
	case t.streak == syncPart-1:
		t.streak = 0
		return t.others.Pop()
	}
	t.streak++
	return t.direct.Pop()
}
