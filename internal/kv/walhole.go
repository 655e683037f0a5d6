package kv

// holes are the places of a log that cannot be read, in order. A crash leaves such places where something was being
// written, so one is damage only when it is known that it was durable.
type holes struct {
	all    []hole
	sure   int  // so many of them, the first ones, are damage
	inside bool // the last one has not ended
}

type hole struct{ at, records int } // where it begins; how many whole records come behind it

// underWay is how many commits wait for the disk at once, at most: one of events, one of notes. When a third one was
// written, the first was durable. What the engine itself says of it is less than the truth: it leaves out what it wrote
// as full blocks.
const underWay = 2

// lost notes that nothing can be read at a place.
func (h *holes) lost(at int) {
	if !h.inside {
		h.all = append(h.all, hole{at: at})
	}
	h.inside = true
}

// chunk notes a chunk that can be read, and how far the log was durable when it was written.
func (h *holes) chunk(durable int) {
	h.inside = false
	for h.sure < len(h.all) && h.all[h.sure].at < durable {
		h.sure++
	}
}

// record notes a whole record.
func (h *holes) record() {
	for i := h.sure; i < len(h.all); i++ {
		if h.all[i].records++; h.all[i].records == underWay {
			h.sure = i + 1
		}
	}
}

// places are where the damage begins. In the end of a log that the engine has closed all of it is durable; until another
// one follows it, the last commit may not be: a large one lets the engine close the log while it waits for the disk.
func (h *holes) places(closed, newest bool) (damaged []int) {
	for i, x := range h.all {
		if i < h.sure || closed && (!newest || x.records > 0) {
			damaged = append(damaged, x.at)
		}
	}
	return damaged
}
