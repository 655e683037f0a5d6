package gitproc

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// git prints packs in pieces of 8 KiB. They are passed on in larger ones, as each costs whoever writes and sends it the same.
const (
	gatherBytes = 256 << 10
	gatherFor   = 5 * time.Millisecond // since the first piece came
)

var gathering = sync.Pool{New: func() any { return new([gatherBytes]byte) }}

// pipe is what a process prints into.
type pipe interface {
	io.Reader
	SetReadDeadline(time.Time) error
}

// pass copies what a process prints until the process ends.
func pass(to io.Writer, from io.Reader) error {
	p, ok := from.(pipe)
	if !ok || p.SetReadDeadline(time.Time{}) != nil {
		_, err := io.Copy(to, from)
		return err
	}
	buf := gathering.Get().(*[gatherBytes]byte)
	defer gathering.Put(buf)
	for {
		n, err := gather(buf[:], p)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// gather reads until buf is full, or nothing more has come for a moment.
func gather(buf []byte, from pipe) (n int, err error) {
	n, err = from.Read(buf)
	if err != nil || n == len(buf) {
		return n, err
	}
	if err := from.SetReadDeadline(time.Now().Add(gatherFor)); err != nil {
		return n, err
	}
	for n < len(buf) && err == nil {
		var more int
		more, err = from.Read(buf[n:])
		n += more
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	if err != nil {
		return n, err
	}
	return n, from.SetReadDeadline(time.Time{})
}
