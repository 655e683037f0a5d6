package store

import (
	"container/heap"
	"slices"

	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// tally knows, without a read, how many events of each author, from each source and of each kind wait, and which came first. The writer
// owns it.
type tally struct {
	kinds   WaitsByKind
	authors map[nostr.PubKey]*authorWaits
	sources map[string]*sourceWaits
	order   largest
}

// tallied is an event that waits.
type tallied struct {
	seq    layout.Seq
	author nostr.PubKey
	from   string
	kind   nostr.Kind
}

// authorWaits are the numbers of the events of one author that wait, in order.
type authorWaits struct{ all, announcements []layout.Seq }

// sourceWaits are the numbers of the events from one source that wait, in order.
type sourceWaits struct {
	from string
	all  []layout.Seq
	at   int // its place in the order
}

func newTally() *tally {
	return &tally{authors: make(map[nostr.PubKey]*authorWaits), sources: make(map[string]*sourceWaits)}
}

func talliedOf(w layout.Waiting) tallied {
	return tallied{w.Seq, w.Event.PubKey, layout.SourceOf(w.From), w.Event.Kind}
}

func (t *tally) add(x tallied) {
	t.kinds.count(x.kind, 1)
	a := t.authors[x.author]
	if a == nil {
		a = new(authorWaits)
		t.authors[x.author] = a
	}
	a.all = withSeq(a.all, x.seq)
	if x.kind == nip34.KindRepository {
		a.announcements = withSeq(a.announcements, x.seq)
	}
	if s := t.sources[x.from]; s != nil {
		s.all = withSeq(s.all, x.seq)
		heap.Fix(&t.order, s.at)
		return
	}
	s := &sourceWaits{from: x.from, all: []layout.Seq{x.seq}}
	t.sources[x.from] = s
	heap.Push(&t.order, s)
}

// remove takes out what add put in.
func (t *tally) remove(x tallied) {
	t.kinds.count(x.kind, -1)
	if a := t.authors[x.author]; a != nil {
		a.all, a.announcements = withoutSeq(a.all, x.seq), withoutSeq(a.announcements, x.seq)
		if len(a.all) == 0 {
			delete(t.authors, x.author)
		}
	}
	s := t.sources[x.from]
	if s == nil {
		return
	}
	if s.all = withoutSeq(s.all, x.seq); len(s.all) > 0 {
		heap.Fix(&t.order, s.at)
		return
	}
	heap.Remove(&t.order, s.at)
	delete(t.sources, x.from)
}

// withSeq puts a number into its place, which is mostly the last.
func withSeq(all []layout.Seq, n layout.Seq) []layout.Seq {
	i, _ := slices.BinarySearch(all, n)
	return slices.Insert(all, i, n)
}

func withoutSeq(all []layout.Seq, n layout.Seq) []layout.Seq {
	i, ok := slices.BinarySearch(all, n)
	if !ok {
		return all
	}
	return slices.Delete(all, i, i+1)
}

// largest is a heap of the sources, for package heap: the first one has the most; of two that have as much, it has the one that came first.
type largest []*sourceWaits

// Len is of the heap.
func (l largest) Len() int { return len(l) }

// Less is of the heap.
func (l largest) Less(i, j int) bool {
	if a, b := len(l[i].all), len(l[j].all); a != b {
		return a > b
	}
	return l[i].all[0] < l[j].all[0]
}

// Swap is of the heap.
func (l largest) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].at, l[j].at = i, j
}

// Push is of the heap.
func (l *largest) Push(x any) {
	s := x.(*sourceWaits)
	s.at = len(*l)
	*l = append(*l, s)
}

// Pop is of the heap.
func (l *largest) Pop() any {
	last := len(*l) - 1
	s := (*l)[last]
	(*l)[last] = nil
	*l = (*l)[:last]
	return s
}
