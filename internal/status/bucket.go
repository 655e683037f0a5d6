package status

import (
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
)

// Bucket is the state of the bucket in which a relay keeps what it has. In JSON times are RFC 3339 in UTC.
type Bucket struct {
	Name      Text   `json:"name"`
	Position  uint64 `json:"position"`     // of the newest commit that is in it
	Late      int    `json:"late_commits"` // that are on this disk alone yet (--bucket-commit)
	LateSince Moment `json:"late_since"`   // since when the first of them is; null where there is none
	Term      uint64 `json:"term"`         // in which this relay writes it
	Log       Bytes  `json:"log_bytes"`    // of the commits since the newest snapshot, as was counted last
	Snapshot  Moment `json:"snapshot"`     // when the newest was made; null where there is none, or nobody has looked yet
	Away      Moment `json:"away_since"`   // since when the bucket has not answered; null while it does
	Requests  uint64 `json:"requests"`     // since the start
	Failed    uint64 `json:"failed"`       // requests that were refused or not answered
	Local     *Bytes `json:"local_bytes"`  // packs of repositories on this disk; null where no repositories are hosted
	Error     Text   `json:"error"`        // the last failure since Away
}

// Line sums it up in one line.
func (b *Bucket) Line(now time.Time) string {
	text := fmt.Sprintf("bucket %s: commit %d (term %d), %s of log", safetext.Printable(string(b.Name)), b.Position, b.Term, b.Log)
	if !b.Snapshot.IsZero() {
		text += " since the snapshot of " + b.Snapshot.UTC().Format(time.RFC3339)
	}
	if b.Local != nil {
		text += fmt.Sprintf("; %s of packs are on this disk", *b.Local)
	}
	text += fmt.Sprintf("; %s, %d failed", safetext.Number(b.Requests, "request", "requests"), b.Failed)
	if b.Late > 0 {
		text += fmt.Sprintf("; %s of the last %s on this disk alone yet", safetext.Number(uint64(b.Late), "commit", "commits"), Duration(now.Sub(b.LateSince.Time)))
	}
	if !b.Away.IsZero() {
		text += fmt.Sprintf("; no answer for %s: %s", Duration(now.Sub(b.Away.Time)), safetext.Printable(string(b.Error)))
	}
	return text
}
