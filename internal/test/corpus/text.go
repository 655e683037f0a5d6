package corpus

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// hex draws n hex digits, for a commit or for an id that no event has.
func hex(r *rand.Rand, n int) string {
	const digits = "0123456789abcdef"
	b := make([]byte, n)
	var v uint64
	for i := range b {
		if i%16 == 0 {
			v = r.Uint64()
		}
		b[i] = digits[v&15]
		v >>= 4
	}
	return string(b)
}

// appendWords appends about n bytes of words with some punctuation.
func appendWords(b []byte, r *rand.Rand, n int) []byte {
	end := len(b) + n
	capital := true
	for len(b) < end {
		v := r.Uint64()
		word := words[v%uint64(len(words))]
		if capital && word[0] >= 'a' && word[0] <= 'z' {
			b = append(b, word[0]-'a'+'A')
			word = word[1:]
		}
		b = append(b, word...)
		capital = false
		switch v >> 32 % 20 {
		case 0, 1:
			b, capital = append(b, '.'), true
		case 2:
			b = append(b, ',')
		case 3:
			if v>>40%8 == 0 {
				b = append(b, "?\n\n"...)
				capital = true
				continue
			}
		}
		b = append(b, ' ')
	}
	return b
}

// sentence makes a line of about n bytes, without a full stop.
func sentence(r *rand.Rand, n int) string {
	s := strings.Map(func(c rune) rune {
		if c == '\n' || c == '?' {
			return -1
		}
		return c
	}, string(appendWords(nil, r, n)))
	return strings.TrimRight(s, " .,")
}

// prose makes about n bytes of text, sometimes with more than ASCII in it.
func prose(r *rand.Rand, n int) string {
	b := appendWords(make([]byte, 0, n+64), r, n)
	if oneIn(r, 6) {
		b = append(b, pick(r, unicodeBits)...)
	}
	return strings.TrimRight(string(b), " ")
}

// markdown makes about n bytes of prose with a list and some code.
func markdown(r *rand.Rand, n int) string {
	b := appendWords(make([]byte, 0, n+256), r, n/2)
	b = append(b, "\n\n## Steps\n\n"...)
	for i := range 1 + r.IntN(3) {
		b = fmt.Appendf(b, "%d. ", i+1)
		b = append(appendWords(b, r, 30), '\n')
	}
	b = append(b, "\n```\n"...)
	for i := 0; len(b) < n; i++ {
		b = appendCode(b, r, i)
		b = append(b, '\n')
	}
	return string(append(b, "```\n"...))
}

// formatPatch makes about n bytes in the form of git format-patch.
func formatPatch(r *rand.Rand, p *person, commit, subject string, at int64, number, of, n int) string {
	b := make([]byte, 0, n+512)
	prefix := "[PATCH]"
	if of > 1 {
		prefix = fmt.Sprintf("[PATCH %d/%d]", number, of)
	}
	date := time.Unix(at, 0).UTC().Format("Mon, 2 Jan 2006 15:04:05 -0700")
	b = fmt.Appendf(b, "From %s Mon Sep 17 00:00:00 2001\nFrom: %s <%s>\nDate: %s\nSubject: %s %s\n\n", commit, p.name, p.mail, date, prefix, subject)
	b = append(appendWords(b, r, 40+r.IntN(200)), "\n---\n"...)
	file := fmt.Sprintf("internal/%s/%s.go", pick(r, nouns), pick(r, nouns))
	b = fmt.Appendf(b, " %s | 12 ++++++------\n 1 file changed, 6 insertions(+), 6 deletions(-)\n\n", file)
	b = fmt.Appendf(b, "diff --git a/%s b/%s\nindex %s..%s 100644\n--- a/%s\n+++ b/%s\n", file, file, hex(r, 7), hex(r, 7), file, file)
	for i := 0; len(b) < n; i++ {
		if i%40 == 0 {
			b = fmt.Appendf(b, "@@ -%d,20 +%d,20 @@ func %s() error {\n", i*7+1, i*7+1, pick(r, verbs))
		}
		b = append(b, "   ++-"[r.IntN(6)])
		b = appendCode(b, r, i)
		b = append(b, '\n')
	}
	return string(append(b, "-- \n2.45.1\n"...))
}

// appendCode appends a line that looks like source.
func appendCode(b []byte, r *rand.Rand, i int) []byte {
	v := r.Uint64()
	b = append(b, "\t\t\t"[:1+i%3]...)
	noun, verb, word := nouns[v%uint64(len(nouns))], verbs[v>>16%uint64(len(verbs))], words[v>>32%uint64(len(words))]
	switch v >> 48 % 6 {
	case 0:
		return append(append(append(append(append(b, "if err := "...), noun...), '.'), verb...), "(ctx); err != nil {"...)
	case 1:
		return append(append(append(b, "return fmt.Errorf(\""...), word...), ": %w\", err)"...)
	case 2:
		return append(append(append(append(append(b, noun...), " := "...), verb...), noun...), "()"...)
	case 3:
		return appendWords(append(b, "// "...), r, 30)
	case 4:
		return append(b, '}')
	}
	return append(append(append(append(append(b, noun...), '.'), word...), "[i] = "...), verb...)
}
