package ingest

import "graspd/internal/fifo"

// syncTurn is the share of the turns that sources of the sync engine have while clients want all of them.
const syncTurn = 8

// turns hands out the sources that have something to do, each in its turn: direct ones first, but every eighth turn
// to the others. A source stands in it at most once; who pushes sees to that.
type turns struct {
	direct, others fifo.Queue[*Source]
	streak         int // turns that direct ones had while others waited
}

func (t *turns) push(s *Source) {
	if s.conf.Direct {
		t.direct.Push(s)
	} else {
		t.others.Push(s)
	}
}

// pop is the source whose turn it is, or nil. With onlyBeside, others get their turns only while direct ones wait too.
func (t *turns) pop(onlyBeside bool) *Source {
	switch {
	case t.direct.Len() == 0:
		if onlyBeside {
			return nil
		}
		t.streak = 0
		return t.others.Pop()
	case t.others.Len() == 0:
		t.streak = 0
		return t.direct.Pop()
	case t.streak == syncTurn-1:
		t.streak = 0
		return t.others.Pop()
	}
	t.streak++
	return t.direct.Pop()
}
