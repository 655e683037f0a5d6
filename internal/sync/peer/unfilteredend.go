package peer

import (
	"time"

	"github.com/graspd/graspd/internal/sync/peer/livesubs"
	"github.com/graspd/graspd/internal/sync/peer/refusal"
)

// How asking a relay as a whole ends: well, for this connection, or for a while.

// done takes the end of a comparison.
func (w *unfiltered) done(t *task) {
	if w.similarity.confirm() {
		w.report(LevelInfo, "the relay has nearly what is here: graspd compares everything with it at once from now on", "count", len(t.lacks))
	}
	if len(t.group.Items) > 0 {
		w.cover(t)
	}
}

// failed has everything asked by items on this connection. A comparison as a whole came to nothing, for a reason that may be gone
// the next time.
func (w *unfiltered) failed(t *task, why string) {
	w.report(LevelDebug, "comparing everything with the relay at once failed", "cause", why)
	w.stored.abandon(t)
	w.end()
}

// paged ends a comparison of which the rest would have to be paged, which is too much. Either the relay withholds something, and by items
// graspd knows where to look, or the relay does not compare everything.
func (w *unfiltered) paged(t *task) {
	n := t.neg
	if n == nil || !n.Paged() {
		w.unlike(w.cfg.Resync, "too much differs, or it cannot be compared")
		return
	}
	w.hidden.Note(n.Missing(), true, w.now.Mono)
	w.failed(t, "something is withheld")
}

// turnedDown takes the refusal of a request. It reports whether that ends the comparison.
func (w *unfiltered) turnedDown(r *request, why refusal.Kind, text string) bool {
	if r.kind == asksIDs && why != refusal.TooMany && why != refusal.Full {
		return false
	}
	if why.Crowded() {
		w.stored.pause()
	}
	w.failed(r.task, text)
	return true
}

// unfit records that the relay does not bear the comparison, or does not answer it in full.
func (w *unfiltered) unfit(why string) { w.unlike(w.cfg.Resync, why) }

// crowded has the comparison asked once more after a pause.
func (w *unfiltered) crowded(t *task, text string) {
	if t.tries++; t.tries > 1 {
		w.unlike(w.cfg.Resync, text)
		return
	}
	w.stored.park(t)
}

// unlike has everything asked by items for a while, on this connection and on those that begin meanwhile.
func (w *unfiltered) unlike(wait time.Duration, why string) {
	w.notAlike(wait, why)
	w.end()
}

// notAlike has no connection begin as a whole for a while; the one that is open goes on as it does.
func (w *unfiltered) notAlike(wait time.Duration, why string) {
	if w.similarity.reject(w.now.Mono + wait) {
		w.report(LevelInfo, "graspd no longer compares everything with the relay at once", "cause", why, "wait", wait)
	}
}

// refused handles a CLOSED of the live REQ.
func (w *unfiltered) refused(l *livesubs.REQ, text string, from time.Time) {
	w.live.closeLive(l)
	switch why := refusal.Of(text); {
	case why == refusal.Rate:
		w.stored.pause()
	case why.Crowded(), why == refusal.Auth:
	default:
		w.notAlike(w.cfg.Resync, text)
	}
	w.live.requeue(l.Lots(), from, w.now.Mono, 0)
}

// hungUp takes the end of the connection. Where asking as a whole ended connections again and again, or one of them at once, graspd does not
// ask so for a while.
func (w *unfiltered) hungUp() {
	w.coverage.Unanswered() // what a comparison told will not be learnt
	under := false
	at := time.Duration(0) // when the last request without a filter was sent
	if w.req != nil && !w.req.Open {
		under, at = true, w.req.Sent.Mono
	}
	for _, g := range w.stored.groups {
		if !g.byItems() {
			under = true
			if r := g.tasks[0].req; r != nil && r.unheard() {
				at = r.progress
			}
		}
	}
	if !under {
		return
	}
	if often := w.similarity.countLost(); often || at > 0 && w.now.Mono < at+dropAfterOpen {
		w.notAlike(w.cfg.Resync, "connections end with it")
		return
	}
	w.similarity.after = w.now.Mono // what it was to tell is still to be found out
}

// cover takes what a comparison of everything told, and has the store say of which repositories the relay lacks events.
func (w *unfiltered) cover(t *task) {
	if w.coverage.Compared(w.want, t.lacks, !t.untold) {
		sub := w.newSub("w")
		w.coverage.Ask(sub)
		w.effect(Attribute{Sub: sub, IDs: t.lacks})
	}
}
