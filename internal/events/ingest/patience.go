package ingest

import (
	"errors"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
)

// patience is how long whoever brings an event waits for a commit log that does not answer, and awayTurn how often those are answered then who have
// come since.
const (
	patience = 15 * time.Second
	awayTurn = time.Second
)

// errAway is why nothing is stored meanwhile.
var errAway = errors.New("the commit log does not answer")

// verdictAway is the verdict on an event of which it is not known whether it is stored, or that nobody decides at the moment.
var verdictAway = policy.Verdict{Outcome: policy.Failed, Reason: "error: " + NoWriter}

// NoWriter is what people hear whom nobody can answer at the moment.
const NoWriter = "no node takes writes at the moment; try again"

// settle commits the batch. A commit log may not answer for long, and as long nobody knows what became of the commit, nothing can be decided: then
// who waits for a verdict on an event hears that they are to try again. Who has exclusive work in the batch, such as a push, waits on.
func (r *openBatch) settle(w *writer) error {
	b := r.batch
	if w.door.store.Deposed() == nil { // the disk alone decides
		_, err := b.Commit()
		return err
	}
	done := make(chan error, 1)
	go func() {
		_, err := b.Commit()
		done <- err
	}()
	t := time.NewTimer(patience)
	defer t.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-t.C:
			if w.trouble.last.IsZero() {
				w.trouble.add(w.door, errAway)
			}
			w.reply(append(r.givenUp(), w.door.givenUp()...))
			t.Reset(awayTurn)
		}
	}
}

// givenUp takes the answers on events out of the batch.
func (r *openBatch) givenUp() (told []answer) {
	var work []answer
	for _, a := range r.answers {
		if a.work != nil {
			work = append(work, a)
			continue
		}
		if !a.stands {
			a.verdict = verdictAway
		}
		told = append(told, a)
	}
	r.answers = work
	return told
}

// givenUp takes the events that wait for the writer, with an answer to each.
func (d *Door) givenUp() (told []answer) {
	for it := d.takeReady(false); it != nil; it = d.takeReady(false) {
		a := answer{decision: decision{item: it}, verdict: verdictAway}
		if it.stands && !it.recalled {
			a.verdict, a.stands = it.verdict, true
		}
		told = append(told, a)
	}
	return told
}
