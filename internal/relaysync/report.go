package relaysync

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"graspd/internal/plan"
)

// remoteText is how many bytes of what another relay wrote go into a log line.
const remoteText = 200

// report logs what the plan has to say. Its texts may be a stranger's.
func (p *peer) report(ctx context.Context, r plan.Report) {
	args := make([]any, len(r.Args))
	for i, a := range r.Args {
		if s, ok := a.(string); ok && i%2 == 1 {
			a = harmless(s)
		}
		args[i] = a
	}
	p.logger.Log(ctx, slog.Level(r.Level), r.Text, args...)
}

// harmless cuts a text and escapes what is not printable.
func harmless(s string) string {
	if len(s) > remoteText {
		s = s[:remoteText]
		for range utf8.UTFMax - 1 { // not within a letter
			if r, n := utf8.DecodeLastRuneInString(s); r == utf8.RuneError && n == 1 {
				s = s[:len(s)-1]
			}
		}
		s += "…"
	}
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}
