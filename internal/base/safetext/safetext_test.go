package safetext

import (
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"
)

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		in   string
		most int
		want string
		cut  bool
	}{
		{"", 0, "", false}, {"", 5, "", false}, {"abc", 3, "abc", false}, {"abcd", 3, "abc", true}, {"é", 1, "", true}, {"aé", 2, "a", true}, {"aéb", 3, "aé", true},
		{"\U0001f426", 3, "", true}, {"x\U0001f426", 4, "x", true}, {"x\U0001f426y", 5, "x\U0001f426", true}, {"\x80\x80\x80", 2, "", true}, {"abc", 0, "", true},
		{strings.Repeat("\x80", 100), 50, strings.Repeat("\x80", 46), true},
	} {
		if got, cut := Cut(tt.in, tt.most); got != tt.want || cut != tt.cut {
			t.Errorf("%q at %d: %q, %v", tt.in, tt.most, got, cut)
		}
	}
	long := strings.Repeat("x", 1<<20)
	if got, _ := Cut(long, 100); unsafe.StringData(got) == unsafe.StringData(long) {
		t.Error("what is kept holds the memory of the whole")
	}
	if got, _ := Cut(long, len(long)); unsafe.StringData(got) != unsafe.StringData(long) {
		t.Error("what is short enough is copied")
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"blocked: no \"entry\" \\ to é…": "blocked: no \"entry\" \\ to é…",
		"a\nlevel=ERROR\x1b[2J":          `a\nlevel=ERROR\x1b[2J`,
		"\xff\x00\x7f":                   `\xff\x00\x7f`,
		"a\u202eb\u2067\u00a0":           `a\u202eb\u2067\u00a0`,
		"\U000e0041":                     `\U000e0041`,
		"\ufffd":                         "\ufffd",
	} {
		if got := Escape(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := Printable(strings.Repeat("é", 5000)); got != strings.Repeat("é", 100) {
		t.Errorf("%d bytes", len(got))
	}
	for in, want := range map[string]string{
		"1234567890": "1234567890", "12345678901": "1234567890", "123456789é": "123456789", "12345678é": "12345678é", "1234567\x00": "1234567", "123456\x00": `123456\x00`,
		"1234567\x00x": "1234567",
	} {
		if got := escapeUpTo(in, 10); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestColumns(t *testing.T) {
	for in, want := range map[string]string{
		"caught up": "caught", "grün\x1b[2Jer": "grün[2", "a\r\n\u202eb": "ab", "": "", "ünïcöde": "ünïcöd",
	} {
		if got := Columns(in, 6); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if Columns("x", 0) != "" || Columns("x", -1) != "" {
		t.Error("a terminal without columns shows something")
	}
}

// Whatever is written, what is shown of it is one printable line of a bounded length, and a beginning of the whole.
func TestAnyBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		b := make([]byte, r.IntN(40))
		for i := range b {
			if b[i] = byte(r.Uint32()); r.IntN(3) == 0 {
				b[i] = "é€\x1b\n\u202e"[r.IntN(9)]
			}
		}
		s, most := string(b), r.IntN(45)
		got, whole := escapeUpTo(s, most), Escape(s)
		if len(got) > most || !strings.HasPrefix(whole, got) {
			t.Fatalf("%q at %d: %q of %q", s, most, got, whole)
		}
		for _, c := range whole {
			if !strconv.IsPrint(c) {
				t.Fatalf("%q: %q", s, whole)
			}
		}
		if len(whole) <= most && got != whole {
			t.Fatalf("%q at %d: %q of %q", s, most, got, whole)
		}
		short, cut := Cut(s, most)
		if len(short) > most || len(short) < min(len(s), most-utf8.UTFMax) || !strings.HasPrefix(s, short) || cut != (short != s) || utf8.ValidString(s) && !utf8.ValidString(short) {
			t.Fatalf("%q at %d: %q, %v", s, most, short, cut)
		}
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " a b ": "a b", "\n\nfirst \nsecond": "first…", "1234567890": "12345678…", "ééééé": "éééé…", "a\xffb": "a\uFFFDb", "1234567 90": "1234567…",
	} {
		if got := Line(in, 8); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// TestALineOfALongTextIsShortWork: what is cut off is not made valid first.
func TestALineOfALongTextIsShortWork(t *testing.T) {
	long := strings.Repeat("a\x80", 1<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := Line(long, 8)
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 1<<19 || got != "a\uFFFDa\uFFFD…" {
		t.Errorf("%q, which took %d bytes", got, bytes)
	}
}
