package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// inspection asks one cat-file process about objects, in rounds: the questions of a round may follow from the answers of the round before.
type inspection struct {
	questions questions
	expected  []expected // in the order of the answers
	rest      []byte     // the beginning of an answer whose end has not come
	next      func() error
}

// expected is an answer that is to come: of info about an object, or with its contents.
type expected struct {
	contents bool
	take     func(o object) error
}

// object is what git says of one. The zero value is one that is not there.
type object struct {
	name     string // its id, as git writes it
	kind     string // "" for what is not there
	size     int64
	contents []byte // only until the next answer
}

// info asks about an object, with suffix, a constant, behind its id.
func (x *inspection) info(id gitwire.ObjectID, suffix string, take func(object) error) {
	x.ask("info ", id, suffix, expected{take: take})
}

// read asks for the contents of an object whose size is known to be small.
func (x *inspection) read(id gitwire.ObjectID, suffix string, take func(object) error) {
	x.ask("contents ", id, suffix, expected{contents: true, take: take})
}

func (x *inspection) ask(command string, id gitwire.ObjectID, suffix string, e expected) {
	x.expected = append(x.expected, e)
	x.questions.write(func(b []byte) []byte {
		return append(append(id.AppendHex(append(b, command...)), suffix...), '\n')
	})
}

// commit asks for the one commit whose id begins with digits, which the caller has looked at.
func (x *inspection) commit(digits string, take func(object) error) {
	x.expected = append(x.expected, expected{take: take})
	x.questions.write(func(b []byte) []byte { return append(append(append(b, "info "...), digits...), "^{commit}\n"...) })
}

// round ends the questions of this round, and calls then when all of them are answered. If then asks nothing, the inspection is over.
func (x *inspection) round(then func() error) {
	if len(x.expected) == 0 {
		x.questions.end()
		return
	}
	x.next = then
	x.questions.write(func(b []byte) []byte { return append(b, "flush\n"...) })
}

// Write implements io.Writer: it takes what git prints.
func (x *inspection) Write(b []byte) (int, error) {
	x.rest = append(x.rest, b...)
	at := x.rest
	for len(at) > 0 {
		if len(x.expected) == 0 {
			return 0, errors.New("git says more than it was asked")
		}
		o, size, err := answer(at, x.expected[0].contents)
		if err != nil {
			return 0, err
		}
		if size == 0 {
			break
		}
		at = at[size:]
		e := x.expected[0]
		x.expected = x.expected[1:]
		if err := e.take(o); err != nil {
			return 0, err
		}
		if len(x.expected) > 0 {
			continue
		}
		if err := x.next(); err != nil {
			return 0, err
		}
	}
	x.rest = x.rest[:copy(x.rest, at)]
	return len(b), nil
}

// answer reads the first answer, and how many bytes it has: 0 where more is to come.
func answer(b []byte, contents bool) (o object, size int, err error) {
	line, _, ended := bytes.Cut(b[:min(len(b), maxLine)], []byte("\n"))
	if !ended {
		if len(b) >= maxLine {
			return o, 0, errors.New("git printed a line that is too long")
		}
		return o, 0, nil
	}
	size = len(line) + 1
	if bytes.HasSuffix(line, []byte(" missing")) || bytes.HasSuffix(line, []byte(" ambiguous")) {
		return o, size, nil
	}
	words := strings.Split(string(line), " ")
	if len(words) != 3 {
		return o, 0, fmt.Errorf("git said %q of an object", line)
	}
	o.name, o.kind = words[0], words[1]
	if o.size, err = strconv.ParseInt(words[2], 10, 64); err != nil || o.size < 0 {
		return o, 0, fmt.Errorf("git said %q of an object", line)
	}
	if !contents {
		return o, size, nil
	}
	rest := b[size:]
	if int64(len(rest)) <= o.size {
		return o, 0, nil
	}
	o.contents = rest[:o.size]
	return o, size + int(o.size) + 1, nil
}

// questions is what a process reads while it answers.
type questions struct {
	late <-chan struct{} // closed when nobody waits for answers any more
	why  func() error    // then
	more chan struct{}   // has a token when there is something new
	mu   sync.Mutex      // guards what follows
	b    []byte
	over bool
}

func newQuestions(ctx context.Context) questions {
	return questions{late: ctx.Done(), why: func() error { return context.Cause(ctx) }, more: make(chan struct{}, 1)}
}

func (q *questions) write(add func(b []byte) []byte) {
	q.mu.Lock()
	q.b = add(q.b)
	q.mu.Unlock()
	q.wake()
}

// end ends the questions: the process reads the end of its input.
func (q *questions) end() {
	q.mu.Lock()
	q.over = true
	q.mu.Unlock()
	q.wake()
}

func (q *questions) wake() {
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// Read implements io.Reader.
func (q *questions) Read(b []byte) (int, error) {
	for {
		n, over := q.take(b)
		switch {
		case n > 0:
			return n, nil
		case over:
			return 0, io.EOF
		}
		select {
		case <-q.more:
		case <-q.late:
			return 0, q.why()
		}
	}
}

func (q *questions) take(b []byte) (n int, over bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n = copy(b, q.b)
	q.b = q.b[:copy(q.b, q.b[n:])]
	return n, q.over
}
