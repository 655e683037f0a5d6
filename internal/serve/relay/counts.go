package relay

import (
	"errors"
	"sync/atomic"
)

// Traffic counts connections, frames and events since New made the relay.
type Traffic struct {
	Taken       uint64 // connections that became sessions
	TurnedAway  uint64 // connections refused for a rate, a bound or a shutdown
	TooSlow     uint64 // sessions ended because live events piled up
	TooMuch     uint64 // sessions ended because of pings, or large or unfinished messages
	Revoked     uint64 // subscriptions and reconciliations ended because others needed their memory
	TooQuiet    uint64 // sessions ended because nothing was open and nothing came
	Frames      uint64 // frames received
	BytesIn     uint64 // bytes of these frames; of a frame that is too large, only the part that was looked at
	BytesOut    uint64 // in all frames sent
	Events      uint64 // EVENT messages sent
	RateLimited uint64 // events refused because their address sends too many
	Refused     uint64 // events refused because they are beyond a limit
}

// counts has the counters that Traffic reads. Any goroutine may count.
type counts struct {
	taken, turnedAway, tooSlow, tooQuiet atomic.Uint64
	tooMuch, revoked                     atomic.Uint64
	frames, bytesIn, bytesOut, events    atomic.Uint64
	rateLimited, refused                 atomic.Uint64
}

// ended counts the end of a session by its reason.
func (c *counts) ended(why error) {
	bye, ok := errors.AsType[*goodbye](why)
	switch {
	case !ok:
	case bye == tooSlow:
		c.tooSlow.Add(1)
	case bye == unfinished || bye == noMemory || bye == memoryNeeded || bye == tooManyPings:
		c.tooMuch.Add(1)
	case bye.quiet:
		c.tooQuiet.Add(1)
	}
}

// Traffic reads the counters, one after the other.
func (r *Relay) Traffic() Traffic {
	c := &r.counts
	return Traffic{
		Taken: c.taken.Load(), TurnedAway: c.turnedAway.Load(), TooSlow: c.tooSlow.Load(), TooQuiet: c.tooQuiet.Load(),
		TooMuch: c.tooMuch.Load(), Revoked: c.revoked.Load(),
		Frames: c.frames.Load(), BytesIn: c.bytesIn.Load(), BytesOut: c.bytesOut.Load(), Events: c.events.Load(),
		RateLimited: c.rateLimited.Load(), Refused: c.refused.Load(),
	}
}
