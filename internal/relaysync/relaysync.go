// Package relaysync keeps the store complete. The Engine folds the store's feed into one Want per remote relay. A shell per relay performs
// what its plan.Peer decides: the shell dials, sends requests, hands events to the door, and tells the plan.Peer what happened. What to
// ask of a relay is decided in plan, and which relays are connected to in slots. Decided here is only what the machinery needs: when a
// connection is dead, how long an ended request is known, and how long a local set is used again.
package relaysync

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/graspd/graspd/internal/contain"
	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/health"
	"github.com/graspd/graspd/internal/ingest"
	"github.com/graspd/graspd/internal/nip11"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/plan"
	"github.com/graspd/graspd/internal/policy"
	"github.com/graspd/graspd/internal/store"
)

// Conn is one open WebSocket connection. One goroutine may call Read and another Write, while others call Ping, Close, ExpectLarge and
// SetParty.
type Conn interface {
	// Read waits for the next text message. The bytes are valid until the next Read. After the errors relayconn.ErrBinary and
	// relayconn.ErrTooLong, which are about one message, Read may be called again; after any other it may not.
	Read(ctx context.Context) ([]byte, error)
	// Write sends one text message, waiting until it is handed to the system, and does not keep b.
	Write(ctx context.Context, b []byte) error
	// Ping sends a ping and waits for the pong, which comes only while somebody reads.
	Ping(ctx context.Context) error
	// ExpectLarge lets one more message be large: the answer to a message of a reconciliation.
	ExpectLarge()
	// SetParty says whose share of the memory for messages the connection's messages take from now on. Empty is the relay's own.
	SetParty(party string)
	// Close ends the connection within a bounded time; Read and Write then fail.
	Close(reason string) error
}

// Dialer opens connections to remote relays.
type Dialer interface {
	// Dial connects, and gives up after a time of its own.
	Dial(ctx context.Context, u grasp.RelayURL) (Conn, error)
	// Info reads the relay information document (NIP-11). After any error the relay counts as one without a document.
	Info(ctx context.Context, u grasp.RelayURL) (nip11.Document, error)
}

// Guard knows which relays are those of members.
type Guard interface {
	// Met hears at each connection the relay's document, an empty one where there is none, and the owners whose repositories name the
	// relay.
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

	Connected func(grasp.RelayURL) // called after each connection that has come about; it must not block. nil: nobody wants to know

	BatchWindow  time.Duration // for how long at most changes of what is wanted are gathered; 5 s
	CheckEvery   time.Duration // how often relays that nothing names any more are let go, and slots assigned anew; 1 min
	KeepEvery    time.Duration // how often records are written, and so how much of them a crash loses; 1 min
	StartupDelay time.Duration // before anything is read or dialed; none
	MaxRelays    int           // connected at once, bootstrap relays aside; 500
	DialsAtOnce  int           // a dial that takes longer than half a second counts no more; 64
	LoadsAtOnce  int           // local sets that are read at once, as each reads much of the store; 4
	PingEvery    time.Duration // a connection is dead after two pings without an answer; 30 s

	Now    func() health.Now // needed; the wall clock without a monotonic reading
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
	c.Peer = c.Peer.WithDefaults()
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}
