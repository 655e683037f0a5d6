package pktline_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/graspd/graspd/internal/protocol/pktline"
)

func TestAppend(t *testing.T) {
	longest := strings.Repeat("x", pktline.MaxPayload)
	for payload, want := range map[string]string{
		"": "0004", "a\n": "0006a\n", "foobar\n": "000bfoobar\n", strings.Repeat("y", 0xabc-4): "0abc" + strings.Repeat("y", 0xabc-4), longest: "fff0" + longest,
	} {
		if got := string(pktline.Append([]byte("before"), payload)); got != "before"+want {
			t.Errorf("%.20q: %.40q", payload, got)
		}
		if got := string(pktline.Append(nil, []byte(payload))); got != want {
			t.Errorf("%.20q as bytes: %.40q", payload, got)
		}
	}
	got := pktline.AppendResponseEnd(pktline.AppendDelim(pktline.AppendFlush([]byte("x"))))
	if string(got) != "x000000010002" {
		t.Errorf("%q", got)
	}
}

func TestBeginAndEnd(t *testing.T) {
	dst := []byte("before")
	start := len(dst)
	dst = pktline.End(append(pktline.Begin(dst), "piece by piece"...), start)
	if string(dst) != "before0012piece by piece" {
		t.Errorf("%q", dst)
	}
}

// Whoever writes lines bounds what is in them; a frame that git would not take is never written.
func TestAppendTooMuch(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a frame of 65,521 bytes is written")
		}
	}()
	pktline.Append(nil, strings.Repeat("x", pktline.MaxPayload+1))
}

func TestAppendError(t *testing.T) {
	if got := string(pktline.AppendError(nil, "no such repository")); got != "001aERR no such repository" {
		t.Errorf("%q", got)
	}
	if got := pktline.AppendError(nil, strings.Repeat("a", pktline.MaxPayload-4)); len(got) != pktline.MaxFrame {
		t.Errorf("%d bytes", len(got))
	}
	for shift := range 3 {
		got := pktline.AppendError(nil, strings.Repeat("a", shift)+strings.Repeat("\u20ac", pktline.MaxPayload)) // a character of three bytes
		if len(got) > pktline.MaxFrame || len(got) < pktline.MaxFrame-2 || !utf8.Valid(got) {
			t.Errorf("%d bytes, valid %v", len(got), utf8.Valid(got))
		}
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	dst := make([]byte, 0, 1<<16)
	payload := []byte("payload")
	if n := testing.AllocsPerRun(100, func() {
		dst = pktline.AppendFlush(pktline.Append(pktline.Append(dst[:0], payload), "text"))
		dst = pktline.AppendBand(dst, pktline.SidebandFrame, pktline.BandProgress, payload)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
