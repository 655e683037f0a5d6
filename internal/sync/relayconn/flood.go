package relayconn

import (
	"errors"
	"io"
	"time"

	"github.com/graspd/graspd/internal/base/bucket"
	"github.com/graspd/graspd/internal/base/frames"
)

// ErrFlood ends the connection of a relay that sends many frames which bring no message, or its messages in tiny pieces.
var ErrFlood = errors.New("too many frames that bring nothing: pings, pongs, empty fragments, tiny pieces")

// What the relay's frames cost, in steps. Each frame is a step, and so is each read of the connection, which a relay can have made for every byte.
// The steps of a message and its bytes pay for themselves, as whoever reads messages counts them: a message in one frame, or in pieces of some
// size, costs nothing. All other steps come out of one account.
const (
	stepsPerMessage = 4
	bytesPerStep    = 64
	mostPaid        = 64 * bytesPerStep // what messages may have paid for in advance: frames come before their bytes are read
)

// extra is the account of a connection: a ping each second, and pieces of a strange size now and then, stay far below it.
var extra = bucket.Rate{Tokens: 20, In: time.Second, Burst: 2000}

// flood is a connection after the handshake that ends when the relay sends too much that brings nothing.
type flood struct {
	io.ReadWriteCloser
	frames  frames.Counter
	paid    int // bytesPerStep times the steps that are paid for
	account bucket.Bucket
}

// Read reads what the relay sends, and counts it. It fails with ErrFlood.
func (f *flood) Read(p []byte) (int, error) {
	n, err := f.ReadWriteCloser.Read(p)
	if n > 0 && !f.bears(f.frames.See(p[:n]), time.Now()) {
		return 0, ErrFlood
	}
	return n, err
}

// bears counts what one read has brought, and reports whether the connection may go on.
func (f *flood) bears(s frames.Seen, now time.Time) bool {
	f.paid += s.Payload + bytesPerStep*(stepsPerMessage*s.Messages-s.Messages-s.Others-1)
	if f.paid < 0 {
		f.account.Charge(now, extra, float64(-f.paid)/bytesPerStep)
		f.paid = 0
	}
	f.paid = min(f.paid, mostPaid)
	return f.account.Wait(now, extra) == 0
}
