// Package relaysync keeps the store complete. The Engine folds the store's feed
// into one Want per remote relay; a shell per relay performs what its plan.Peer
// decides: it dials, sends requests, hands events to the door and tells the peer
// what happened. No decision is made here.
package relaysync

import (
	"context"
	"log/slog"
	"time"

	"graspd/internal/contain"
	"graspd/internal/grasp"
	"graspd/internal/ingest"
	"graspd/internal/nip11"
	"graspd/internal/nostr"
	"graspd/internal/plan"
	"graspd/internal/policy"
	"graspd/internal/store"
	"graspd/internal/want"
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

// Config is what the Engine needs. Zero durations and numbers take the defaults.
type Config struct {
	Store     *store.Store
	Door      *ingest.Door
	Dialer    Dialer
	Service   grasp.Service
	Bootstrap []grasp.RelayURL
	Bounds    want.Bounds
	Lists     policy.Lists // those to begin with
	Peer      plan.Config  // URL is set per relay
	Self      nostr.PubKey
	Sign      func(*nostr.Event) error // signs as Self, for relays that demand AUTH (NIP-42); nil = it never authenticates

	BatchWindow  time.Duration // 5 s
	CheckEvery   time.Duration // 60 s
	KeepEvery    time.Duration // 60 s; how much of the relays' health a crash loses
	StartupDelay time.Duration
	MaxRelays    int           // 500
	DialsAtOnce  int           // 64; one that takes longer than half a second counts no more
	LoadsAtOnce  int           // local sets read at once (4)
	PingEvery    time.Duration // 30 s; a connection is dead after two pings without an answer

	Now    func() plan.Now // nil = the machine's clocks
	Logger *slog.Logger
	Faults *contain.Faults // where faults in what serves one relay are noted; nil is nowhere
}

func (c Config) withDefaults() Config {
	if c.BatchWindow == 0 {
		c.BatchWindow = 5 * time.Second
	}
	if c.CheckEvery == 0 {
		c.CheckEvery = time.Minute
	}
	if c.KeepEvery == 0 {
		c.KeepEvery = time.Minute
	}
	if c.MaxRelays == 0 {
		c.MaxRelays = 500
	}
	if c.DialsAtOnce == 0 {
		c.DialsAtOnce = 64
	}
	if c.LoadsAtOnce == 0 {
		c.LoadsAtOnce = 4
	}
	if c.PingEvery == 0 {
		c.PingEvery = 30 * time.Second
	}
	if c.Now == nil {
		start := time.Now()
		c.Now = func() plan.Now {
			t := time.Now()
			// Without its monotonic reading, so that a clock that is set, or a machine that slept, is noticed.
			return plan.Now{Mono: t.Sub(start), Wall: t.Round(0)}
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}
