package peer

import (
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/threads"
)

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
	// Survey walks through what is stored. Exactly one Surveyed answers. Its
	// slices are not changed afterwards.
	Survey struct {
		Sub string
		threads.Values
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
