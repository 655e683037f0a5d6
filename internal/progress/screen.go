// Package progress shows on a terminal how far a long piece of work has come: lines that are drawn again in place,
// below whatever else is written.
package progress

import (
	"bytes"
	"io"
	"strings"
	"sync"

	"github.com/graspd/graspd/internal/words"
)

// Screen is a terminal whose last lines are drawn again while others scroll above them. A nil Screen shows nothing.
type Screen struct {
	width func() int

	mu    sync.Mutex // guards the rest
	w     io.Writer
	block []string // the lines at the bottom, as drawn
	open  []byte   // what was written since the last end of a line
}

// NewScreen returns a screen on w, which has that many columns.
func NewScreen(w io.Writer, width func() int) *Screen { return &Screen{w: w, width: width} }

// Draw puts these lines in the place of those at the bottom. They are cut at the width, as a line that wraps could
// not be drawn again.
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
		s.block = append(s.block, words.Columns(l, columns))
	}
	s.put(&b)
}

// Write writes lines above those at the bottom. What has no end of line yet waits for it.
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

// wipe goes back to the first of the drawn lines and empties what is below. The caller holds mu.
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
