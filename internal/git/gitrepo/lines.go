package gitrepo

import (
	"bytes"
	"fmt"
	"io"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// maxLine bounds a line that git prints of an object.
const maxLine = 256

// lines hands on, line by line, whatever is written to it.
type lines struct {
	each func(line []byte) error
	rest []byte
}

func (l *lines) Write(b []byte) (int, error) {
	n := len(b)
	for {
		line, after, ended := bytes.Cut(b, []byte("\n"))
		if len(l.rest)+len(line) > maxLine {
			return 0, fmt.Errorf("git printed a line that is too long")
		}
		if !ended {
			l.rest = append(l.rest, line...)
			return n, nil
		}
		b = after
		if len(l.rest) > 0 {
			line = append(l.rest, line...)
			l.rest = l.rest[:0]
		}
		if err := l.each(line); err != nil {
			return 0, err
		}
	}
}

func trimLine(b []byte) []byte { return bytes.TrimSuffix(b, []byte("\n")) }

// idGroup is ids that idReader writes one to a line.
type idGroup struct {
	prefix string
	ids    []gitwire.ObjectID
}

// idReader reads as the ids of groups.
type idReader struct {
	groups []idGroup
	buf    []byte
}

func (r *idReader) Read(b []byte) (int, error) {
	for len(r.buf) == 0 {
		if len(r.groups) == 0 {
			return 0, io.EOF
		}
		g := &r.groups[0]
		n := min(len(g.ids), 512)
		for _, id := range g.ids[:n] {
			r.buf = append(id.AppendHex(append(r.buf, g.prefix...)), '\n')
		}
		if g.ids = g.ids[n:]; len(g.ids) == 0 {
			r.groups = r.groups[1:]
		}
	}
	n := copy(b, r.buf)
	r.buf = r.buf[:copy(r.buf, r.buf[n:])]
	return n, nil
}
