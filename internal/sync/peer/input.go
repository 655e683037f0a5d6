package peer

import (
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/peer/threads"
	"github.com/graspd/graspd/internal/sync/want"
)

// Input is what can happen to a peer. The set is closed.
type Input interface{ input() }

type (
	// Wanted replaces all of the Want; nil means that the relay is wanted no more.
	Wanted struct{ Want *want.Want }
	// Connected reports an open connection and what the relay tells of itself.
	Connected struct {
		Limits   capacity.Limits
		Outsider bool // it is not to be shown what is here: nothing is reconciled with it on this connection, nor surveyed for it
	}
	// DialFailed reports that no connection came about.
	DialFailed struct {
		Reason  string
		SlowIt  bool // the refusal asked to slow down (HTTP 429)
		Ourself bool // the relay proved to be this one
	}
	// Disconnected reports the end of an open connection. Flood says that the relay sent too much that brings nothing. TooLong is the size of
	// the longest message that was sent on the connection, in bytes, where the relay ended it for a message that was too long, else 0.
	Disconnected struct {
		Reason  string
		Flood   bool
		TooLong int
	}
	// Received reports an event for an open request, before it is decided.
	Received struct {
		Sub string
		ID  nostr.ID
		At  int64
	}
	// Decided reports the verdict on an event that Received announced.
	Decided struct {
		Sub     string
		ID      nostr.ID
		Outcome policy.Outcome
		New     bool         // stored now, not before, or waiting for its git data since now
		Event   *nostr.Event // the event, where it is New and stored
		Failed  bool         // not decided for a reason of our own (disk, shutdown)
	}
	// Unasked reports frames that were forged, malformed or not asked for.
	Unasked struct{ Count int }
	// Alive reports any other sign of life, such as a pong.
	Alive struct{}
	// Loaded brings the local set for a reconciliation; a nil set means that it could not be read.
	Loaded struct {
		Sub    string
		Set    *negentropy.Set
		Large  bool    // there is no set because there is too much
		Values []int16 // per item of the set: the place, in the only list of the filter, of a value it is found under, 0 without such a list; or coverage.NoValue
	}
	// Sifted answers a Sift.
	Sifted struct {
		Sub     string
		Unknown []nostr.ID    // in the order asked
		Known   []nostr.Stamp // in the order asked
		Failed  bool          // the store could not be read
	}
	// Authenticated brings the relay's answer to an Authenticate (NIP-42); also
	// when this relay could not sign.
	Authenticated struct {
		OK     bool
		Reason string
	}
	// Surveyed answers a Survey.
	Surveyed struct {
		Sub string
		threads.Reached
		Failed bool // the store could not be read
	}
	// Attributed answers an Attribute.
	Attributed struct {
		Sub    string
		Names  [][]string // of each event that is here: coverage.NamesOf
		Failed bool       // the store could not be read
	}
	// Frame brings an EOSE, CLOSED, NOTICE, NEG-MSG, NEG-ERR, NEG-CLOSE or AUTH message.
	Frame struct{ Message nostr.RelayMessage }
	// Retry says that the operator wants a connection now, whatever the backoff.
	Retry struct{}
	// Reconsider says that what was refused before may be taken now, so that everything is to be asked again.
	Reconsider struct{}
	// Tick says that the time of Wake has come.
	Tick struct{}
)

func (Wanted) input()        {}
func (Connected) input()     {}
func (DialFailed) input()    {}
func (Disconnected) input()  {}
func (Received) input()      {}
func (Decided) input()       {}
func (Unasked) input()       {}
func (Alive) input()         {}
func (Loaded) input()        {}
func (Sifted) input()        {}
func (Authenticated) input() {}
func (Surveyed) input()      {}
func (Attributed) input()    {}
func (Frame) input()         {}
func (Retry) input()         {}
func (Reconsider) input()    {}
func (Tick) input()          {}
