package bisect

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/sync/want"
)

// Each method here takes the outcome of the trial under way, and ends that trial.

// Answered takes an answer of the relay, whatever it brought.
func (s *Suspicion) Answered(now time.Duration) Finding {
	x := s.end()
	s.silent = 0
	if x == nil {
		x, s.accused = s.accused, nil
		return s.convict(now, x, false)
	}
	return s.clear(x)
}

// TooLarge takes a refusal of the request's size, of a trial that is not the harmless one. A set of one item is as small as can be: the relay
// takes it for all that is known.
func (s *Suspicion) TooLarge(now time.Duration) Finding {
	x := s.end()
	if len(x.items) > 1 {
		return s.convict(now, x, true)
	}
	return s.clear(x)
}

// Failed takes any other refusal of the trial, or that it was not answered. sure says that the relay spoke of a value.
func (s *Suspicion) Failed(now time.Duration, sure bool) Finding {
	x := s.end()
	s.after = now + pace
	switch {
	case x == nil:
		s.InVain(now)
	case sure:
		return s.convict(now, x, true)
	default:
		s.accused = x
	}
	return Finding{}
}

// InVain takes a trial that says nothing about values, as the relay answers nobody now. The next one waits longer each time.
func (s *Suspicion) InVain(now time.Duration) {
	s.Dropped()
	if s.accused != nil {
		s.sets, s.accused = append(s.sets, s.accused), nil
	}
	s.silent++
	s.after = now + backoff.RetryDelay(s.silent)
}

// Barred takes a demand for AUTH, of which a verdict may come: no trial is due before until.
func (s *Suspicion) Barred(now, until time.Duration) {
	x := s.end()
	if x == nil {
		s.InVain(now)
		return
	}
	s.after = max(s.after, until)
	s.sets = append(s.sets, x)
}

// PutOff takes a refusal of all that we ask: the items of this trial are not tried before until.
func (s *Suspicion) PutOff(now, until time.Duration) {
	x := s.end()
	if x == nil {
		s.InVain(now)
		return
	}
	x.after = until
	s.sets = append(s.sets, x)
}

// Dropped takes a trial that has no outcome: its items are tried again. Where no trial is under way it does nothing.
func (s *Suspicion) Dropped() {
	if x := s.end(); x != nil {
		s.sets = append(s.sets, x)
	}
}

// Lost takes the end of the connection. hungUp says that it came right after the request of the trial, so that this may have ended it. What was
// only doubted is so no more: the next connection begins without a failure.
func (s *Suspicion) Lost(now time.Duration, hungUp bool) (f Finding) {
	if x := s.end(); x != nil && hungUp {
		s.losses++
		s.after = now + backoff.RetryDelay(s.losses)
		x.hungUp = true
		f = s.convict(now, x, x.tries > 0)
	} else if x != nil {
		s.sets = append(s.sets, x)
	}
	s.doubted.Clear()
	if s.accused != nil && s.accused.doubtOnly {
		s.accused = nil
	}
	s.tidy()
	return f
}

// end ends the trial under way and returns its set, nil for the harmless one.
func (s *Suspicion) end() *trial {
	x := s.tried
	s.trying, s.tried = false, nil
	return x
}

// clear takes a set that the relay bears.
func (s *Suspicion) clear(x *trial) Finding {
	f := Finding{Accepted: x.items}
	for _, it := range x.items {
		s.doubted.Drop(it)
		if s.items.Drop(it) {
			s.refused.Drop(it)
			f.Cleared = append(f.Cleared, it)
		}
	}
	return f
}

// convict halves a set that the relay refuses, or counts a refusal of its only item. Halves come before all others, as they are what is known
// best. sure says that one refusal is enough, and holds until everything is compared anew.
func (s *Suspicion) convict(now time.Duration, x *trial, sure bool) (f Finding) {
	s.tidySet(x)
	if x.doubtOnly {
		x.doubtOnly = false
		s.accuse(x.items)
		f.Suspected = slices.Clone(x.items)
	}
	if n := len(x.items); n > 1 {
		a := &trial{items: slices.Clone(x.items[:n/2]), knownOdd: x.knownOdd, hungUp: x.hungUp}
		b := &trial{items: slices.Clone(x.items[n/2:]), knownOdd: x.knownOdd, hungUp: x.hungUp}
		s.sets = slices.Insert(s.sets, 0, a, b)
		return f
	} else if n == 0 {
		return f
	}
	x.tries++
	x.after = now + backoff.RetryDelay(x.tries)
	if sure {
		x.after = backoff.Never
	}
	s.sets = append(s.sets, x)
	if !sure && x.tries < toRefuse {
		return f
	}
	if s.refused.Put(x.items[0]) {
		f.Refused = []want.Item{x.items[0]}
	}
	return f
}
