package paging

import "cmp"

// Habits are what a relay has shown of how it answers. All Pagers of one connection share them.
type Habits struct {
	limit     int  // of the questions
	most      int  // events in the largest answer to them: one with fewer is not cut
	cut       int  // events in an answer that proved to be cut; 0 = none did
	least     int  // events in the smallest answer that proved to be cut, from fewCut on; 0 = none did
	exclusive bool // since and until are exclusive
	wary      bool // it does not answer newest first, or not evenly: an answer of half as many events as the largest may be cut

	part  int     // events that a part should have, as connections ended within larger answers; 0 = four fifths of the largest answer
	came  int     // events on this connection
	ended bool    // an answer ended on this connection
	bore  bool    // one did on the last connection
	large []int64 // seconds of an event that ended the connection, and that are not asked for
}

// full takes an answer of n events to a question for at most limit, and reports whether it may be cut.
func (h *Habits) full(n, limit int) bool {
	if h.limit != 0 && limit != h.limit {
		h.most = 0
	}
	h.limit = limit
	full := n > 0 && n >= h.most || n == limit || h.wary && h.doubtful(n)
	h.most = max(h.most, n)
	return full
}

// doubtful reports whether an answer of n events may be cut, where a relay is not taken at its word.
func (h *Habits) doubtful(n int) bool { return n > 0 && 2*n >= h.most || h.least > 0 && n >= h.least }

// fewCut is how many events an answer must have had to count for one that was cut, and fewNewer how many newer events show that a relay does
// not begin with the newest: one or two may have been published meanwhile.
const (
	fewCut   = 8
	fewNewer = 3
)

// minFullPage is how many events of one second count as more than a page, unless smaller pages proved to be cut.
const minFullPage = 20

// nearlyFull reports whether an answer of n events may be a page of a relay that filters its pages once they are full.
func (h *Habits) nearlyFull(n int) bool { return n >= fewCut && 5*n >= 4*h.most }

// hides reports whether there may be more in a second than the n events that came.
func (h *Habits) hides(n int, full bool) bool {
	if h.wary && n < h.most {
		return n >= fewCut && 4*n >= 3*cmp.Or(h.least, max(h.most, minFullPage))
	}
	return full && (n >= minFullPage || h.cut > 0 && n >= h.cut) || h.least > 0 && (n >= h.least || h.nearlyFull(n))
}

// wasCut records that an answer of n events was cut.
func (h *Habits) wasCut(n int) {
	if n >= fewCut && (h.least == 0 || n < h.least) {
		h.least = n
	}
}

// aim returns how many events a part should have.
func (h *Habits) aim() int {
	if whole := 4 * h.most / 5; h.part == 0 || whole < h.part {
		return whole
	}
	return h.part
}
