package plan

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/ask"
	"github.com/graspd/graspd/internal/itemset"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/refusal"
	"github.com/graspd/graspd/internal/want"
)

// Times and counts of trials.
const (
	trialSilence   = 10 * time.Second // without progress a trial has failed
	trialPace      = time.Second      // from a refused trial to the next
	trialsToRefuse = 3                // a value alone is taken for refused
	retrialPace    = time.Minute      // between trials of values that are taken for refused
)

// layerTrial is the layer of the task that tries suspects. It is no layer of
// items, and comes when nothing else is asked.
const layerTrial = want.LayerReferences + 1

// trial is the one that is under way.
type trial struct {
	task *task // nil = none is
	set  *suspected
}

// trialParts splits items into what one trial bears.
func (s *suspects) trialParts(items []want.Item) (out [][]want.Item) {
	b := s.live.limits.Bounds()
	for len(items) > 0 {
		n, values, bytes := 0, 0, 0
		for ; n < len(items); n++ {
			r := s.want.Repository(items[n])
			values, bytes = values+len(r.Addresses), bytes+r.AddressBytes+r.DBytes
			if n > 0 && (values > b.Values || bytes > b.Bytes) {
				break
			}
		}
		out = append(out, slices.Clone(items[:n]))
		items = items[n:]
	}
	return out
}

// nextTrial returns the task that tries the next suspects; nil when there is none.
func (s *suspects) nextTrial() *task {
	if s.trial.task != nil || s.now.Mono < s.after || s.live.unsettled() || s.live.demands.auth.Awaited() {
		return nil
	}
	if s.accused == nil {
		set := s.next()
		if set == nil {
			return nil
		}
		s.trial.set = set
		if s.refused.Has(set.items[0]) {
			s.retrial = s.now.Mono + retrialPace
		}
	}
	s.trial.task = &task{group: &group{Lot: itemset.Lot{Layer: layerTrial}, class: Catchup}}
	return s.trial.task
}

// next takes out the set whose turn it is: those that known relays refuse last.
func (s *suspects) next() *suspected {
	s.tidy()
	best := -1
	for i, x := range s.sets {
		if at := s.dueAt(x); at <= s.now.Mono && (best < 0 || !x.odd && s.sets[best].odd) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	set := s.sets[best]
	s.sets = slices.Delete(s.sets, best, best+1)
	return set
}

// dueAt returns when a set may be tried.
func (s *suspects) dueAt(x *suspected) time.Duration {
	if len(x.items) == 1 && s.refused.Has(x.items[0]) {
		return max(x.after, s.retrial)
	}
	return x.after
}

// tidy takes out of the sets what is no suspect any more.
func (s *suspects) tidy() {
	for _, x := range s.sets {
		s.tidySet(x)
	}
	s.sets = slices.DeleteFunc(s.sets, func(x *suspected) bool { return len(x.items) == 0 })
}

func (s *suspects) tidySet(x *suspected) {
	in := &s.items
	if x.free {
		in = &s.doubted
	}
	x.items = slices.DeleteFunc(x.items, func(it want.Item) bool { return !in.Has(it) })
}

// sendTrial sends the REQ of the trial.
func (s *suspects) sendTrial(t *task) {
	var filters []nostr.Filter
	if s.accused != nil {
		filters = []nostr.Filter{ask.Harmless(s.cfg.Self)}
	} else {
		filters = ask.Trial(s.want, s.trial.set.items)
	}
	for i := range filters {
		filters[i].Limit = new(1)
	}
	t.filter = filters[0]
	r := &request{Manner: s.live.demands.manner(false), sub: s.newSub("t"), kind: asksTrial, task: t, most: requestRoom, begun: s.now.Mono, progress: s.now.Mono}
	t.req = r
	s.live.requests[r.sub] = r
	s.live.paced()
	s.effect(Request{Sub: r.sub, Class: Catchup, Filters: filters})
}

// endTrial ends the one under way and returns what it was about.
func (s *suspects) endTrial() *suspected {
	if s.trial.task == nil {
		return nil
	}
	s.stored.abandon(s.trial.task)
	s.stored.leave(s.trial.task)
	set := s.trial.set
	s.trial = trial{}
	return set
}

// dropTrial forgets that suspects were tried.
func (s *suspects) dropTrial() {
	if set := s.endTrial(); set != nil {
		s.sets = append(s.sets, set)
	}
}

// trialAnswered takes the answer of the relay, whatever it brought.
func (s *suspects) trialAnswered() {
	set := s.endTrial()
	s.silent = 0
	if set == nil {
		set, s.accused = s.accused, nil
		s.convict(set, false)
		return
	}
	s.clear(set)
}

// clear has a set asked like others.
func (s *suspects) clear(set *suspected) {
	for _, it := range set.items {
		s.borne.Put(it)
		s.doubted.Drop(it)
		if !s.items.Drop(it) {
			continue
		}
		s.refused.Drop(it)
		s.live.queue(s.live.lotOf(it))
	}
}

// trialRefused takes a refusal.
func (s *suspects) trialRefused(r *request, text string) {
	switch why := refusal.Of(text); {
	case why == refusal.Rate:
		s.stored.pause()
		s.dropTrial()
	case why.Crowded():
		if why == refusal.TooMany {
			s.live.fewer(s.silent)
		} else {
			s.live.fuller()
		}
		s.trialInVain()
	case why == refusal.Auth, why == refusal.Restricted:
		s.trialBarred(why, r)
	case why == refusal.TooBig && s.trial.set != nil:
		if set := s.endTrial(); len(set.items) > 1 {
			s.convict(set, true)
		} else {
			s.clear(set)
		}
	default:
		s.trialFailed(why == refusal.Value, text)
	}
}

// trialBarred waits for the verdict on an AUTH, or for long where there is no hope of one.
func (s *suspects) trialBarred(why refusal.Kind, r *request) {
	at, ok := s.live.demands.wait(why, r.Manner)
	switch set := s.endTrial(); {
	case set == nil:
		s.trialInVain()
	case !ok:
		set.after = s.now.Mono + refusedRetry
		s.sets = append(s.sets, set)
	default:
		s.after = max(s.after, min(at, s.now.Mono+silence))
		s.sets = append(s.sets, set)
	}
}

// trialFailed takes the refusal of a trial, or that it was not answered.
func (s *suspects) trialFailed(sure bool, why string) {
	s.report(Debug, "a request that was to find what the relay refuses failed", "cause", why)
	set := s.endTrial()
	s.after = s.now.Mono + trialPace
	switch {
	case set == nil:
		s.trialInVain()
	case sure:
		s.convict(set, true)
	default:
		s.accused = set
	}
}

// trialInVain waits until the relay may answer again.
func (s *suspects) trialInVain() {
	s.dropTrial()
	if s.accused != nil {
		s.sets, s.accused = append(s.sets, s.accused), nil
	}
	s.silent++
	s.after = s.now.Mono + retryDelay(s.silent)
}

// convict halves a set that the relay refuses, or takes the only item of it for refused.
func (s *suspects) convict(set *suspected, sure bool) {
	s.tidySet(set)
	if set.free {
		set.free = false
		s.accuse(set.items)
	}
	if n := len(set.items); n > 1 {
		a := &suspected{items: slices.Clone(set.items[:n/2]), odd: set.odd, hangs: set.hangs}
		b := &suspected{items: slices.Clone(set.items[n/2:]), odd: set.odd, hangs: set.hangs}
		s.sets = slices.Insert(s.sets, 0, a, b)
		return
	} else if n == 0 {
		return
	}
	it := set.items[0]
	set.tries++
	set.after = s.now.Mono + retryDelay(set.tries)
	if sure {
		set.after = untilResync
	}
	s.sets = append(s.sets, set)
	if !sure && set.tries < trialsToRefuse {
		return
	}
	if s.refused.Put(it) {
		s.held.Drop(it)
		s.report(Info, "the relay refuses requests for a repository", "repository", s.want.Repository(it).Addresses[0])
	}
}

// lost takes the end of the connection: what was tried just before ended it.
func (s *suspects) lost() {
	s.end()
	t, set := s.trial.task, s.trial.set
	if t == nil {
		s.sure()
		return
	}
	hungUp := t.req != nil && s.now.Mono < t.req.begun+dropAfterOpen
	s.trial = trial{}
	switch {
	case set == nil:
	case hungUp:
		s.losses++
		s.after = s.now.Mono + retryDelay(s.losses)
		set.hangs = true
		s.convict(set, set.tries > 0)
	default:
		s.sets = append(s.sets, set)
	}
	s.sure()
}

// wake names the time at which the next trial is due.
func (s *suspects) wake() time.Duration {
	if s.trial.task != nil {
		return never
	}
	if s.accused != nil {
		return later(s.after, s.now.Mono)
	}
	w := never
	for _, x := range s.sets {
		w = min(w, later(max(s.after, s.dueAt(x)), s.now.Mono))
	}
	return w
}

// sure forgets what is only doubted.
func (s *suspects) sure() {
	s.doubted.Clear()
	if s.accused != nil && s.accused.free {
		s.accused = nil
	}
	s.tidy()
}

// again has everything tried anew that is taken for refused. What the relay hung up for waits for a full resync, or a
// relay that is long in coming back would never get further.
func (s *suspects) again(resync bool) {
	for _, x := range s.sets {
		if x.hangs && !resync {
			continue
		}
		x.after, x.tries, x.hangs = 0, 0, false
		for _, it := range x.items {
			s.refused.Drop(it)
		}
	}
	s.after, s.retrial, s.silent = 0, 0, 0
	if resync {
		s.losses = 0
		s.borne.Clear()
	}
}
