package githttp

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/base/histogram"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Answer tells what a request was answered from.
type Answer uint8

// The answers.
const (
	FromLog    Answer = iota // from the log: refs, without a process
	FromNone                 // with nothing: the client has all already, or asked for nothing
	FromCache                // from a kept pack
	FromFlight               // from a pack that is being made or sent for others
	FromPack                 // by pack-objects
	FromUpload               // by upload-pack; a push: by the host
	Refused                  // not answered, with a reason
	Failed                   // not answered, as this server failed
	answers
)

func (a Answer) String() string {
	return [...]string{"log", "none", "cache", "flight", "pack", "upload", "refused", "error"}[a]
}

// Outcome tells how a push ended.
type Outcome uint8

// The outcomes.
const (
	PushTaken   Outcome = iota // every ref was taken
	PushRefused                // some refs were refused
	PushBroken                 // the pack was refused
	PushBusy                   // it got no turn
	PushTooSoon                // its address had to wait after a costly pack
	PushUnread                 // its commands could not be read
	PushLeft                   // the client left
	PushNothing                // git only tried whether it may post
	outcomes
)

func (o Outcome) String() string {
	return [...]string{"ok", "refused", "pack", "busy", "too_soon", "unreadable", "left", "nothing"}[o]
}

const versions = 3

// counts has the Server's figures since the start.
type counts struct {
	requests [2][versions][answers]atomic.Uint64
	archives [answers]atomic.Uint64
	pushes   [outcomes]atomic.Uint64
	in, out  atomic.Uint64
	fetching atomic.Int64

	mu     sync.Mutex // guards the fields below
	pushed [outcomes]histogram.Counts
	made   [answers]histogram.Counts
	given  [answers]histogram.Counts
}

func (c *counts) count(s gitwire.Service, v gitwire.Version, a Answer) { c.requests[s][v][a].Add(1) }

// count counts how the request was answered.
func (x *exchange) count(a Answer) {
	if x.archives {
		x.counts.archives[a].Add(1)
		return
	}
	x.counts.count(x.service, x.version, a)
}

// time counts how long something of git's took since it began.
func (x *exchange) time(in *histogram.Counts, began time.Time) {
	if !x.archives {
		x.counts.time(in, began)
	}
}

// time counts how long something took since it began.
func (c *counts) time(in *histogram.Counts, began time.Time) {
	took := time.Since(began)
	c.mu.Lock()
	defer c.mu.Unlock()
	in.Add(took)
}

// RequestCount is how many requests of one service and version had one answer.
type RequestCount struct {
	Service gitwire.Service
	Version gitwire.Version
	Answer  Answer
	Count   uint64
}

// Stats has figures since the start, and of the moment.
type Stats struct {
	Requests []RequestCount // one for each service, version and answer that may occur
	Pushes   [outcomes]uint64
	Archives [answers]uint64 // by their answers: FromNone, FromCache, FromFlight, FromPack, Refused and Failed
	In, Out  uint64          // bytes of bodies received and sent, as they went over the wire
	Cache    CacheStats
	Waiting  int   // pushes that wait for their turn
	Fetching int64 // requests for packs that are being answered now

	Pushed [outcomes]histogram.Counts // pushes with readable commands, from when these were read to the verdict
	Made   [answers]histogram.Counts  // packs, only FromPack and FromUpload, with the wait for a process
	Given  [answers]histogram.Counts  // packs that were sent to their end, at the pace of the clients
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
	for a := range answers {
		st.Archives[a] = s.counts.archives[a].Load()
	}
	for o := range outcomes {
		st.Pushes[o] = s.counts.pushes[o].Load()
	}
	s.counts.mu.Lock()
	defer s.counts.mu.Unlock()
	st.Pushed, st.Made, st.Given = s.counts.pushed, s.counts.made, s.counts.given
	return st
}
