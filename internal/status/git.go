package status

import (
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Git is the state of this relay as a host of repositories. In JSON times are RFC 3339 in UTC.
type Git struct {
	Repositories int         `json:"repositories"` // with data
	Bytes        Bytes       `json:"bytes"`        // about how much of the disk the repositories take
	Pushes       int64       `json:"pushes_under_way"`
	Fetches      int64       `json:"fetches_under_way"`
	Uploads      int         `json:"uploads"` // commits that were pushed for events that are still to come
	UploadBytes  Bytes       `json:"upload_bytes"`
	Waiting      int64       `json:"waiting_events"` // events that wait for git data, all
	Waits        []Wait      `json:"waits"`          // the first of the events that wait
	Refused      []Refusal   `json:"refused_pushes"` // the last pushes that were refused or failed, the newest first
	Processes    []Processes `json:"processes"`
	Sync         *GitSync    `json:"sync,omitempty"` // nil where nothing is fetched
}

// Wait is an event that is not served until its git data is here.
type Wait struct {
	ID         string     `json:"id"`
	Kind       nostr.Kind `json:"kind"`
	Repository Text       `json:"repository"`
	Why        Text       `json:"why"`
	Until      Moment     `json:"until"`
}

// Refusal is a push that failed, or of which something was refused. It does not say whose push it was.
type Refusal struct {
	At         Moment `json:"at"`
	Repository Text   `json:"repository"`
	Reason     Text   `json:"reason"`
}

// Processes has figures of the git processes for one kind of work.
type Processes struct {
	Kind    string `json:"kind"`
	Running int    `json:"running"`
	Queued  int    `json:"queued"`
	Refused uint64 `json:"refused"` // since the start, as too many waited
	Ended   uint64 `json:"ended"`
	Failed  uint64 `json:"failed"` // how many of the ended ones failed
}

// Bytes is a size in bytes.
type Bytes int64

func (b Bytes) String() string {
	switch {
	case b >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(b)/(1<<30))
	case b >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(b)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", b>>10)
}
