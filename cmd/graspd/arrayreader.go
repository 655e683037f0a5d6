package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// entries gives the entries of a file one after the other: lines, or the elements of one JSON array.
type entries interface {
	// next returns the next entry, which is valid until the next call. It fails with errLongLine in place of one that is too long, with io.EOF
	// behind the last, and else with the reader's error.
	next() ([]byte, error)
	// count returns how many entries there were so far, and what one is called.
	count() (n int, what string)
}

// entriesOf returns the entries of a file. A file whose first value is an array of objects or of arrays is one array.
func entriesOf(r io.Reader, max int) entries {
	b := bufio.NewReaderSize(r, 64<<10)
	start, _ := b.Peek(1 << 10)
	start = bytes.TrimSpace(bytes.TrimPrefix(start, []byte("\uFEFF")))
	if rest, ok := bytes.CutPrefix(start, []byte("[")); ok {
		if rest = bytes.TrimSpace(rest); len(rest) == 0 || bytes.IndexByte([]byte("{[]"), rest[0]) >= 0 {
			return &arrayReader{r: b, max: max}
		}
	}
	return newLineReader(b, max)
}

// arrayReader reads the elements of JSON arrays that follow each other, such as one for each page of a relay, and what stands between them. It
// passes over an element that is too long, without keeping it in memory.
type arrayReader struct {
	r      *bufio.Reader
	max    int // bytes of an element
	n      int
	inside bool // the bracket of an array was read, and not yet the one that closes it
	buf    []byte
}

func (a *arrayReader) count() (int, string) { return a.n, "event" }

func (a *arrayReader) next() ([]byte, error) {
	c, err := a.first()
	if err != nil {
		return nil, err
	}
	a.n++
	a.buf = a.buf[:0]
	size, depth, quoted, escaped := 0, 0, false, false
	for {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if size++; size <= a.max {
			a.buf = append(a.buf, c)
		}
		if depth <= 0 && !quoted {
			next, err := a.r.Peek(1)
			if err != nil || bytes.IndexByte([]byte(", \t\r\n]"), next[0]) >= 0 {
				break
			}
		}
		if c, err = a.r.ReadByte(); errors.Is(err, io.EOF) {
			break // the array is cut, and so may be this element
		} else if err != nil {
			return nil, err
		}
	}
	if size > a.max {
		return nil, errLongLine
	}
	return a.buf, nil
}

// first returns the first byte of the next element.
func (a *arrayReader) first() (byte, error) {
	for {
		c, err := a.r.ReadByte()
		switch {
		case err != nil:
			return 0, err
		case bytes.IndexByte([]byte(" \t\r\n,\xef\xbb\xbf"), c) >= 0:
		case c == '[' && !a.inside:
			a.inside = true
		case c == ']':
			a.inside = false
		default:
			return c, nil
		}
	}
}

// eventIn returns the event of an entry that is a message of a relay or a client, ["EVENT", …], and else the entry itself.
func eventIn(entry []byte) []byte {
	if !bytes.HasPrefix(entry, []byte("[")) {
		return entry
	}
	var parts []json.RawMessage
	if json.Unmarshal(entry, &parts) != nil || len(parts) < 2 || len(parts) > 3 || string(parts[0]) != `"EVENT"` {
		return entry
	}
	return parts[len(parts)-1]
}
