package pktline_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/graspd/graspd/internal/protocol/pktline"
)

const plenty = 1 << 20

// read gives the frames of a stream as text, joined by "|", and the error after them.
func read(r *pktline.Reader) (string, error) {
	var all []string
	for {
		kind, payload, err := r.Next()
		if err != nil {
			return strings.Join(all, "|"), err
		}
		if kind != pktline.Data {
			all = append(all, "<"+kind.String()+">")
			if payload != nil {
				return "payload of " + kind.String(), nil
			}
			continue
		}
		all = append(all, string(payload))
	}
}

func TestRead(t *testing.T) {
	longest := strings.Repeat("x", pktline.MaxPayload)
	for _, c := range []struct {
		name, stream, want string
		err                error
		text               string
	}{
		{"nothing", "", "", io.EOF, ""},
		{"the frames of the manual", "0006a\n0005a000bfoobar\n0004", "a\n|a|foobar\n|", io.EOF, ""},
		{"special frames", "0000000100020000", "<flush>|<delim>|<response-end>|<flush>", io.EOF, ""},
		{"a conversation", "0014command=ls-refs\n0001000cpeel\n\n\n\n0000", "command=ls-refs\n|<delim>|peel\n\n\n\n|<flush>", io.EOF, ""},
		{"upper-case digits", "000Babcdefg000babcdefg", "abcdefg|abcdefg", io.EOF, ""},
		{"all digits", "0005a00AF" + strings.Repeat("b", 0xaf-4) + "0dEf" + strings.Repeat("c", 0xdef-4), "a|" + strings.Repeat("b", 0xaf-4) + "|" + strings.Repeat("c", 0xdef-4), io.EOF, ""},
		{"a byte of each value", "0008\x00\xff\n\r", "\x00\xff\n\r", io.EOF, ""},
		{"the longest frame", "fff0" + longest, longest, io.EOF, ""},
		{"a short one after the longest", "fff0" + longest + "0005a", longest + "|a", io.EOF, ""},
		{"a longer one", "fff1" + longest + "x", "", pktline.ErrMalformed, "malformed pkt-line: bad line length 65521"},
		{"a length that is none", "0003", "", pktline.ErrMalformed, "malformed pkt-line: bad line length 3"},
		{"a pack", "0005aPACK\x00\x00\x00\x02", "a", pktline.ErrMalformed, `malformed pkt-line: bad line length characters 'PACK'`},
		{"a sign", "+00a123456", "", pktline.ErrMalformed, `malformed pkt-line: bad line length characters '+00a'`},
		{"past f", "000g", "", pktline.ErrMalformed, `malformed pkt-line: bad line length characters '000g'`},
		{"past F", "000G", "", pktline.ErrMalformed, `malformed pkt-line: bad line length characters '000G'`},
		{"cut in the length", "0005a00", "a", io.ErrUnexpectedEOF, "read pkt-line: unexpected EOF"},
		{"cut after the length", "0005", "", io.ErrUnexpectedEOF, "read pkt-line: unexpected EOF"},
		{"cut in the payload", "0007ab", "", io.ErrUnexpectedEOF, "read pkt-line: unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, stream := range map[string]io.Reader{
				"whole": strings.NewReader(c.stream), "by bytes": iotest.OneByteReader(strings.NewReader(c.stream)), "with its end": iotest.DataErrReader(strings.NewReader(c.stream)),
			} {
				got, err := read(pktline.NewReader(stream, plenty))
				if got != c.want || !errors.Is(err, c.err) || c.text != "" && err.Error() != c.text {
					t.Errorf("%s: %.80q, %v", name, got, err)
				}
			}
		})
	}
}

// The end of the stream between frames is io.EOF itself, which callers compare with ==.
func TestEndIsPlain(t *testing.T) {
	if _, _, err := pktline.NewReader(strings.NewReader(""), plenty).Next(); err != io.EOF {
		t.Errorf("%v", err)
	}
}

// What follows the frames asked for stays in the stream, to the byte.
func TestReaderLeavesTheRest(t *testing.T) {
	stream := strings.NewReader("000abcdefg0000PACK....")
	r := pktline.NewReader(stream, plenty)
	for range 2 {
		if _, _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	rest, err := io.ReadAll(stream)
	if err != nil || string(rest) != "PACK...." || r.Taken() != 14 {
		t.Errorf("left %q, taken %d, %v", rest, r.Taken(), err)
	}
}

func TestReaderIsBounded(t *testing.T) {
	const stream = "0005a000000070123"
	for most, want := range map[int64]string{0: "", 4: "", 5: "a", 8: "a", 9: "a|<flush>", 15: "a|<flush>"} {
		in := strings.NewReader(stream)
		got, err := read(pktline.NewReader(in, most))
		if got != want || !errors.Is(err, pktline.ErrTooMuch) {
			t.Errorf("within %d: %q, %v", most, got, err)
		}
		if read := int64(len(stream) - in.Len()); read > most {
			t.Errorf("within %d: %d bytes are read", most, read)
		}
	}
	if got, err := read(pktline.NewReader(strings.NewReader(stream), 16)); got != "a|<flush>|012" || !errors.Is(err, pktline.ErrTooMuch) || err.Error() != "too many bytes in pkt-lines: 16 are taken" {
		t.Errorf("%q, %v", got, err)
	}
}

// An error is the last word, whatever the stream would give after it.
func TestReaderStopsAtAnError(t *testing.T) {
	r := pktline.NewReader(strings.NewReader("zzzz0005a"), plenty)
	_, _, first := r.Next()
	if _, _, err := r.Next(); first == nil || err != first || r.Taken() != 0 {
		t.Errorf("%v, then %v", first, err)
	}
	broken := errors.New("the line is dead")
	for _, begin := range []string{"", "00", "0005", "0009a"} {
		r = pktline.NewReader(io.MultiReader(strings.NewReader(begin), iotest.ErrReader(broken)), plenty)
		if _, _, err := r.Next(); !errors.Is(err, broken) || errors.Is(err, io.EOF) {
			t.Errorf("after %q: %v", begin, err)
		}
	}
}

// A length that promises much costs no more than one frame's room, and a conversation of short lines one short buffer.
func TestReaderAllocatesOnce(t *testing.T) {
	line := pktline.Append(nil, strings.Repeat("a", 100))
	stream := bytes.NewReader(bytes.Repeat(line, 1000))
	if n := testing.AllocsPerRun(10, func() {
		stream.Seek(0, io.SeekStart)
		r := pktline.NewReader(stream, plenty)
		for range 1000 {
			if _, _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
	}); n > 2 { // the reader and its buffer
		t.Errorf("%v allocations for 1,000 lines", n)
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{"": "", "\n": "", "a": "a", "a\n": "a", "a\n\n": "a\n", "a\r\n": "a\r", "\na": "\na"} {
		if got := pktline.Line([]byte(in)); string(got) != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
