package ingest

// syncTurn is the share of the turns that sources of the sync engine have while clients want all of them.
const syncTurn = 8

func newTurns(which int) turns { return turns{direct: lane{which: which}, others: lane{which: which}} }

// turns hands out the sources that have something to do, each in its turn: direct ones first, but every eighth turn
// to the others, and among each kind party by party. A source stands in it at most once; who pushes sees to that.
type turns struct {
	direct, others lane
	streak         int // turns that direct ones had while others waited
}

func (t *turns) push(s *Source) {
	if s.conf.Direct {
		t.direct.push(s)
	} else {
		t.others.push(s)
	}
}

// pop is the source whose turn it is, or nil. With onlyBeside, others get their turns only while direct ones wait too.
func (t *turns) pop(onlyBeside bool) *Source {
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
	case t.streak == syncTurn-1:
		t.streak = 0
		return t.others.pop()
	}
	t.streak++
	return t.direct.pop()
}
