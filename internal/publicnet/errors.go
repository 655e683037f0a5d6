package publicnet

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxText bounds what somebody else can put into an error, and so into a log line. Bytes.
const MaxText = 200

// Error is an error whose text a stranger may have written: a host name in a certificate, a status line. The text is cut and
// escaped, the error underneath stays within reach of errors.Is.
type Error struct {
	Op  string
	Err error
}

func (e Error) Error() string { return e.Op + ": " + Printable(e.Err.Error()) }

// Unwrap is the error underneath.
func (e Error) Unwrap() error { return e.Err }

// Printable escapes what is not printable in one line (control characters, invalid UTF-8, marks of direction) and cuts the result at
// MaxText bytes.
func Printable(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		c := s[:n]
		if r == utf8.RuneError && n == 1 || !strconv.IsPrint(r) {
			c = strconv.Quote(c)
			c = c[1 : len(c)-1]
		}
		if b.Len()+len(c) > MaxText {
			break
		}
		b.WriteString(c)
		s = s[n:]
	}
	return b.String()
}
