package plan

import (
	"github.com/graspd/graspd/internal/capacity"
	"github.com/graspd/graspd/internal/health"
	"github.com/graspd/graspd/internal/negentropy"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
	"github.com/graspd/graspd/internal/survey"
	"github.com/graspd/graspd/internal/want"
)

// Now is a reading of both clocks.
type Now = health.Now

// Input is what can happen to a peer. The set is closed.
type Input interface{ input() }

type (
	// Wanted replaces all of the Want; nil means that the relay is wanted no more.
	Wanted struct{ Want *want.Want }
	// Connected reports an open connection and what the relay tells of itself.
	Connected struct {
		Limits   Limits
		Outsider bool // it is not to be shown what is here: nothing is reconciled with it on this connection, nor surveyed for it
	}
	// DialFailed reports that no connection came about.
	DialFailed struct {
		Reason  string
		SlowIt  bool // the refusal asked to slow down (HTTP 429)
		Ourself bool // the relay proved to be this one
	}
	// Disconnected reports the end of an open connection.
	Disconnected struct{ Reason string }
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
		New     bool         // stored now, not before
		Event   *nostr.Event // the event, where it is New
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
	// Dated is the id of an event and its creation time in Unix seconds.
	Dated struct {
		ID nostr.ID
		At int64
	}
	// Sifted answers a Sift.
	Sifted struct {
		Sub     string
		Unknown []nostr.ID // in the order asked
		Known   []Dated    // likewise
		Failed  bool       // the store could not be read
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
		survey.Answer
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

// Limits is what a relay tells of itself.
type Limits = capacity.Limits

// Class says what a request is for; events carry it as their source.
type Class uint8

// The classes of requests.
const (
	Live    Class = iota
	Catchup       // stored events after a start, a reconnect or for new items
	Daily         // stored events of the full resync
)

// String is the name of the source in metrics.
func (c Class) String() string { return [...]string{"live", "catchup", "daily"}[c] }

// Effect is what the shell has to do, in the order given. The set is closed.
type Effect interface{ effect() }

type (
	// Dial opens a connection; exactly one Connected or DialFailed answers.
	Dial struct{}
	// HangUp closes the connection. No Disconnected follows.
	HangUp struct{ Reason string }
	// Request sends a REQ.
	Request struct {
		Sub     string
		Class   Class
		Filters []nostr.Filter
	}
	// CloseRequest sends CLOSE for a REQ; its late events are not held against the relay.
	CloseRequest struct{ Sub string }
	// Forget says that a REQ has ended by the relay's own word: no CLOSE is sent.
	Forget struct{ Sub string }
	// LoadSet reads the local (time, id) pairs of a filter; exactly one Loaded answers. With Most there is none where
	// that many are exceeded, and a set of not long ago will do.
	LoadSet struct {
		Sub    string
		Filter nostr.Filter
		Most   int // 0 = any number
	}
	// Sift asks which ids are unknown here, neither stored nor remembered; exactly
	// one Sifted answers. The slice is not changed afterwards.
	Sift struct {
		Sub string
		IDs []nostr.ID
	}
	// Survey reads a page of what is stored. Exactly one Surveyed answers. Its
	// slices are not changed afterwards.
	Survey struct {
		Sub string
		survey.Query
	}
	// Attribute asks what stored events name; exactly one Attributed answers. The
	// slice is not changed afterwards.
	Attribute struct {
		Sub string
		IDs []nostr.ID
	}
	// OpenNeg sends NEG-OPEN.
	OpenNeg struct {
		Sub    string
		Filter nostr.Filter
		Msg    []byte
	}
	// ContinueNeg sends NEG-MSG.
	ContinueNeg struct {
		Sub string
		Msg []byte
	}
	// CloseNeg sends NEG-CLOSE.
	CloseNeg struct{ Sub string }
	// Authenticate signs the challenge with this relay's own key and sends AUTH
	// (NIP-42); at most one Authenticated answers.
	Authenticate struct{ Challenge string }
	// Report is something that the operator should read; one line.
	Report struct {
		Level Level
		Text  string
		Args  []any // slog key-value pairs
	}
)

func (Dial) effect()         {}
func (HangUp) effect()       {}
func (Request) effect()      {}
func (CloseRequest) effect() {}
func (Forget) effect()       {}
func (LoadSet) effect()      {}
func (Sift) effect()         {}
func (Survey) effect()       {}
func (Attribute) effect()    {}
func (OpenNeg) effect()      {}
func (ContinueNeg) effect()  {}
func (CloseNeg) effect()     {}
func (Authenticate) effect() {}
func (Report) effect()       {}

// Level is the weight of a Report.
type Level int8

// The levels, as log/slog counts them.
const (
	Debug Level = -4
	Info  Level = 0
	Warn  Level = 4
	Error Level = 8
)
