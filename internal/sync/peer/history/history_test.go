package history

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/sync/slots"
	"github.com/graspd/graspd/internal/sync/want"
)

var (
	terms = backoff.Policy{BaseBackoff: 5 * time.Second, MaxBackoff: time.Hour, DeadAfter: 24 * time.Hour, DeadRetry: 12 * time.Hour}
	now   = time.Unix(1_700_000_000, 0)
)

// failing is the record of a relay that has failed for so long, as of now, and is to be tried after the wait.
func failing(d, wait time.Duration) Record {
	return Record{At: now, Failures: 5, FirstFailure: now.Add(-d), NextAttempt: now.Add(wait)}
}

// TestWaits: a clock that was set puts no relay off for longer than the longest wait.
func TestWaits(t *testing.T) {
	for name, c := range map[string]struct {
		r    Record
		at   time.Duration // after now
		want time.Duration
	}{
		"nothing is known":           {Record{}, 0, 0},
		"before the next attempt":    {failing(time.Minute, time.Minute), 20 * time.Second, 40 * time.Second},
		"at the next attempt":        {failing(time.Minute, time.Minute), time.Minute, 0},
		"long after":                 {failing(time.Minute, time.Minute), 1000 * time.Hour, 0},
		"the clock was set back":     {failing(time.Minute, time.Minute), -1000 * time.Hour, 75 * time.Minute},
		"a dead relay":               {failing(24*time.Hour, 10*time.Hour), time.Hour, 9 * time.Hour},
		"dead, the clock set back":   {failing(24*time.Hour, 10*time.Hour), -1000 * time.Hour, 12 * time.Hour},
		"dead, after a restart":      {failing(24*time.Hour, 10*time.Hour).Restarted(terms), 0, 0},
		"not dead, after a restart":  {failing(24*time.Hour-1, time.Hour).Restarted(terms), 0, time.Hour},
		"a person asked for a try":   {failing(time.Minute, time.Minute).Retried(), 0, 0},
		"they asked for a visit":     {failing(time.Minute, time.Minute).VisitNow(), 0, 0},
		"it was stuck in its slot":   {Record{At: now}.Yielded(slots.Stuck), 10 * time.Minute, 20 * time.Minute},
		"it made use of its slot":    {Record{At: now}.Yielded(slots.Trying), 0, 0},
		"a pause that it asked for":  {Record{At: now, NextAttempt: now.Add(65 * time.Second)}, 0, 65 * time.Second},
		"failures of another decade": {failing(1e6*time.Hour, 10*time.Hour), 0, 10 * time.Hour},
	} {
		if got := c.r.wait(terms, now.Add(c.at)); got != c.want {
			t.Errorf("%s: a wait of %v, want %v", name, got, c.want)
		}
		if due := c.r.Due(terms, now.Add(c.at)); due != (c.want == 0) {
			t.Errorf("%s: due %v", name, due)
		}
	}
	short := terms
	if short.MaxBackoff = time.Second; failing(time.Minute, time.Hour).wait(short, now) != 65*time.Second {
		t.Error("a pause that the relay asked for is cut to the longest wait after failures")
	}
}

// TestFailingIsMeasuredWhileSomebodyLooked, and never less than nothing.
func TestFailingIsMeasuredWhileSomebodyLooked(t *testing.T) {
	for name, c := range map[string]struct {
		r    Record
		want time.Duration
	}{
		"it does not fail":      {Record{At: now}, 0},
		"for an hour":           {failing(time.Hour, 0), time.Hour},
		"from a time to come":   {failing(-time.Hour, 0), 0},
		"for longer than there": {failing(1<<62, 0), 10 * 365 * 24 * time.Hour},
	} {
		if got := c.r.Failing(); got != c.want {
			t.Errorf("%s: failing for %v, want %v", name, got, c.want)
		}
	}
}

// TestATryKeepsWhatWasPlanned, however often a person asks.
func TestATryKeepsWhatWasPlanned(t *testing.T) {
	r := failing(time.Minute, time.Minute)
	if got := r.Retried().Retried(); !got.Planned.Equal(r.NextAttempt) || !got.NextAttempt.IsZero() {
		t.Errorf("%+v", got)
	}
}

// TestOwnersAreBounded: past the bound nobody counts as new.
func TestOwnersAreBounded(t *testing.T) {
	w := &want.Want{}
	for i := range MostOwners {
		w.Repos = append(w.Repos, &want.RepoWant{Owner: nostr.PubKey{byte(i), byte(i >> 8)}})
	}
	first, fresh := Owners(nil).add(&want.Want{Repos: w.Repos[:1]})
	if !fresh || len(first) != 1 {
		t.Fatalf("%d owners, %v", len(first), fresh)
	}
	if _, fresh := first.add(&want.Want{Repos: w.Repos[:1]}); fresh {
		t.Error("the same owner counts as new")
	}
	all, fresh := first.add(w)
	if !fresh || len(all) != MostOwners || len(first) != 1 {
		t.Errorf("%d owners, %v; the set that was shared has %d", len(all), fresh, len(first))
	}
	more, fresh := all.add(&want.Want{Repos: []*want.RepoWant{{Owner: nostr.PubKey{31: 1}}}})
	if fresh || len(more) != MostOwners {
		t.Errorf("one too many: %d owners, %v", len(more), fresh)
	}
}

// TestUseOfASlot by a relay that stands so.
func TestUseOfASlot(t *testing.T) {
	connected := func(d time.Duration, confirmed int) status.Relay {
		return status.Relay{Phase: status.PhaseSyncing, Connected: true, ConnectedFor: d, Confirmed: status.Count{Roots: confirmed}}
	}
	for name, c := range map[string]struct {
		s    status.Relay
		want slots.Use
	}{
		"dialing, with failures":  {status.Relay{Phase: status.PhaseDialing, Failures: 9}, slots.Trying},
		"waiting, two failures":   {status.Relay{Phase: status.PhaseWaiting, Failures: 2}, slots.Trying},
		"waiting, three failures": {status.Relay{Phase: status.PhaseWaiting, Failures: 3}, slots.Unused},
		"this relay":              {status.Relay{Phase: status.PhaseIdle, Ourself: true}, slots.Unused},
		"connected":               {connected(30*time.Minute-1, 0), slots.Trying},
		"nothing in half an hour": {connected(30*time.Minute, 0), slots.Stuck},
		"something is confirmed":  {connected(time.Hour, 1), slots.Firm},
		"a visit":                 {status.Relay{Phase: status.PhaseSyncing, OnlyMailbox: true, Connected: true, ConnectedFor: time.Hour}, slots.Trying},
		"between two visits":      {status.Relay{Phase: status.PhaseWaiting, OnlyMailbox: true}, slots.Unused},
	} {
		if got := UseOf(c.s); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	for name, c := range map[string]struct {
		r    Record
		want slots.Use
	}{
		"nothing is known":        {Record{}, slots.Trying},
		"before the next attempt": {failing(time.Minute, time.Second), slots.Unused},
		"at the next attempt":     {failing(time.Minute, 0), slots.Trying},
		"this relay":              {Record{Ourself: true}, slots.Unused},
	} {
		if got := c.r.Use(terms, now); got != c.want {
			t.Errorf("without a slot, %s: %v, want %v", name, got, c.want)
		}
	}
}

// TestVisitsThatAreDue: what is due is the question, where the relay may be dialed at all.
func TestVisitsThatAreDue(t *testing.T) {
	const resync = 24 * time.Hour
	at := func(d time.Duration) Record { return Record{At: now, References: now.Add(d)} }
	for name, c := range map[string]struct {
		r   Record
		due bool
	}{
		"never visited":          {Record{}, true},
		"just now":               {at(0), true},
		"in a while":             {at(time.Second), false},
		"in the longest while":   {at(25 * time.Hour), false},
		"the clock was set back": {at(25*time.Hour + 1), true},
		"it may not be dialed":   {failing(time.Minute, time.Minute), false},
		"this relay":             {Record{Ourself: true}, false},
		"a person asked for it":  {at(time.Hour).VisitNow(), true},
	} {
		if got := c.r.VisitDue(terms, resync, now); got != c.due {
			t.Errorf("%s: due %v", name, got)
		}
	}
}
