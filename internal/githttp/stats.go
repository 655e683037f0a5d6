package githttp

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/durations"
	"github.com/graspd/graspd/internal/gitwire"
)

// Answer is how a request was answered.
type Answer uint8

// The answers.
const (
	FromLog    Answer = iota // refs, without a process
	FromNone                 // all is there already, or nothing was asked
	FromCache                // by a pack that was kept
	FromFlight               // by a pack that is being made or sent for others
	FromPack                 // by pack-objects
	FromUpload               // by upload-pack, or for a push by the host
	Refused                  // with a reason
	Failed                   // by a fault of this server
	answers
)

func (a Answer) String() string {
	return [...]string{"log", "none", "cache", "flight", "pack", "upload", "refused", "error"}[a]
}

// Outcome is what became of a push.
type Outcome uint8

// The outcomes.
const (
	PushTaken   Outcome = iota // all of it
	PushRefused                // some of its refs
	PushBroken                 // its pack
	PushBusy                   // for too many others
	PushTooSoon                // after a pack from its address that was refused for the work that it is
	PushUnread                 // its commands make no sense
	PushLeft                   // by who pushed
	PushNothing                // git's question whether it may post
	outcomes
)

func (o Outcome) String() string {
	return [...]string{"ok", "refused", "pack", "busy", "too_soon", "unreadable", "left", "nothing"}[o]
}

const versions = 3

// counts are figures since the start.
type counts struct {
	requests [2][versions][answers]atomic.Uint64
	pushes   [outcomes]atomic.Uint64
	in, out  atomic.Uint64
	fetching atomic.Int64

	mu     sync.Mutex // guards what follows
	pushed [outcomes]durations.Counts
	made   [answers]durations.Counts
	given  [answers]durations.Counts
}

func (c *counts) count(s gitwire.Service, v gitwire.Version, a Answer) { c.requests[s][v][a].Add(1) }

// time notes how long something has taken since it began.
func (c *counts) time(in *durations.Counts, began time.Time) {
	took := time.Since(began)
	c.mu.Lock()
	defer c.mu.Unlock()
	in.Add(took)
}

// RequestCount is how often requests were answered so.
type RequestCount struct {
	Service gitwire.Service
	Version gitwire.Version
	Answer  Answer
	Count   uint64
}

// Stats are figures since the start, and of what is there.
type Stats struct {
	Requests []RequestCount // one for each service, version and answer that may occur
	Pushes   [outcomes]uint64
	In, Out  uint64 // bytes of bodies, as they were sent
	Cache    CacheStats
	Waiting  int   // pushes that wait for their turn
	Fetching int64 // requests for packs that are answered now

	Pushed [outcomes]durations.Counts // pushes whose commands could be read and ask for something, from then to the verdict
	Made   [answers]durations.Counts  // packs, FromPack and FromUpload, with the wait for a process
	Given  [answers]durations.Counts  // packs that were sent to their end, as fast as clients read
}

// Stats returns the figures.
func (s *Server) Stats() Stats {
	st := Stats{In: s.counts.in.Load(), Out: s.counts.out.Load(), Cache: s.cache.stats(), Waiting: s.uploads.queued(),
		Fetching: s.counts.fetching.Load()}
	for service := range s.counts.requests {
		for v := range versions {
			for a := range answers {
				st.Requests = append(st.Requests, RequestCount{
					gitwire.Service(service), gitwire.Version(v), a, s.counts.requests[service][v][a].Load(),
				})
			}
		}
	}
	for o := range outcomes {
		st.Pushes[o] = s.counts.pushes[o].Load()
	}
	s.counts.mu.Lock()
	defer s.counts.mu.Unlock()
	st.Pushed, st.Made, st.Given = s.counts.pushed, s.counts.made, s.counts.given
	return st
}
