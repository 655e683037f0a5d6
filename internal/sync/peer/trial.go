package peer

import (
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/peer/refusal"
	"github.com/graspd/graspd/internal/sync/peer/reqfilter"
	"github.com/graspd/graspd/internal/sync/want"
)

// trialSilence is how long a trial may be without progress before it has failed.
const trialSilence = 10 * time.Second

// layerTrial is the layer of the task that tries suspects. It is no layer of
// items, and comes when nothing else is asked: a NOTICE does not say what it is about.
const layerTrial = want.LayerReferences + 1

// nextTrial returns the task that tries the next suspects; nil when no trial is due.
func (s *suspects) nextTrial() *task {
	if s.task != nil || len(s.stored.running) > 0 || s.live.planner.Moving() || s.live.demands.auth.Awaited() || !s.under.Begin(s.now.Mono) {
		return nil
	}
	s.task = &task{group: &group{Lot: itemset.Lot{Layer: layerTrial}, class: Catchup}}
	return s.task
}

// sendTrial sends the REQ of the trial.
func (s *suspects) sendTrial(t *task) {
	filters := []nostr.Filter{reqfilter.Harmless(s.cfg.Self)}
	if items := s.under.Tried(); items != nil {
		filters = reqfilter.Trial(s.want, items)
	}
	for i := range filters {
		filters[i].Limit = new(1)
	}
	t.filter = filters[0]
	r := &request{RequestMode: s.live.demands.requestMode(false), sub: s.newSub("t"), kind: asksTrial, task: t, most: requestRoom, begun: s.now.Mono, progress: s.now.Mono}
	s.live.add(r)
	s.live.paced()
	s.effect(Request{Sub: r.sub, Class: Catchup, Filters: filters})
}

// asked returns the request that tries suspects, if the relay has not answered it.
func (s *suspects) asked() *request {
	if t := s.task; t != nil && t.req != nil && !t.req.answered {
		return t.req
	}
	return nil
}

// endTask ends the task of the trial, of whose outcome the suspicion is told next.
func (s *suspects) endTask() {
	if s.task != nil {
		s.stored.abandon(s.task)
		s.stored.leave(s.task)
		s.task = nil
	}
}

// dropTrial forgets that suspects were tried.
func (s *suspects) dropTrial() {
	s.endTask()
	s.under.Dropped()
}

// trialAnswered takes the answer of the relay, whatever it brought.
func (s *suspects) trialAnswered() {
	s.endTask()
	s.found(s.under.Answered(s.now.Mono))
}

// trialRefused takes a refusal.
func (s *suspects) trialRefused(r *request, text string) {
	switch why := refusal.Of(text); {
	case why == refusal.Rate:
		s.stored.pause()
		s.dropTrial()
	case why.Crowded():
		if why == refusal.TooMany {
			s.live.fewer(s.under.Silent())
		} else {
			s.live.lowerTotal()
		}
		s.endTask()
		s.under.InVain(s.now.Mono)
	case why == refusal.Auth, why == refusal.Restricted:
		s.trialBarred(why, r)
	case why == refusal.TooBig && s.under.Tried() != nil:
		s.endTask()
		s.found(s.under.TooLarge(s.now.Mono))
	default:
		s.trialFailed(why == refusal.Value, text)
	}
}

// trialBarred waits for the verdict on an AUTH, or for long where none is to come.
func (s *suspects) trialBarred(why refusal.Kind, r *request) {
	at, ok := s.live.demands.wait(why, r.RequestMode)
	s.endTask()
	if ok {
		s.under.Barred(s.now.Mono, min(at, s.now.Mono+silence))
	} else {
		s.under.PutOff(s.now.Mono, s.now.Mono+refusedRetry)
	}
}

// trialFailed takes any other refusal of a trial, or that it was not answered.
func (s *suspects) trialFailed(sure bool, why string) {
	s.report(LevelDebug, "a request that was to find what the relay refuses failed", "cause", why)
	s.endTask()
	s.found(s.under.Failed(s.now.Mono, sure))
}

// lost takes the end of the connection: the trial just before may have ended it.
func (s *suspects) lost() {
	s.end()
	t := s.task
	s.task = nil
	s.found(s.under.Lost(s.now.Mono, t != nil && t.req != nil && s.now.Mono < t.req.begun+dropAfterOpen))
}

// wake names the time at which the next trial is due.
func (s *suspects) wake() time.Duration { return s.under.Wake(s.now.Mono) }
