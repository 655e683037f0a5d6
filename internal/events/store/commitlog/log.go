// Package commitlog has the log of commits of a store that several machines share, or that outlives its machine: what an entry is, and the one
// primitive by which entries come. The package does not know what keys and values mean. Read Log first.
package commitlog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// Position numbers the entries of a log, from 1 on, without a gap. 0 is before all.
type Position uint64

// Chain stands for everything up to an entry: SHA-256 of the chain before and the entry's body. Two logs with one chain at a position are the
// same up to there. The zero Chain is before all.
type Chain [sha256.Size]byte

// After returns the chain of an entry with that body that comes after c.
func (c Chain) After(body []byte) Chain {
	h := sha256.New()
	h.Write(c[:])
	h.Write(body)
	return Chain(h.Sum(nil))
}

// String returns the beginning of the chain, in hex.
func (c Chain) String() string { return hex.EncodeToString(c[:8]) }

// Result says what became of an Append.
type Result uint8

// The results of an Append. Unknown says nothing: the entry may be there, may come later, or never.
const (
	Unknown Result = iota
	Done           // the entry is there, and nothing else ever will be at its position
	Refused        // an entry was there before
)

// String returns a word for the result.
func (r Result) String() string {
	switch r {
	case Done:
		return "done"
	case Refused:
		return "refused"
	}
	return "unknown"
}

// Log is the order of commits. It decides which commit comes next, and nothing else decides that.
//
// A log has at most one entry at each position, which never changes. Any number of processes may append to a log and read it.
type Log interface {
	// Append puts an entry at a position, unless one is there. before is the chain of the entry before. Append looks at no other entry, so it
	// is the caller who knows that the one before is there. With Unknown there is an error that says why, ErrClosed where it stays unknown; with
	// Done and Refused there is none. Append tries once and keeps nothing of body.
	Append(ctx context.Context, at Position, before Chain, body []byte) (Result, error)

	// Read returns the entry at a position, ErrNone where there is none yet, and ErrGap where there is none and later ones are. After any other
	// error nothing is known, and with ErrClosed that stays so. Read sees each entry whose Append has returned Done or Refused.
	Read(ctx context.Context, at Position) (Entry, error)
}

// Errors of entries that callers tell apart.
var (
	ErrClosed   = errors.New("the log is closed") // nothing more will be known
	ErrNone     = errors.New("the log has no entry at this position")
	ErrGap      = errors.New("the log has no entry at this position, and later ones") // its beginning was removed
	ErrHistory  = errors.New("the log has another history")                           // it was set back, or belongs to another service
	ErrDamaged  = errors.New("an entry of the log is damaged")
	ErrFormat   = errors.New("an entry of the log has the format of another version")
	ErrTooLarge = fmt.Errorf("a commit has more than %d MiB, or %d keys", MaxSize>>20, MaxKeys)
)

// Entry is one entry as a log has it.
type Entry struct {
	At    Position
	Chain Chain
	Body  []byte // see Body
}

// NewEntry makes the entry with that body at a position.
func NewEntry(at Position, before Chain, body []byte) Entry {
	return Entry{at, before.After(body), body}
}

// Follows reports whether the entry is the one after a position with that chain.
func (e Entry) Follows(at Position, before Chain) bool {
	return e.At == at+1 && e.Chain == before.After(e.Body)
}

// Append appends the entry to dst as an object has it: its chain, then its body. The object's name has the position.
func (e Entry) Append(dst []byte) []byte { return append(append(dst, e.Chain[:]...), e.Body...) }

// ParseEntry reads the object of a position. The entry's body is a part of object.
func ParseEntry(at Position, object []byte) (Entry, error) {
	if len(object) < len(Chain{}) {
		return Entry{}, fmt.Errorf("%w: position %d has %d bytes", ErrDamaged, at, len(object))
	}
	return Entry{at, Chain(object), object[len(Chain{}):]}, nil
}
