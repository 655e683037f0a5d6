package gitproc

import (
	"io"
	"os"
	"sync"
	"time"
)

// git prints packs in pieces of 8 KiB. pass makes larger ones of them, as each piece costs whoever writes and sends it the same.
const (
	gatherBytes = 256 << 10
	gatherFor   = 5 * time.Millisecond // how long gather waits for more, since the first piece came
	// Beyond briefBytes gather looks for more at intervals. To wait for more would wake it for each piece, which costs more than to copy the
	// piece.
	briefBytes = 1 << 20
	interval   = time.Millisecond
)

var gathering = sync.Pool{New: func() any { return new([gatherBytes]byte) }}

// pass copies what a process prints to a writer until the end of the pipe.
func pass(to io.Writer, from printed) error {
	buf := gathering.Get().(*[gatherBytes]byte)
	defer gathering.Put(buf)
	pause := time.NewTicker(interval)
	defer pause.Stop()
	for passed := 0; ; {
		var much <-chan time.Time // nil before briefBytes
		if from.large && passed >= briefBytes {
			much = pause.C
		}
		n, err := 0, error(nil)
		if from.prompt {
			n, err = from.read.Read(buf[:])
		} else {
			n, err = gather(buf[:], from.read, much)
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return err
			}
			passed += n
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// gather reads until buf is full, nothing more comes, or gatherFor has passed since the first piece came. With a pause it looks for more only at
// its ticks, and returns where there is none.
func gather(buf []byte, from *os.File, pause <-chan time.Time) (n int, err error) {
	n, err = from.Read(buf)
	for until := time.Now().Add(gatherFor); err == nil && n < len(buf); {
		wait := time.Until(until)
		if wait <= 0 {
			return n, nil
		}
		if pause != nil {
			<-pause
			wait = 0
		}
		if !readable(from, wait) {
			return n, nil
		}
		var more int
		more, err = from.Read(buf[n:])
		n += more
	}
	return n, err
}
