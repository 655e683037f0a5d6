package capacity

import "time"

// A relay that asks to slow down does not say how slow. What it bears is seen by
// asking: how many requests it takes after a pause, and how short a pause buys as
// many. So it is asked in portions with rests in between instead of until it
// refuses again and again. That is no bucket.Bucket: rate and burst are not known
// but searched for, and a rest buys all of a portion at once.

const (
	SlowDown    = 65 * time.Second       // the pause after "slow down"
	soonerPause = SlowDown / 4           // the second pause in a row that bought nothing
	leastRest   = 250 * time.Millisecond // a shorter one is none
	leastTrust  = 4 * time.Minute        // at first: a relay may have been busy only for a while
	mostTrust   = 15 * time.Minute
)

// Pace is the search for such portions on one connection.
type Pace struct {
	portion int           // requests that a rest buys; 0 = not known, or any number
	rest    time.Duration // before the portion under way
	before  time.Duration // before the portion that ended last
	found   bool          // a shorter rest has proved too short
	again   time.Duration // when a shorter rest is tried again
	trust   time.Duration // how long after it was too short
	limited bool          // the relay has asked to slow down
	used    int           // requests since the last rest or pause
	idle    int           // pauses in a row that bought nothing
	till    time.Duration // end of the last pause: what the relay refuses before that was asked before the pause
}

// Asked notes a request at the time now and returns until when the next one has to wait.
func (s *Pace) Asked(now time.Duration) time.Duration {
	if !s.limited {
		return now
	}
	s.used++
	if s.portion == 0 || s.used < s.portion {
		return now
	}
	s.used, s.before = 0, s.rest
	if s.found && now >= s.again {
		s.found = false
	}
	if !s.found {
		s.rest /= 2
	}
	if s.rest < leastRest {
		s.portion = 0
		return now
	}
	return now + s.rest
}

// refused notes that the relay asked to slow down at the time now, and returns how long to pause.
func (s *Pace) refused(now time.Duration) time.Duration {
	got := s.used - 1 // the last one was refused
	if s.used == 0 && s.portion > 0 {
		got, s.rest = s.portion-1, s.before
	}
	s.used = 0
	switch {
	case !s.limited:
		s.limited = true
		return SlowDown
	case s.portion == 0 && got <= 0:
		if s.idle++; s.idle == 1 {
			return soonerPause
		}
		return SlowDown
	case s.portion == 0:
		s.portion, s.rest, s.found = got, SlowDown/2, false
	case s.rest < SlowDown/2:
		s.rest, s.found = 2*s.rest, true
	case got > 0: // so many, and no more, in that time
		s.portion, s.found = min(got, s.portion), true
	case s.rest < SlowDown:
		s.rest, s.found = SlowDown, true
	default:
		s.portion = max(1, s.portion/2)
	}
	if s.idle = 0; s.found {
		s.trust = min(max(leastTrust, 2*s.trust), mostTrust)
		s.again = now + s.trust
	}
	return s.rest
}

// Slower notes that the relay asked to slow down at the time now, and returns until when nothing is asked. A refusal before the end of the
// last pause teaches nothing. Where nobody waits for anything that is missing, the pause is the longest.
func (s *Pace) Slower(now time.Duration, idle bool) time.Duration {
	if now >= s.till {
		wait := s.refused(now)
		if idle {
			wait = SlowDown
		}
		s.till = now + wait
	}
	return s.till
}
