package githttp

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/pktline"
)

// frames has buffers for one frame each, for reuse.
var frames = sync.Pool{New: func() any { return new([pktline.MaxFrame]byte) }}

// sendPack answers with a pack of pack-objects, in the frames that the client wants.
func (x *exchange) sendPack(q gitwire.Request, key flightKey) error {
	r, how, err := x.have(key, FromPack, func(ctx context.Context, worker string, w io.Writer) error {
		return x.packs.Pack(ctx, x.repo.Dir, q.Fetch, worker, w)
	})
	if err != nil {
		return x.broken(q, err)
	}
	defer r.leave()
	x.head("result")
	p := &packer{x: x, f: q.Fetch, frame: q.Fetch.PackFrame()}
	err = p.copy(r)
	return x.sent(q, how, err, p.fail)
}

// have joins the flight with that key, or makes it with write. how tells which program write runs, for the figures.
func (x *exchange) have(key flightKey, how Answer, write making) (*reading, Answer, error) {
	r, joined, err := x.cache.join(key, reader{x.from.Visitor.Party(), x.party()}, func(ctx context.Context, worker string, w io.Writer) error {
		began := time.Now()
		if err := x.host.AwaitFiles(ctx, x.of, x.repo.Generation); err != nil {
			return err
		}
		if err := write(ctx, worker, w); err != nil {
			x.penalize(err)
			return err
		}
		x.time(&x.counts.made[how], began)
		return nil
	})
	if joined == FromPack {
		joined = how
	}
	return r, joined, err
}

// sent counts the end of an answer. Where it broke off, sent calls tell with the reason for a client that has read some of it. With a nil tell it
// cuts the connection, which git notices.
func (x *exchange) sent(q gitwire.Request, how Answer, err error, tell func(text string)) error {
	switch {
	case err == nil:
		x.count(how)
		x.time(&x.counts.given[how], x.began)
		return nil
	case x.out.err != nil, x.req.Context().Err() != nil: // the client has left or does not read
		x.count(how)
		panic(http.ErrAbortHandler)
	case !x.out.begun:
		return x.broken(q, err)
	}
	x.failed(err)
	if tell == nil {
		panic(http.ErrAbortHandler)
	}
	tell(excuse(err))
	return nil
}

// packer writes a pack as a part of an answer.
type packer struct {
	x     *exchange
	f     *gitwire.Fetch
	frame int // the length of a side-band frame; 0 for a pack without frames
	begun bool
}

func (p *packer) copy(r *reading) error {
	buf := frames.Get().(*[pktline.MaxFrame]byte)
	defer frames.Put(buf)
	const head = 5 // bytes of length and band
	room := buf[:]
	if p.frame > 0 {
		room = buf[head:p.frame]
	}
	for {
		n, more, err := r.next(room)
		switch {
		case n > 0:
			if err := p.write(buf[:], room[:n]); err != nil {
				return err
			}
		case err == io.EOF:
			return p.end()
		case err != nil:
			return err
		case more != nil:
			if err := p.await(more); err != nil {
				return err
			}
		}
	}
}

// write sends a piece. The frame has room for its header before the piece.
func (p *packer) write(buf, piece []byte) error {
	if err := p.begin(); err != nil {
		return err
	}
	if p.frame > 0 {
		framed := append(pktline.Begin(buf[:0]), byte(pktline.BandData))
		piece = pktline.End(framed[:len(framed)+len(piece)], 0)
	}
	_, err := p.x.out.Write(piece)
	return err
}

// begin sends the lines before the pack.
func (p *packer) begin() error {
	if p.begun {
		return nil
	}
	p.begun = true
	_, err := p.x.out.Write(p.f.AppendHead(nil))
	return err
}

// await waits for more of the pack, and sends the client a sign of life where that takes long.
func (p *packer) await(more <-chan struct{}) error {
	if p.begun {
		if err := p.x.out.Flush(); err != nil {
			return err
		}
	}
	alive := time.NewTimer(aliveTime)
	defer alive.Stop()
	select {
	case <-more:
		return nil
	case <-p.x.req.Context().Done():
		return context.Cause(p.x.req.Context())
	case <-alive.C:
	}
	if p.frame == 0 {
		return nil
	}
	if err := p.begin(); err != nil {
		return err
	}
	if text := p.x.packs.Bringing(p.x.repo.Dir); text != "" {
		return p.bands().Progress([]byte(text + "\n"))
	}
	return p.bands().KeepAlive()
}

func (p *packer) bands() *pktline.Sideband { return pktline.NewSideband(p.x.out, p.frame) }

func (p *packer) end() error {
	if err := p.begin(); err != nil || p.frame == 0 {
		return err
	}
	return p.bands().Flush()
}

// fail ends the pack with a reason, where the client's protocol has a way to tell it.
func (p *packer) fail(text string) {
	if p.frame == 0 {
		panic(http.ErrAbortHandler)
	}
	if err := p.bands().Fail(text); err == nil {
		_ = p.bands().Flush() // a client that does not read has left
	}
}
