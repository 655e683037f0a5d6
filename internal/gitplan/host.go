package gitplan

import (
	"time"

	"github.com/graspd/graspd/internal/health"
)

// host is what is known about a server, whatever repositories it has.
type host struct {
	name     string // without a port
	running  int
	proven   bool // it has answered as a git server does
	failures health.Failures
	until    time.Duration // mono: not before
	failing  bool          // for no other reason than that it failed
	returned health.Now    // when it was taken for one that is there again, last
	pace     time.Duration // between two fetches, 0 for none
	next     time.Duration // mono: of the next one by pace
	slowed   health.Now    // when it said last that there are too many
	last     health.Now    // when it was asked last
}

// free is when the host may be asked again as things stand; it is asked for no more than PerHost at a time besides.
func (h *host) free() time.Duration { return max(h.until, h.next) }

func (h *host) started(now health.Now) {
	h.running++
	h.last = now
	if h.pace > 0 && now.Since(h.slowed) > paceEases {
		h.slowed = now
		if h.pace /= 2; h.pace < limitedPace {
			h.pace = 0
		}
	}
	h.next = now.Mono + h.pace
}

func (h *host) ended(now health.Now, t health.Terms, o Outcome) {
	h.running--
	switch o.Answer {
	case Answered, Absent, TooMuch, Refused:
		h.proven = true
		h.failures.Progress()
	case Limited:
		h.pace = min(max(limitedPace, 2*h.pace), slowestPace)
		h.slowed = now
		wait := min(o.Retry, maxRetry)
		if wait <= 0 {
			wait = t.Backoff(1)
		}
		h.until, h.failing = max(h.until, now.Mono+wait), false
	case Failed:
		if h.until <= now.Mono {
			h.failing = true
		}
		h.until = max(h.until, now.Mono+h.failures.Count(t, now))
	}
}

// backIn is when a host is asked that is there again. What it does there first takes a moment.
const backIn = 2 * time.Second

// returns ends the wait of a host that is there again, and reports whether there was one to be ended.
func (h *host) returns(now health.Now) bool {
	if !h.failing || h.until <= now.Mono+backIn || h.returned != (health.Now{}) && now.Since(h.returned) < returnPause {
		return false
	}
	h.returned, h.until = now, now.Mono+backIn
	return true
}

// forget reports whether nothing is worth being remembered of a host.
func (h *host) forget(now health.Now) bool {
	return h.running == 0 && now.Since(h.last) > 2*deadRetry && h.free() <= now.Mono
}
