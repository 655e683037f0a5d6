package backup

import (
	"errors"
	"os"
	"time"

	"github.com/graspd/graspd/internal/base/bucket"
)

// step is after how many bytes paced makes the file durable and looks at the room. Whatever else is made durable meanwhile waits for no more
// bytes than these.
const step = 8 << 20

// chunk is how many bytes paced writes at once at most.
const chunk = 256 << 10

// paced writes a file, no faster than its rate.
type paced struct {
	file    *os.File
	rate    int64 // bytes a second; 0 is as fast as can be
	sleep   func(time.Duration) error
	room    func() error
	buf     []byte
	written int64
	owed    bucket.Bucket
}

// Write implements io.Writer.
func (p *paced) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		part := b[:min(len(b), chunk-len(p.buf))]
		p.buf = append(p.buf, part...)
		n, b = n+len(part), b[len(part):]
		if len(p.buf) == chunk {
			if err := p.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// flush writes what was gathered, after the wait that the rate asks for.
func (p *paced) flush() error {
	if p.rate > 0 {
		now, rate := time.Now(), bucket.Rate{Tokens: int(p.rate), In: time.Second, Burst: chunk}
		p.owed.Charge(now, rate, float64(len(p.buf)))
		if err := p.sleep(p.owed.Wait(now, rate)); err != nil {
			return err
		}
	}
	before := p.written / step
	n, err := p.file.Write(p.buf)
	p.written += int64(n)
	p.buf = p.buf[:0]
	if err == nil && p.written/step > before {
		err = errors.Join(p.file.Sync(), p.room())
	}
	return err
}

// end writes the rest, makes the file durable and closes it.
func (p *paced) end() error {
	return errors.Join(p.flush(), p.file.Sync(), p.file.Close())
}
