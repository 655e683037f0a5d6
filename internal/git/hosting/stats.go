package hosting

import (
	"sync/atomic"

	"github.com/graspd/graspd/internal/events/refs"
)

// Causes is the size of Stats.Refused.
const Causes = int(refs.PendingAll) + 1

// Stats has figures since the Host was made, and some of now, which say so.
type Stats struct {
	Pushing  int64            // pushes under way now
	Pushed   uint64           // pushes that changed something, or had nothing to change
	Refused  [Causes]uint64   // refs of pushes that were refused, by refs.Cause
	Failures [Failures]uint64 // pushes that failed as a whole, by Failure
	Followed uint64           // repositories that followed another one
	Combined uint64           // times that packs of a repository were combined

	Uploads     int   // uploads that wait for their events now
	UploadBytes int64 // bytes of those uploads on disk, now
}

type counters struct {
	pushing  atomic.Int64
	done     atomic.Uint64
	failures [Failures]atomic.Uint64
	refused  [Causes]atomic.Uint64
	followed atomic.Uint64
	combined atomic.Uint64
}

func (c *counters) pushed(v refs.Verdict, err error) {
	switch {
	case err != nil:
		c.failures[reasonOf(err).why].Add(1)
	case !v.Refused():
		c.done.Add(1)
	}
	for _, r := range v.Results {
		if r.Cause != refs.None {
			c.refused[r.Cause].Add(1)
		}
	}
}

// Stats reads the figures, each by itself.
func (h *Host) Stats() Stats {
	c := &h.counts
	s := Stats{
		Pushing: c.pushing.Load(), Pushed: c.done.Load(), Followed: c.followed.Load(),
		Combined: c.combined.Load(),
	}
	s.Uploads, s.UploadBytes = h.uploads.size()
	for i := range c.refused {
		s.Refused[i] = c.refused[i].Load()
	}
	for i := range c.failures {
		s.Failures[i] = c.failures[i].Load()
	}
	return s
}
