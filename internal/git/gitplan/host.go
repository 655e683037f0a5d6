package gitplan

import (
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
)

// host has what the plan knows about a server, for all repositories together.
type host struct {
	name     string // without a port
	running  int
	proven   bool // it has answered as a git server does
	failures backoff.Failures
	until    time.Duration // mono: not before
	failing  bool          // until is set because the server failed, not because it asked for a pause
	returned backoff.Now   // when the plan last ended its wait because it was there again
	pace     time.Duration // between two fetches, 0 for none
	next     time.Duration // mono: not before, by pace
	slowed   backoff.Now   // when it last said that it gets too many requests
	last     backoff.Now   // when a fetch of it last began
}

// free returns the first time at which the host's wait and pace allow a fetch. PerHost bounds those that talk with the host at a time besides.
func (h *host) free() time.Duration { return max(h.until, h.next) }

func (h *host) started(now backoff.Now) {
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

func (h *host) ended(now backoff.Now, t backoff.Policy, o Outcome) {
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

// backIn is how long the plan waits after the return of a host: a relay that has just started has other things to do first.
const backIn = 2 * time.Second

// returns ends the wait of a host that is there again. It reports whether the host was waiting because it had failed.
func (h *host) returns(now backoff.Now) bool {
	if !h.failing || h.until <= now.Mono+backIn || h.returned != (backoff.Now{}) && now.Since(h.returned) < returnPause {
		return false
	}
	h.returned, h.until = now, now.Mono+backIn
	return true
}

// forget reports whether the plan can forget the host and would treat it the same afterwards.
func (h *host) forget(now backoff.Now) bool {
	return h.running == 0 && now.Since(h.last) > 2*deadRetry && h.free() <= now.Mono
}
