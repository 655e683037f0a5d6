package status

import (
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
)

// Backups is the state of the backups that a relay makes by itself. In JSON times are RFC 3339 in UTC.
type Backups struct {
	Dir          Text    `json:"dir"`
	Every        Seconds `json:"every_seconds"`
	Keep         int     `json:"keep"`
	Kept         int     `json:"kept"`  // complete backups in Dir
	Bytes        Bytes   `json:"bytes"` // of the complete backups
	Last         Moment  `json:"last"`  // when the newest complete one began; null where there is none
	Next         Moment  `json:"next"`  // when the next one begins
	Running      bool    `json:"running"`
	Done         Bytes   `json:"done_bytes"` // of the one under way
	Size         Bytes   `json:"size_bytes"` // size of the one under way; 0 while it is not known
	Failures     int     `json:"failures"`   // in a row
	FailingSince Moment  `json:"failing_since"`
	Cause        Text    `json:"cause"` // of the last failure
	Cut          Text    `json:"cut"`   // a file with the name of a complete backup that is none
}

// Line sums the backups up in one line.
func (b *Backups) Line(now time.Time) string {
	text := fmt.Sprintf("backups: %d in %s, %s", b.Kept, safetext.Printable(string(b.Dir)), b.Bytes)
	if !b.Last.IsZero() {
		text += ", the newest of " + b.Last.UTC().Format(time.RFC3339)
	}
	switch {
	case b.Running && b.Size > 0:
		return text + fmt.Sprintf("; one is being made, %s of %s", b.Done, b.Size)
	case b.Running:
		return text + "; one is being made"
	case b.Next.IsZero():
		return text
	}
	return text + "; the next one " + Until(b.Next.Sub(now))
}

// Problem says what the operator should look after; "" where all is well.
func (b *Backups) Problem(now time.Time) string {
	newest := "there is no whole one"
	if !b.Last.IsZero() {
		newest = "the newest whole one is of " + b.Last.UTC().Format(time.RFC3339)
	}
	dir := safetext.Printable(string(b.Dir))
	switch {
	case b.Failures > 0:
		return fmt.Sprintf("backups to %s fail since %s: %s; %s", dir, b.FailingSince.UTC().Format(time.RFC3339), safetext.Printable(string(b.Cause)), newest)
	case b.Cut != "":
		return fmt.Sprintf("%s in %s is no whole backup: it was cut short; remove it", safetext.Printable(string(b.Cut)), dir)
	case !b.Last.IsZero() && now.Sub(b.Last.Time) > 2*b.Every.Duration+time.Hour:
		return fmt.Sprintf("no backup to %s was made for %s; %s", dir, Duration(now.Sub(b.Last.Time)), newest)
	}
	return ""
}
