package ingest

import "time"

// trouble is a row of failures of this relay's own, mostly of commits.
type trouble struct {
	last time.Time // when the last one came; zero where none has come since the last commit
}

// add counts a failure, and logs the first of a row.
func (t *trouble) add(d *Door, err error) {
	d.counts.failures.Add(1)
	if t.last.IsZero() {
		d.log.Error("events are not stored", "error", err)
	}
	t.last = time.Now()
}

// end counts a commit, and logs the end of a row.
func (t *trouble) end(d *Door) {
	d.counts.commits.Add(1)
	if !t.last.IsZero() {
		d.log.Info("events are stored again", "after", time.Since(t.last))
		t.last = time.Time{}
	}
}

// over returns when the writer tries again what nobody waits for; the zero time where nothing has failed.
func (t *trouble) over() time.Time {
	if t.last.IsZero() {
		return time.Time{}
	}
	return t.last.Add(retryPause)
}

// fresh reports whether something failed just now, so that the writer tries only what somebody waits for.
func (t *trouble) fresh() bool { return time.Now().Before(t.over()) }
