// Package relaysync keeps the store complete. The Engine folds the store's feed
// into one Want per remote relay; a shell per relay performs what its plan.Peer
// decides: it dials, sends requests, hands events to the door and tells the peer
// what happened. No decision is made here.
package relaysync

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/graspd/graspd/internal/contain"
	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/ingest"
	"github.com/graspd/graspd/internal/nip11"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/plan"
	"github.com/graspd/graspd/internal/policy"
	"github.com/graspd/graspd/internal/store"
)

// Conn is one open WebSocket connection. Read and Write may be called
// concurrently with each other and with Ping and Close, each by one goroutine.
type Conn interface {
	// Read returns the next text message; the bytes are valid until the next
	// Read. The errors relayconn.ErrBinary and relayconn.ErrTooLong leave the
	// connection as it is.
	Read(ctx context.Context) ([]byte, error)
	// Write sends one text message and does not keep b.
	Write(ctx context.Context, b []byte) error
	// Ping returns when the pong has come.
	Ping(ctx context.Context) error
	// ExpectLarge says that one message more may be large: the answer to a
	// message of a reconciliation.
	ExpectLarge()
	// Account says whose share of the memory for messages its messages take;
	// empty = its own.
	Account(party string)
	// Close ends the connection within a bounded time; Read and Write then fail.
	Close(reason string) error
}

// Dialer opens connections to remote relays.
type Dialer interface {
	// Dial connects within a time of its own.
	Dial(ctx context.Context, u grasp.RelayURL) (Conn, error)
	// Info reads the relay information document; any error means that none is known.
	Info(ctx context.Context, u grasp.RelayURL) (nip11.Document, error)
}

// Guard knows which relays are those of members.
type Guard interface {
	// Met is told at each connection what a relay says of itself, nothing where it does not say, and whose repositories name it.
	Met(u grasp.RelayURL, d nip11.Document, owners []nostr.PubKey)
	// Trusts reports whether the relay may be authenticated to, and shown what is stored here. It may become false at any time.
	Trusts(grasp.RelayURL) bool
}

// Config is what the Engine needs. Zero durations and numbers take the defaults.
type Config struct {
	Store     *store.Store
	Door      *ingest.Door
	Dialer    Dialer
	Service   grasp.Service
	Bootstrap []grasp.RelayURL
	Index     []grasp.RelayURL // asked for participants' lists of relays, where Peer.Mailboxes is on (GRASP-03)
	Lists     policy.Lists     // those to begin with
	Peer      plan.Config      // URL is set per relay
	Self      nostr.PubKey
	Sign      func(*nostr.Event) error // signs as Self, for relays that demand AUTH (NIP-42); nil = it never authenticates

	// Guard says which relays a private service trusts (GRASP-08); nil is a public one, which authenticates to all.
	Guard Guard

	Connected func(grasp.RelayURL) // told of each connection that has come about; it must not block. nil: nobody wants to know

	BatchWindow  time.Duration // in which changes of what is wanted are gathered at most
	CheckEvery   time.Duration // how often relays that nothing names any more are let go
	KeepEvery    time.Duration // how much of the relays' health a crash loses
	StartupDelay time.Duration // none
	MaxRelays    int           // connected at once, bootstrap relays aside
	DialsAtOnce  int           // one that takes longer than half a second counts no more
	LoadsAtOnce  int           // local sets read at once
	PingEvery    time.Duration // a connection is dead after two pings without an answer

	Now    func() plan.Now // needed; the wall clock without a monotonic reading
	Logger *slog.Logger
	Faults *contain.Faults // where faults in what serves one relay are noted; nil is nowhere
}

// Defaults are what zero fields take.
func Defaults() Config { return Config{}.withDefaults() }

func (c Config) withDefaults() Config {
	c.BatchWindow = cmp.Or(c.BatchWindow, 5*time.Second)
	c.CheckEvery = cmp.Or(c.CheckEvery, time.Minute)
	c.KeepEvery = cmp.Or(c.KeepEvery, time.Minute)
	c.MaxRelays = cmp.Or(c.MaxRelays, 500)
	c.DialsAtOnce = cmp.Or(c.DialsAtOnce, 64)
	c.LoadsAtOnce = cmp.Or(c.LoadsAtOnce, 4)
	c.PingEvery = cmp.Or(c.PingEvery, 30*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}
