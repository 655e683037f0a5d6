package gitfetch

import (
	"bytes"
	"errors"
	"io"

	"github.com/graspd/graspd/internal/pktline"
)

// lines are the frames of one answer. A server may say in any of them that it goes no further.
type lines struct{ *pktline.Reader }

func (l lines) next() (pktline.Kind, []byte, error) {
	kind, payload, err := l.Next()
	if err != nil {
		return kind, nil, early(err)
	}
	if text, is := bytes.CutPrefix(payload, []byte("ERR ")); is && kind == pktline.Data {
		return kind, nil, said(text)
	}
	return kind, payload, nil
}

// early turns the end of an answer where it may not be into an error that is never taken for the end of a pack.
func early(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// until gives each line to take, up to the flush that is to end them.
func (l lines) until(what string, take func(line []byte) error) error {
	for {
		kind, payload, err := l.next()
		switch {
		case err != nil:
			return err
		case kind == pktline.Flush:
			return nil
		case kind != pktline.Data:
			return protocol("unexpected %s in %s", kind, what)
		}
		if err := take(pktline.Line(payload)); err != nil {
			return err
		}
	}
}
