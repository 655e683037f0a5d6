package gitfetch

import (
	"bytes"
	"errors"
	"io"

	"github.com/graspd/graspd/internal/protocol/pktline"
)

// lines reads the frames of one answer. Any of them may be an error of the server, which ends the answer.
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

// early makes of an end that comes too early an error that nobody takes for the end of a pack.
func early(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// until calls take with each line, up to the flush that has to end them.
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
