package publicnet

import (
	"errors"
	"net"

	"github.com/graspd/graspd/internal/base/safetext"
)

// Error is an error whose text a stranger may have written: a host name in a certificate, a status line. It cuts and escapes the text;
// errors.Is still finds the error underneath.
type Error struct {
	Op  string
	Err error
}

func (e Error) Error() string {
	if _, dialed := errors.AsType[*net.OpError](e.Err); dialed && e.Op == "connect" { // the text names the operation and the address already
		return safetext.Printable(e.Err.Error())
	}
	return e.Op + ": " + safetext.Printable(e.Err.Error())
}

// Unwrap returns the error underneath.
func (e Error) Unwrap() error { return e.Err }
