package publicnet

import "github.com/graspd/graspd/internal/words"

// Error is an error whose text a stranger may have written: a host name in a certificate, a status line. The text is cut and
// escaped, the error underneath stays within reach of errors.Is.
type Error struct {
	Op  string
	Err error
}

func (e Error) Error() string { return e.Op + ": " + words.Printable(e.Err.Error()) }

// Unwrap is the error underneath.
func (e Error) Unwrap() error { return e.Err }
