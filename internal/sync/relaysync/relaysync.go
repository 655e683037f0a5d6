// Package relaysync keeps the store complete. The Engine folds the store's feed into one Want per remote relay. A shell per relay performs
// what its peer.Peer decides: the shell dials, sends requests, hands events to the door, and tells the peer.Peer what happened. Package peer
// decides what to ask a relay, and package slots to which relays to connect. This package decides only what the machinery needs: when a
// connection is dead, how long it remembers an ended request, and how long it uses a local set again.
package relaysync

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
)

// Conn is one open WebSocket connection. One goroutine may call Read and another Write, while others call Ping, Close, ExpectLarge and
// SetParty.
type Conn interface {
	// Read waits for the next text message. The bytes are valid until the next Read. After the errors relayconn.ErrBinary and
	// relayconn.ErrTooLong, which concern one message, the caller may call Read again; after any other error it may not.
	Read(ctx context.Context) ([]byte, error)
	// Write sends one text message. It waits until the system has taken the message, and does not keep b.
	Write(ctx context.Context, b []byte) error
	// Ping sends a ping and waits for the pong, which comes only while somebody reads.
	Ping(ctx context.Context) error
	// ExpectLarge lets one more message be large: the answer to a message of a reconciliation.
	ExpectLarge()
	// SetParty says from whose share of the memory the connection's messages take from now on. Empty stands for the relay's own share.
	SetParty(party string)
	// Close ends the connection within a bounded time; Read and Write then fail.
	Close(reason string) error
}

// Dialer opens connections to remote relays.
type Dialer interface {
	// Dial connects. It bounds its time itself.
	Dial(ctx context.Context, u grasp.RelayURL) (Conn, error)
	// Info reads the relay information document (NIP-11). After any error the relay counts as one without a document.
	Info(ctx context.Context, u grasp.RelayURL) (nip11.Document, error)
}

// Guard knows which relays belong to members of a private service.
type Guard interface {
	// Met is told, at each connection, the relay's document, an empty one where there is none, and the owners whose repositories name
	// the relay.
	Met(u grasp.RelayURL, d nip11.Document, owners []nostr.PubKey)
	// Trusts reports whether graspd may authenticate to the relay, and show it which events are here. It may become false at any time.
	Trusts(grasp.RelayURL) bool
}

// Config says what an Engine works with. Durations and numbers that are zero have the defaults beside them.
type Config struct {
	Store     *store.Store
	Door      *ingest.Door
	Dialer    Dialer
	Service   grasp.Service
	Bootstrap []grasp.RelayURL
	Index     []grasp.RelayURL // relays to ask for participants' lists of relays, where Peer.Mailboxes is on (GRASP-03)
	Lists     policy.Lists     // the lists at the start
	Peer      peer.Config      // the Engine sets URL per relay
	Self      nostr.PubKey
	Sign      func(*nostr.Event) error // signs as Self, for relays that demand AUTH (NIP-42); nil = the Engine never authenticates

	// Guard says which relays a private service trusts (GRASP-08); nil is for a public service, which authenticates to all.
	Guard Guard

	BatchWindow  time.Duration // the longest time for which changes of Wants are gathered; 5 s
	CheckEvery   time.Duration // how often to let relays go that nothing names any more, and to assign slots anew; 1 min
	KeepEvery    time.Duration // how often to write records, and so how much of them a crash loses; 1 min
	StartupDelay time.Duration // how long to wait before reading or dialing anything; none
	MaxRelays    int           // relays connected at once, besides bootstrap relays; 500
	DialsAtOnce  int           // dials under way at once; a dial that takes longer than half a second counts no more; 64
	LoadsAtOnce  int           // local sets read at once, as each reads much of the store; 4
	PingEvery    time.Duration // the time between pings; a connection is dead after two pings without an answer; 30 s

	Now    func() backoff.Now // required; the wall clock without a monotonic reading
	Logger *slog.Logger
	Faults *contain.Faults // notes faults in code that serves one relay; nil is nothing
}

// Defaults returns a Config with the default of every field that has one.
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
