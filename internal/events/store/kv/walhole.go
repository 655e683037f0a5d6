package kv

// holes has the places of a log that cannot be read, in order. A crash leaves such places where the engine was writing. So a place is damage only
// if it is known to have been durable.
type holes struct {
	all    []hole
	sure   int  // how many holes, the first ones, are damage
	inside bool // the last hole has not ended

	unsynced bool // a record behind a hole does not tell that the hole was durable
}

type hole struct{ at, records int } // where it begins; how many whole records come behind it

// underWay is how many commits wait for the disk at once, at most. The store makes one at a time, and in logs of other versions notes did not
// wait for events: so the first was durable when a third one was written. The engine itself tells less than the truth about that: it leaves
// out what it wrote as full blocks.
const underWay = 2

// lost takes note that nothing can be read at a place.
func (h *holes) lost(at int) {
	if !h.inside {
		h.all = append(h.all, hole{at: at})
	}
	h.inside = true
}

// chunk takes note of a readable chunk, and of how far the log was durable when it was written.
func (h *holes) chunk(durable int) {
	h.inside = false
	for h.sure < len(h.all) && h.all[h.sure].at < durable {
		h.sure++
	}
}

// record takes note of a whole record.
func (h *holes) record() {
	for i := h.sure; i < len(h.all) && !h.unsynced; i++ {
		if h.all[i].records++; h.all[i].records == underWay {
			h.sure = i + 1
		}
	}
}

// places returns where damage begins. All of a log that the engine has closed is durable, but for the last commit as long as no other log
// follows: the engine may close a log while a large commit waits for the disk.
func (h *holes) places(closed, newest bool) (damaged []int) {
	for i, x := range h.all {
		if i < h.sure || closed && (!newest || x.records > 0) {
			damaged = append(damaged, x.at)
		}
	}
	return damaged
}
