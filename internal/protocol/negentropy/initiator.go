package negentropy

import (
	"bytes"
	"slices"
)

// maxIdle is how many messages in a row may bring nothing. A responder that
// keeps to the protocol shrinks the first open range sixteenfold with each
// message, and settles it with two or three more: less than 20 messages for any
// set. The rest is for responders that cut long messages as the reference
// implementation does, which opens settled ranges again.
const maxIdle = 64

// Initiator is one reconciliation, seen from the side that asks. It is not for
// concurrent use.
//
// A reconciliation ends with any responder: of 64 messages in a row one must
// bring a new id or settle more own items. Own items are finite, and foreign ids
// end at [MaxNeed]. A caller who wants an earlier end counts messages itself.
type Initiator struct {
	set     *Set
	limit   int
	maxNeed int
	most    int // how many ids may be on one side only; 0 = any number
	done    bool

	have    []uint64              // bit i: the own item i was reported
	need    map[[32]byte]struct{} // ids reported as needed, at most maxNeed
	differ  int                   // ids reported, of either side
	tooMany bool                  // the responder showed more than a bound allows

	settled int // own items below the first open range, at best
	idle    int // messages in a row that brought nothing

	theirs [][32]byte // scratch of difference
	shared []bool     // scratch of difference
}

// NewInitiator starts a reconciliation of the set. Its messages have at most
// frameLimit bytes; messages of the responder may have any length.
func NewInitiator(s *Set, frameLimit int) *Initiator {
	return &Initiator{
		set:     s,
		limit:   effectiveLimit(frameLimit),
		maxNeed: MaxNeed,
		need:    make(map[[32]byte]struct{}),
	}
}

// Bound has the reconciliation end with [ErrTooMany] when more than most ids
// turn out to be on one side only; it then reports most+1 ids at most. Call
// Bound before the first Step.
func (n *Initiator) Bound(most int) { n.most = most }

// Start returns the first message.
func (n *Initiator) Start() []byte {
	w, upper := newWriter(), infinity()
	w.split(&upper, n.set, 0, n.set.Len())
	return w.buf
}

// Step takes the responder's answer to the last message. It returns the next
// message, or nil where the reconciliation has ended; the ids that only this
// side has; and the ids that only the responder has. Step returns each id once
// in a reconciliation, in no order.
//
// An error ends the reconciliation: [ErrVersion], [ErrMalformed],
// [ErrNoProgress] or [ErrTooMany]. Beside the error Step returns the ids that the
// message told before the fault.
func (n *Initiator) Step(msg []byte) (reply []byte, have, need [][32]byte, err error) {
	if n.done {
		return nil, nil, nil, malformed("message after the end")
	}
	n.done = true
	ranges, ours, err := readVersion(msg)
	if err != nil {
		return nil, nil, nil, err
	}
	if !ours {
		return nil, nil, nil, ErrVersion
	}
	x := newExchange(n.set, n.limit)
	err = x.run(ranges, func(g section, to int) {
		have, need = n.difference(have, need, g.payload, x.from, to)
		x.pending = true
	})
	if err != nil {
		return nil, have, need, err
	}
	if n.tooMany {
		return nil, have, need, ErrTooMany
	}
	if x.empty() {
		return nil, have, need, nil
	}
	if !n.progress(x, len(have)+len(need)) {
		return nil, have, need, ErrNoProgress
	}
	n.done = false
	return x.out.buf, have, need, nil
}

// difference compares a list of ids with the own items[from:to]. It appends to
// have and need the ids that it did not report before.
func (n *Initiator) difference(have, need [][32]byte, list []byte, from, to int) ([][32]byte, [][32]byte) {
	theirs := n.theirs[:0]
	for ; len(list) > 0; list = list[32:] {
		theirs = append(theirs, [32]byte(list))
	}
	order := func(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) }
	slices.SortFunc(theirs, order)
	theirs = slices.Compact(theirs)

	shared := append(n.shared[:0], make([]bool, len(theirs))...)
	for i := from; i < to && !n.tooMany; i++ {
		id := n.set.items[i].ID
		if at, found := slices.BinarySearchFunc(theirs, id, order); found {
			shared[at] = true
		} else if n.reportHave(i) {
			have = append(have, id)
			n.count()
		}
	}
	for i, id := range theirs {
		if !n.tooMany && !shared[i] && n.reportNeed(id) {
			need = append(need, id)
			n.count()
		}
	}
	n.theirs, n.shared = theirs, shared
	return have, need
}

// count counts a reported id, and notes when there are more than Bound allows.
func (n *Initiator) count() {
	n.differ++
	n.tooMany = n.tooMany || n.most > 0 && n.differ > n.most
}

// reportHave marks own item i as reported, and reports whether that is new.
func (n *Initiator) reportHave(i int) bool {
	if n.have == nil {
		n.have = make([]uint64, (n.set.Len()+63)/64)
	}
	word, bit := i/64, uint64(1)<<(i%64)
	fresh := n.have[word]&bit == 0
	n.have[word] |= bit
	return fresh
}

// reportNeed marks an id as reported, and reports whether that is new.
func (n *Initiator) reportNeed(id [32]byte) bool {
	if _, known := n.need[id]; known {
		return false
	}
	if len(n.need) == n.maxNeed {
		n.tooMany = true
		return false
	}
	n.need[id] = struct{}{}
	return true
}

// progress reports whether to go on after a message that brought fresh new ids.
// Both sides always process the first range of a message whole, so an honest
// responder settles the set from below.
func (n *Initiator) progress(x *exchange, fresh int) bool {
	if fresh > 0 || x.settled > n.settled {
		n.settled = max(n.settled, x.settled)
		n.idle = 0
	} else {
		n.idle++
	}
	return n.idle < maxIdle
}
