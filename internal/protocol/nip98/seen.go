package nip98

import (
	"errors"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// MaxSeen is how many authorizations a Seen remembers, and seenFor for how long: no authorization is good for longer after it came.
const (
	MaxSeen = 1000
	seenFor = 2 * Age
)

// Errors of Seen.
var (
	ErrReplayed = errors.New("the authorization was used before")
	ErrMany     = errors.New("too many authorizations in two minutes: try again later")
)

// Seen remembers the authorizations that were used, so that each is good for one request. The zero value has seen none. One goroutine
// uses a Seen at a time.
type Seen struct{ used []used } // the oldest first

type used struct {
	id nostr.ID
	at time.Time
}

// Use notes an authorization that Check has found good. It fails with ErrReplayed where the authorization was used before, and with
// ErrMany while the Seen is full.
func (s *Seen) Use(id nostr.ID, now time.Time) error {
	s.used = slices.DeleteFunc(s.used, func(u used) bool { return now.Sub(u.at) > seenFor })
	switch {
	case slices.ContainsFunc(s.used, func(u used) bool { return u.id == id }):
		return ErrReplayed
	case len(s.used) >= MaxSeen:
		return ErrMany
	}
	s.used = append(s.used, used{id, now})
	return nil
}
