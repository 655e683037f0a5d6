// Package objects has what is asked of an object store: things with names that are written once, read in parts, listed in order and deleted.
// These are not the objects of git. Read Store first, then Try, which finds out whether a store keeps what Store promises.
package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Outcome says what became of a Put.
type Outcome uint8

// The outcomes of a Put. Unknown says nothing: the object may be there, may come later, or never.
const (
	Unknown Outcome = iota
	Done            // the object is there as it was given, and this Put has written it
	Exists          // an object had the name before
)

// String returns a word for the outcome.
func (o Outcome) String() string {
	switch o {
	case Done:
		return "done"
	case Exists:
		return "exists"
	}
	return "unknown"
}

// Bounds of what a store is asked.
const (
	MaxSize = 5 << 30  // bytes of an object: the most that S3 takes at once
	MaxPart = 64 << 20 // bytes of one Get
	MaxList = 1000     // objects of one List
	MaxName = 512      // bytes of a name
)

// Errors that callers tell apart.
var (
	ErrNone = errors.New("the object store has no such object")
	ErrName = errors.New("no name of an object")
	ErrSize = errors.New("larger than an object store takes at once")
)

// Body is what an object has, such as a *bytes.Reader or an *io.SectionReader.
type Body interface {
	io.ReaderAt
	Size() int64
}

// Info is what a list says of an object.
type Info struct {
	Name string
	Size int64
}

// Store is an object store. An object is never changed: Put alone writes it, and only where none has its name. Any number of processes may use
// one store. What a Put has written, every later Get, Head and List sees; what a Delete has removed, none of them sees. Each method asks the
// store once, and after an error other than those that are named here nothing is known.
type Store interface {
	// Put writes an object unless one has its name. With Unknown there is an error that says why; with Done and Exists there is none.
	Put(ctx context.Context, name string, body Body) (Outcome, error)

	// Get reads n bytes from an offset on, or as many as there are up to the object's end; none where the object ends before the offset. It
	// fails with ErrNone where there is no object.
	Get(ctx context.Context, name string, from int64, n int) ([]byte, error)

	// Head says what a list says of one object. It fails with ErrNone where there is none.
	Head(ctx context.Context, name string) (Info, error)

	// List returns the objects whose names begin with prefix and come after a name, by the bytes of their names, at most so many. Where it
	// returns fewer there are no more.
	List(ctx context.Context, prefix, after string, most int) ([]Info, error)

	// Delete removes an object. It is no error that there is none.
	Delete(ctx context.Context, name string) error
}

// CheckName returns nil for what may be an object's name: small letters, digits, hyphens, dots and underscores, in parts between slashes.
func CheckName(name string) error {
	if len(name) > MaxName {
		return fmt.Errorf("%w: it has %d bytes, at most %d", ErrName, len(name), MaxName)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789-._") != "" {
			return fmt.Errorf("%w: %q", ErrName, name)
		}
	}
	return nil
}

// CheckPut returns nil for what may be given to Put.
func CheckPut(name string, body Body) error {
	if n := body.Size(); n > MaxSize {
		return fmt.Errorf("%w: %s has %d bytes", ErrSize, name, n)
	}
	return CheckName(name)
}

// CheckPart returns nil for a part that Get may be asked for.
func CheckPart(name string, from int64, n int) error {
	if from < 0 || n < 1 || n > MaxPart {
		return fmt.Errorf("%w: %d bytes of %s from %d on", ErrSize, n, name, from)
	}
	return CheckName(name)
}
