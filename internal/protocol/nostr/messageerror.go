package nostr

import (
	"errors"
	"strings"
)

// MessageError says why a frame is no message. A MessageError holds what the parser understood of the frame, so that AppendReply can answer
// in the way that belongs to the verb.
type MessageError struct {
	Verb   string // "" where it is unknown
	Sub    string // "" where there is none, or none that is valid
	ID     ID     // of the event in an EVENT, AUTH or OK
	HasID  bool
	At     int64  // created_at of the event in an EVENT; 0 where it could not be read
	Reason string // with a machine-readable prefix of NIP-01, fit to be sent
	err    error
}

// Error returns the verb and the reason.
func (e *MessageError) Error() string {
	if e.Verb == "" {
		return e.Reason
	}
	return e.Verb + ": " + e.Reason
}

// Unwrap returns the cause, such as ErrUnsupported.
func (e *MessageError) Unwrap() error { return e.err }

// AppendReply appends to dst what a relay answers to the frame: OK false where the event has an id, CLOSED or NEG-ERR where the
// subscription is known, NOTICE otherwise.
func (e *MessageError) AppendReply(dst []byte) []byte {
	switch e.Verb {
	case "EVENT", "AUTH":
		if e.HasID {
			return AppendOK(dst, e.ID, false, e.Reason)
		}
	case "REQ", "COUNT":
		if e.Sub != "" {
			return AppendClosed(dst, e.Sub, e.Reason)
		}
	case "NEG-OPEN", "NEG-MSG":
		if e.Sub != "" {
			return AppendNegErr(dst, e.Sub, e.Reason, 0)
		}
	}
	return AppendNotice(dst, e.Reason)
}

// because returns the finished error: a copy of the notes in e, with the cause.
func (e MessageError) because(err error) *MessageError {
	prefix := "invalid: "
	if errors.Is(err, ErrUnsupported) {
		prefix = "unsupported: "
	}
	e.Verb = strings.Clone(e.Verb)
	e.err, e.Reason = err, prefix+err.Error()
	return &e
}
