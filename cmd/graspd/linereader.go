package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

var errLongLine = errors.New("longer than 4 MiB")

// lineReader reads a file line by line. It passes over a line that is too long, without keeping it in memory.
type lineReader struct {
	r   *bufio.Reader
	max int // bytes of a line, without its end
	buf []byte
	n   int // lines so far
}

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: max}
}

func (l *lineReader) count() (int, string) { return l.n, "line" }

// next returns the next line without white space around it, and the first line without a byte order mark. The bytes are valid until the next
// call. It fails with errLongLine in place of a line that is too long, with io.EOF behind the last line, and else with the reader's error.
func (l *lineReader) next() ([]byte, error) {
	l.buf = l.buf[:0]
	size, any := 0, false
	for {
		part, err := l.r.ReadSlice('\n')
		any = any || len(part) > 0
		part = bytes.TrimSuffix(part, []byte("\n"))
		if size += len(part); size <= l.max {
			l.buf = append(l.buf, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && !any:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		if l.n++; l.n == 1 { // some editors and shells begin a file with a byte order mark
			l.buf = bytes.TrimPrefix(l.buf, []byte("\uFEFF"))
		}
		if size > l.max {
			return nil, errLongLine
		}
		return bytes.TrimSpace(l.buf), nil
	}
}
