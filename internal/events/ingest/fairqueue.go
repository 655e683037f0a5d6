package ingest

// syncPart is the part of the turns, one in so many, for sources of the sync engine while clients want all turns. So clients, who wait for
// answers, go first, but they cannot bring syncing to a halt.
const syncPart = 8

func newFairQueue(which int) fairQueue {
	return fairQueue{direct: lane{which: which}, others: lane{which: which}}
}

// fairQueue holds the sources that have something to do, and gives each its turn: direct ones first, but one turn in syncPart to the others,
// and within each kind party by party. A source stands in it at most once; callers of push see to that.
type fairQueue struct {
	direct, others lane
	streak         int // turns in a row that direct sources had while others waited
}

func (t *fairQueue) push(s *Source) {
	if s.conf.Direct {
		t.direct.push(s)
	} else {
		t.others.push(s)
	}
}

// pop takes the source whose turn it is; nil if there is none. With onlyBeside, others than direct ones have turns only while direct ones
// wait.
func (t *fairQueue) pop(onlyBeside bool) *Source {
	switch {
	case t.direct.len() == 0:
		if onlyBeside {
			return nil
		}
		t.streak = 0
		return t.others.pop()
	case t.others.len() == 0:
		t.streak = 0
		return t.direct.pop()
	case t.streak == syncPart-1:
		t.streak = 0
		return t.others.pop()
	}
	t.streak++
	return t.direct.pop()
}
