package negentropy

// reserve is what a message leaves free below its frame limit: room for the
// bound and count of a list of ids (at most 54 bytes), one skip (44) and the
// closing fingerprint (19).
const reserve = 200

// exchange turns one message into the next. It walks the ranges of the first
// message and writes the ranges of the next, within the frame limit.
type exchange struct {
	set   *Set
	limit int // of the message written, in bytes; 0 is none
	out   writer

	lower   bound // where the range at hand begins
	from    int   // index of the first own item in it
	pending bool  // all between the last range written and this one is settled
	full    bool  // the frame limit ended the message written

	settled int // number of own items below the first range written that is no skip
}

func newExchange(s *Set, limit int) *exchange {
	return &exchange{set: s, limit: limit, out: newWriter()}
}

// run walks the ranges of a message. It gives ranges by ids to list, with the
// index of the first own item above the range. Once the message written is
// full, run only checks the form of the ranges that are left.
func (x *exchange) run(ranges []byte, list func(g section, to int)) error {
	r := reader{rest: ranges}
	for len(r.rest) > 0 {
		g, err := r.next()
		if err != nil {
			return err
		}
		// Nothing can lie in a range without extent, whatever is said about it.
		if x.full || x.lower.Item == g.upper.Item {
			continue
		}
		to := x.set.search(&g.upper, x.from)
		switch g.mode {
		case modeSkip:
			x.pending = true
		case modeFingerprint:
			x.compare(g, to)
		case modeIDs:
			list(g, to)
		}
		x.lower, x.from = g.upper, to
	}
	return nil
}

// compare settles a range with an equal fingerprint and splits any other.
func (x *exchange) compare(g section, to int) {
	theirs := [fingerprintSize]byte(g.payload)
	if x.set.fingerprint(x.from, to) == theirs {
		x.pending = true
		return
	}
	x.begin()
	saved := x.out
	x.out.split(&g.upper, x.set, x.from, to)
	if x.over() {
		x.out = saved
		x.finish(x.from)
	}
}

// begin prepares for writing a range that is no skip.
func (x *exchange) begin() {
	if x.empty() {
		x.settled = x.from
	}
	if x.pending {
		x.out.skip(&x.lower)
		x.pending = false
	}
}

// finish ends a message that is full. It writes one fingerprint for all own
// items from index from on, where the last range written ends.
func (x *exchange) finish(from int) {
	upper := infinity()
	x.out.fingerprint(&upper, x.set, from, x.set.Len())
	x.full = true
}

// over reports whether the message leaves less than the reserve.
func (x *exchange) over() bool {
	return x.limit > 0 && len(x.out.buf) > x.limit-reserve
}

// empty reports whether nothing but the version byte was written.
func (x *exchange) empty() bool { return len(x.out.buf) == 1 }
