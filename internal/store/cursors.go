package store

import "bytes"

// cursors is a heap of places in ranges, by the order of results.
type cursors []*cursor

func (h cursors) before(i, j int) bool {
	a, b := &h[i].rows[h[i].pos].order, &h[j].rows[h[j].pos].order
	return bytes.Compare(a[:], b[:]) < 0
}

func (h cursors) init() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// down puts a cursor that moved on into its place.
func (h cursors) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h.before(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// drop takes the first cursor out, which is at its end. The last one takes its place, which need not be its own.
func (h *cursors) drop() {
	last := len(*h) - 1
	(*h)[0] = (*h)[last]
	*h = (*h)[:last]
}
