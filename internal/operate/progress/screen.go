// Package progress shows on a terminal how far a long piece of work has come. It draws lines again in place, below whatever else is
// written. Read Screen, then Meter.
package progress

import (
	"bytes"
	"io"
	"strings"
	"sync"

	"github.com/graspd/graspd/internal/base/safetext"
)

// Screen is a terminal whose last lines are drawn again while others scroll above them. Draw and Clear of a nil Screen do nothing. Any goroutine
// may use it.
type Screen struct {
	width func() int

	mu    sync.Mutex // guards the fields below
	w     io.Writer
	block []string // the lines at the bottom, as drawn
	open  []byte   // what was written since the last end of a line
}

// NewScreen returns a screen on w. width returns the number of its columns at the moment.
func NewScreen(w io.Writer, width func() int) *Screen { return &Screen{w: w, width: width} }

// Draw replaces the lines at the bottom. It cuts lines at the width, as nothing could draw a line again that wraps.
func (s *Screen) Draw(lines ...string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	columns := s.width() - 1 // some terminals wrap when the last column is full
	var b bytes.Buffer
	s.wipe(&b)
	s.block = s.block[:0]
	for _, l := range lines {
		s.block = append(s.block, safetext.Columns(l, columns))
	}
	s.put(&b)
}

// Write writes lines above those at the bottom. It keeps a line without an end until the end comes.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, p...)
	end := bytes.LastIndexByte(s.open, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	var b bytes.Buffer
	s.wipe(&b)
	b.Write(s.open[:end])
	s.open = append(s.open[:0], s.open[end:]...)
	if err := s.put(&b); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Clear takes the lines at the bottom away.
func (s *Screen) Clear() { s.Draw() }

// wipe writes what moves the cursor to the first of the drawn lines and empties the screen from there. The caller holds mu.
func (s *Screen) wipe(b *bytes.Buffer) {
	if len(s.block) == 0 {
		return
	}
	b.WriteString(strings.Repeat("\x1b[A", len(s.block)) + "\r\x1b[J")
}

// put writes b and the lines at the bottom with one Write, so that nothing flickers. The caller holds mu.
func (s *Screen) put(b *bytes.Buffer) error {
	for _, l := range s.block {
		b.WriteString(l)
		b.WriteByte('\n')
	}
	if b.Len() == 0 {
		return nil
	}
	_, err := s.w.Write(b.Bytes())
	return err
}
