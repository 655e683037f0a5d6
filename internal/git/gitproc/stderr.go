package gitproc

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// keptHead and keptTail are how many bytes tail keeps of what a process says: of the beginning, and of the end.
const (
	keptHead = 4 << 10
	keptTail = 4 << 10
)

// tail is a writer that keeps the beginning and the end of what a process says.
type tail struct {
	own *strings.Replacer // takes the directories of the repository out

	mu   sync.Mutex // guards the fields below
	head []byte
	ring []byte
	lost bool
}

func newTail(at Dirs) *tail {
	var pairs []string
	for _, dir := range append([]string{at.Objects, at.Temp}, at.Alternates...) {
		if dir != "" {
			pairs = append(pairs, dir, "objects")
		}
	}
	if at.Repository != "" {
		pairs = append(pairs, at.Repository, "repository")
	}
	return &tail{own: strings.NewReplacer(pairs...)}
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := min(len(b), keptHead-len(t.head))
	t.head = append(t.head, b[:n]...)
	rest := b[n:]
	if over := len(t.ring) + len(rest) - keptTail; over > 0 {
		t.lost = true
		if over >= len(t.ring) {
			t.ring, rest = t.ring[:0], rest[len(rest)-min(len(rest), keptTail):]
		} else {
			t.ring = append(t.ring[:0], t.ring[over:]...)
		}
	}
	t.ring = append(t.ring, rest...)
	return len(b), nil
}

// String returns what the process said, as printable lines.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(t.head)
	if t.lost {
		text += "\n…\n"
	}
	return printable(t.own.Replace(text + string(t.ring)))
}

// printable writes every character that is not printable as its code. Lines stay lines, and a progress that draws over itself becomes lines
// too.
func printable(text string) string {
	var b strings.Builder
	for i, size := 0, 0; i < len(text); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\n' || r == '\r':
			b.WriteByte('\n')
		case r == utf8.RuneError && size == 1, !unicode.IsPrint(r):
			quoted := strconv.QuoteToASCII(text[i : i+size])
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteString(text[i : i+size])
		}
	}
	return strings.TrimSpace(b.String())
}
