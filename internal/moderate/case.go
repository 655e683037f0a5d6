package moderate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/words"
)

// Bounds of what is kept of decisions.
const (
	MaxCases   = 100_000 // subjects that are barred, or of which something is kept aside
	MaxEntries = 10_000  // of the journal; the oldest go
	MaxWhy     = 500     // bytes of a reason
	// MaxRepositories is how many a case names. Of others than the subject's own that it does not name, the git data is kept for a
	// day only, as of all whose announcements go.
	MaxRepositories = 1000
	longAddress     = 1000 // bytes; longer ones are not named
	MaxBy           = 200  // bytes of who decided
)

// Keep is for how long what is taken away is kept aside unless something else is asked for.
const Keep = 30 * 24 * time.Hour

// State is how far a Case has come.
type State string

// The states. In the first three the subject is barred.
const (
	Clearing  State = "clearing"  // what is here of it is being put aside
	Aside     State = "aside"     // all of it is
	Forgotten State = "forgotten" // it was kept for long enough: only that it is barred is left
	Returning State = "returning" // it is barred no more, and is being put back
	Left      State = "left"      // it is barred no more, and something could not be put back
)

// Case is one decision to take something away, and what became of it. Its number is that of its entry in the journal.
type Case struct {
	N            uint64               `json:"case"`
	Subject      Subject              `json:"subject"`
	By           string               `json:"by"`
	Why          string               `json:"why,omitempty"`
	Since        int64                `json:"since"`          // unix time
	Keep         int64                `json:"keep"`           // unix time until which it is kept aside
	List         bool                 `json:"list,omitempty"` // a list of the settings says so, and takes it back
	State        State                `json:"state"`
	Events       map[nostr.Kind]int64 `json:"events,omitempty"` // put aside, by kind
	Bytes        int64                `json:"bytes,omitempty"`  // of these
	Repositories []string             `json:"repositories,omitempty"`
}

// Barred reports whether nothing of the subject is taken.
func (c Case) Barred() bool { return c.State == Clearing || c.State == Aside || c.State == Forgotten }

// Holds reports whether something is kept aside, or is being put there.
func (c Case) Holds() bool { return c.State != Forgotten }

// Count adds an event that was put aside, or with n = -1 takes one away that was put back.
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

// Total is how many events there are.
func (c Case) Total() (n int64) {
	for _, x := range c.Events {
		n += x
	}
	return n
}

// KeepsData reports whether the git data of a repository is kept for the case.
func (c Case) KeepsData(a nip34.Address) bool {
	return c.Holds() && (c.Subject.Covers(a) || slices.Contains(c.Repositories, a.String()))
}

// Clone is a copy that shares nothing with c.
func (c Case) Clone() Case {
	c.Repositories, c.Events = slices.Clone(c.Repositories), maps.Clone(c.Events)
	return c
}

// What the journal says was done.
const (
	Deleted  = "deleted"
	Restored = "restored"
	Dropped  = "forgotten" // what was kept aside
	Set      = "set"       // something else about the relay
	Settled  = "dismissed" // a report
)

// Entry is one line of the journal.
type Entry struct {
	N            uint64               `json:"n"`
	At           int64                `json:"at"` // unix time
	By           string               `json:"by"`
	Did          string               `json:"did"`
	Subject      string               `json:"subject"`
	Why          string               `json:"why,omitempty"`
	Case         uint64               `json:"case,omitempty"`
	Events       map[nostr.Kind]int64 `json:"events,omitempty"`
	Bytes        int64                `json:"bytes,omitempty"`
	Repositories []string             `json:"repositories,omitempty"`
}

// Preview is what would go with a subject.
type Preview struct {
	Subject      Subject              `json:"subject"`
	Events       map[nostr.Kind]int64 `json:"events"`
	Bytes        int64                `json:"bytes"` // of the events
	Repositories []string             `json:"repositories"`
	GitBytes     int64                `json:"git_bytes"`
	More         bool                 `json:"more,omitempty"` // there is more: the count was ended
	Case         uint64               `json:"case,omitempty"` // it is barred by this one already
}

// Order is a decision as somebody gives it.
type Order struct {
	Subject Subject
	By, Why string
	Keep    time.Duration // 0 is the usual one
}

// Fit cuts what is too long, and says what is wrong with the rest.
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
	o.By, _ = words.Cut(o.By, MaxBy)
	o.Why, _ = words.Cut(o.Why, MaxWhy)
	return nil
}

// Encode is the row of a case or of an entry.
func Encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of these types none can fail
	}
	return b
}

// Decode reads what Encode has written.
func Decode[T Case | Entry](b []byte) (v T, err error) {
	if err := json.Unmarshal(b, &v); err != nil {
		return v, fmt.Errorf("a decision of the operator: %w", err)
	}
	return v, nil
}
