package peer

import (
	"cmp"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/history"
	"github.com/graspd/graspd/internal/sync/peer/reqfilter"
	"github.com/graspd/graspd/internal/sync/want"
)

// Config is what one peer needs to know. Zero durations and numbers take the defaults.
type Config struct {
	URL            want.URL
	Self           nostr.PubKey  // seeds the jitter
	BaseBackoff    time.Duration // after the first failure; it doubles
	MaxBackoff     time.Duration
	DeadAfter      time.Duration // of unbroken failure
	DeadRetry      time.Duration
	QuickReconnect time.Duration
	Resync         time.Duration // ± 1/24
	NoNegentropy   bool
	Mailboxes      bool           // lists of relays (NIP-65) of those who take part are asked for too (GRASP-03)
	MaxTags        int            // values per filter
	MaxFilters     int            // live filters before small REQs are merged
	WholeFrom      int            // items wanted from which on a relay may be asked as a whole
	Past           history.Record // what is remembered of the relay; zero = nothing
}

// Defaults are what zero fields take.
func Defaults() Config { return Config{}.WithDefaults() }

// WithDefaults is c where zero fields have their defaults.
func (c Config) WithDefaults() Config {
	c.BaseBackoff = cmp.Or(c.BaseBackoff, 5*time.Second)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, time.Hour)
	c.DeadAfter = cmp.Or(c.DeadAfter, 24*time.Hour)
	c.DeadRetry = cmp.Or(c.DeadRetry, 24*time.Hour)
	c.QuickReconnect = cmp.Or(c.QuickReconnect, 15*time.Minute)
	c.Resync = cmp.Or(c.Resync, 24*time.Hour)
	c.MaxTags = cmp.Or(c.MaxTags, reqfilter.MaxValues)
	c.MaxFilters = cmp.Or(c.MaxFilters, 70)
	c.WholeFrom = cmp.Or(c.WholeFrom, 500)
	return c
}

// Backoff says when the relay is tried again.
func (c Config) Backoff() backoff.Policy {
	return backoff.Policy{
		Self: c.Self, URL: string(c.URL), BaseBackoff: c.BaseBackoff, MaxBackoff: c.MaxBackoff, DeadAfter: c.DeadAfter, DeadRetry: c.DeadRetry,
	}
}
