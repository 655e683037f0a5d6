package gitfetch

import (
	"bytes"
	"fmt"
	"io"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/pktline"
)

// maxAcks is how many lines may stand before a pack. More than there are haves is not needed.
const maxAcks = 4 * maxHaves

// pack reads the pack of an answer. It gives io.EOF only where the answer ends as it should.
type pack struct {
	lines lines
	left  *int64 // bytes of packs that may come
	begun func() // with the first byte of the pack
	over  func() error
	rest  []byte // of the frame that was read last
	some  bool   // of the pack has come
	err   error  // the first, for ever
}

// openPack reads an answer up to its pack.
func openPack(l lines, v gitwire.Version, left *int64) (*pack, error) {
	p := &pack{lines: l, left: left, begun: func() {}, over: func() error { return nil }}
	if v == 2 {
		return p, l.head2()
	}
	first, err := l.head0()
	if err == nil {
		err = p.frame(first)
	}
	return p, err
}

// head2 reads the sections before the pack of version 2.
func (l lines) head2() error {
	for section := 0; ; section++ {
		kind, payload, err := l.next()
		name := string(pktline.Line(payload))
		switch {
		case err != nil:
			return err
		case kind == pktline.Data && name == "packfile":
			return nil
		case kind != pktline.Data || name != "acknowledgments" || section > 0:
			return noPack(kind, payload)
		}
		if err := l.skipAcks(); err != nil {
			return err
		}
	}
}

// skipAcks reads over a section for which nobody asked.
func (l lines) skipAcks() error {
	for range maxAcks {
		kind, payload, err := l.next()
		switch {
		case err != nil:
			return err
		case kind == pktline.Delim:
			return nil
		case kind != pktline.Data:
			return noPack(kind, payload)
		}
	}
	return protocol("no end of acknowledgments")
}

// head0 reads the lines before the pack below version 2, and the first frame of it.
func (l lines) head0() ([]byte, error) {
	for range maxAcks {
		kind, payload, err := l.next()
		switch {
		case err != nil:
			return nil, err
		case kind != pktline.Data || len(payload) == 0 || payload[0] > byte(pktline.BandError) && !acks(payload):
			return nil, noPack(kind, payload)
		case !acks(payload):
			return payload, nil
		}
	}
	return nil, protocol("no end of acknowledgments")
}

func acks(payload []byte) bool {
	return string(pktline.Line(payload)) == "NAK" || bytes.HasPrefix(payload, []byte("ACK "))
}

// noPack makes the error of an answer with a section for which nobody asked: its history is cut (shallow-info), or the pack is elsewhere
// (packfile-uris).
func noPack(kind pktline.Kind, payload []byte) error {
	if kind == pktline.Data {
		return protocol("%s where a pack was to begin", quote(pktline.Line(payload)))
	}
	return protocol("%s where a pack was to begin", kind)
}

func (p *pack) Read(b []byte) (int, error) {
	for len(p.rest) == 0 && p.err == nil {
		p.err = p.next()
	}
	if len(p.rest) == 0 {
		return 0, p.err
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// next reads the next frame.
func (p *pack) next() error {
	kind, payload, err := p.lines.next()
	switch {
	case err != nil:
		return err
	case kind == pktline.Flush:
		if err := p.over(); err != nil {
			return early(err)
		}
		return io.EOF
	case kind != pktline.Data:
		return protocol("unexpected %s in a pack", kind)
	}
	return p.frame(payload)
}

// frame takes a frame of one of the bands.
func (p *pack) frame(payload []byte) error {
	if len(payload) == 0 {
		return protocol("a frame without a band")
	}
	data := payload[1:]
	switch band := pktline.Band(payload[0]); band {
	case pktline.BandData:
		return p.data(data)
	case pktline.BandProgress:
		return nil
	case pktline.BandError:
		return said(data)
	default:
		return protocol("there is no band %d", band)
	}
}

func (p *pack) data(data []byte) error {
	if int64(len(data)) > *p.left {
		return fmt.Errorf("%w: the packs are too large", ErrTooMuch)
	}
	*p.left -= int64(len(data))
	if len(data) > 0 && !p.some {
		p.some = true
		p.begun()
	}
	p.rest = data
	return nil
}
