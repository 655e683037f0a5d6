package relaysync

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/sync/peer"
)

func TestReportsAreLogged(t *testing.T) {
	var b bytes.Buffer
	p := &shell{logger: slog.New(slog.NewTextHandler(&b, nil))}
	p.report(t.Context(), peer.Report{Level: peer.LevelWarn, Text: "gap", Args: []any{"found_by", "the daily\nresync", "count", 3}})
	if !strings.HasSuffix(b.String(), `level=WARN msg=gap found_by="the daily\\nresync" count=3`+"\n") {
		t.Error(b.String())
	}
}

func TestRemoteTextIsCutAndEscaped(t *testing.T) {
	for in, want := range map[string]string{
		"blocked: no \"entry\"":          "blocked: no \"entry\"",
		"":                               "",
		"a\nlevel=ERROR\x1b[2J":          `a\nlevel=ERROR\x1b[2J`,
		"\xff\x00":                       `\xff\x00`,
		"grün":                           "grün",
		strings.Repeat("x", 200):         strings.Repeat("x", 200),
		strings.Repeat("x", 5000):        strings.Repeat("x", 200) + "…",
		strings.Repeat("x", 198) + "€€":  strings.Repeat("x", 198) + "…",
		strings.Repeat("x", 199) + "ü…":  strings.Repeat("x", 199) + "…",
		strings.Repeat("x", 197) + "€ab": strings.Repeat("x", 197) + "€…",
	} {
		if got := harmless(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
