package moderation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of decisions.
const (
	MaxCases   = 100_000 // subjects that are barred, or whose events are kept aside
	MaxEntries = 10_000  // in the journal; the oldest go
	MaxWhy     = 500     // bytes of a reason
	// MaxRepositories is how many repositories a case names. For those that it names, and for those of its subject, git data is kept as long as
	// the case keeps events. For any other it is kept for a day only, as for every repository whose announcement goes.
	MaxRepositories = 1000
	longAddress     = 1000 // bytes; a case names no longer addresses
	MaxBy           = 200  // bytes of the name of who decided
)

// Keep is how long a case keeps events aside, unless the order says otherwise.
const Keep = 30 * 24 * time.Hour

// State is how far a Case has come.
type State string

// The states. In the first three the subject is barred.
const (
	Clearing  State = "clearing"  // its events are being put aside
	Aside     State = "aside"     // all its events are aside
	Forgotten State = "forgotten" // its events were kept for long enough and are gone; it stays barred
	Returning State = "returning" // it is barred no more, and its events are being put back
	Left      State = "left"      // it is barred no more, and some events could not be put back
)

// Case is one decision to delete something, and what became of it. Its number is that of its entry in the journal.
type Case struct {
	N            uint64               `json:"case"`
	Subject      Subject              `json:"subject"`
	Title        string               `json:"title,omitempty"` // what people called it when the case was opened
	By           string               `json:"by"`
	Why          string               `json:"why,omitempty"`
	Since        int64                `json:"since"`          // unix time
	Keep         int64                `json:"keep"`           // unix time until which events are kept aside
	List         bool                 `json:"list,omitempty"` // a list of the settings decided, and takes it back
	State        State                `json:"state"`
	Events       map[nostr.Kind]int64 `json:"events,omitempty"` // how many are aside, by kind
	Bytes        int64                `json:"bytes,omitempty"`  // what these events take on the disk
	Repositories []string             `json:"repositories,omitempty"`
}

// Barred reports whether the relay takes nothing of the subject.
func (c Case) Barred() bool { return c.State == Clearing || c.State == Aside || c.State == Forgotten }

// Holds reports whether the case keeps events aside, or is putting them there.
func (c Case) Holds() bool { return c.State != Forgotten }

// Count counts an event that was put aside, with n = 1, or one that was put back, with n = -1.
func (c *Case) Count(e *nostr.Event, n int64) {
	if c.Events == nil {
		c.Events = map[nostr.Kind]int64{}
	}
	if c.Events[e.Kind] += n; c.Events[e.Kind] <= 0 {
		delete(c.Events, e.Kind)
	}
	c.Bytes = max(0, c.Bytes+n*int64(e.Size()))
	if a := e.Address(); n > 0 && e.Kind == nip34.KindRepository && len(a) <= longAddress && len(c.Repositories) < MaxRepositories &&
		!slices.Contains(c.Repositories, a) {
		c.Repositories = append(c.Repositories, a)
	}
}

// Total returns how many events are aside.
func (c Case) Total() (n int64) {
	for _, x := range c.Events {
		n += x
	}
	return n
}

// KeepsData reports whether the case keeps the git data of a repository.
func (c Case) KeepsData(a nip34.Address) bool {
	return c.Holds() && (c.Subject.Covers(a) || slices.Contains(c.Repositories, a.String()))
}

// Clone returns a copy that shares nothing with c.
func (c Case) Clone() Case {
	c.Repositories, c.Events = slices.Clone(c.Repositories), maps.Clone(c.Events)
	return c
}

// The deeds in the journal.
const (
	Deleted  = "deleted"
	Restored = "restored"
	Dropped  = "forgotten" // events that were kept aside
	Admitted = "allowed"   // an author, beside the allow list of the settings
	Excluded = "no longer allowed"
	Set      = "set"       // a setting, over the public address
	Settled  = "dismissed" // a report
)

// Entry is one line of the journal.
type Entry struct {
	N            uint64               `json:"n"`
	At           int64                `json:"at"` // unix time
	By           string               `json:"by"`
	Did          string               `json:"did"`
	Subject      string               `json:"subject"`
	Title        string               `json:"title,omitempty"` // what people called it
	Why          string               `json:"why,omitempty"`
	Case         uint64               `json:"case,omitempty"`
	Events       map[nostr.Kind]int64 `json:"events,omitempty"`
	Bytes        int64                `json:"bytes,omitempty"`
	Repositories []string             `json:"repositories,omitempty"`
}

// Preview says what would go with a subject.
type Preview struct {
	Subject      Subject              `json:"subject"`
	Title        string               `json:"title,omitempty"` // what people call it
	Events       map[nostr.Kind]int64 `json:"events"`
	Bytes        int64                `json:"bytes"` // of the events
	Repositories []string             `json:"repositories"`
	GitBytes     int64                `json:"git_bytes"`
	GitDir       string               `json:"git_dir,omitempty"` // where the git data of a repository is, as the name of its directory
	More         bool                 `json:"more,omitempty"`    // the count ended early: there is more
	Case         uint64               `json:"case,omitempty"`    // the case that bars it already
}

// Order is a decision as somebody gives it.
type Order struct {
	Subject Subject
	By, Why string
	Keep    time.Duration // 0 is the constant Keep
}

// Fit fills in Keep and cuts texts that are too long. It fails with what is wrong with the rest, ErrSubject where there is no subject.
func (o *Order) Fit() error {
	if o.Keep == 0 {
		o.Keep = Keep
	}
	if o.Keep < 0 || o.Keep > 100*365*24*time.Hour {
		return fmt.Errorf("want a time to keep it of up to 100 years, not %v", o.Keep)
	}
	if o.Subject == (Subject{}) {
		return ErrSubject
	}
	o.By, _ = safetext.Cut(o.By, MaxBy)
	o.Why, _ = safetext.Cut(o.Why, MaxWhy)
	return nil
}

// Encode returns the row of a case or of an entry.
func Encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // neither type can fail
	}
	return b
}

// Decode reads what Encode has written.
func Decode[T Case | Entry | Allowed](b []byte) (v T, err error) {
	if err := json.Unmarshal(b, &v); err != nil {
		return v, fmt.Errorf("a decision of the operator: %w", err)
	}
	return v, nil
}
