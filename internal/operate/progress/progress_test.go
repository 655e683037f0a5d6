package progress_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/graspd/graspd/internal/operate/progress"
)

// shown is what stands on a terminal after it was sent b: the lines, the last one open.
func shown(t *testing.T, b []byte) []string {
	t.Helper()
	lines, at := []string{""}, 0
	for len(b) > 0 {
		switch rest, up := bytes.CutPrefix(b, []byte("\x1b[A")); {
		case up:
			if at--; at < 0 {
				t.Fatal("above the top")
			}
			b = rest
		case bytes.HasPrefix(b, []byte("\r\x1b[J")):
			lines, b = append(lines[:at:at], ""), b[4:]
		case b[0] == '\n':
			if at++; at == len(lines) {
				lines = append(lines, "")
			}
			b = b[1:]
		default:
			r, n := utf8.DecodeRune(b)
			lines[at] += string(r)
			b = b[n:]
		}
	}
	return lines
}

func want(t *testing.T, out *bytes.Buffer, lines ...string) {
	t.Helper()
	if got, want := fmt.Sprintf("%q", shown(t, out.Bytes())), fmt.Sprintf("%q", append(lines, "")); got != want {
		t.Errorf("on the terminal is\n%s, want\n%s", got, want)
	}
}

func TestLinesScrollAboveWhatIsDrawnAgain(t *testing.T) {
	var out bytes.Buffer
	s := progress.NewScreen(&out, func() int { return 11 })
	fmt.Fprintln(s, "one")
	want(t, &out, "one")
	s.Draw("50 %", "a line that is too long")
	want(t, &out, "one", "50 %", "a line tha")
	fmt.Fprint(s, "two\nhalf a ")
	want(t, &out, "one", "two", "50 %", "a line tha")
	fmt.Fprint(s, "li")
	want(t, &out, "one", "two", "50 %", "a line tha")
	fmt.Fprint(s, "ne\n")
	s.Draw("60\x1b[2J\n %")
	want(t, &out, "one", "two", "half a line", "60[2J %")
	s.Clear()
	s.Clear()
	fmt.Fprintln(s, "end")
	want(t, &out, "one", "two", "half a line", "end")
}

func TestBars(t *testing.T) {
	for _, c := range []struct {
		done, all int64
		want      string
	}{
		{0, 10, "░░░░"}, {10, 10, "████"}, {5, 10, "██░░"}, {1, 1_000_000, "▏░░░"}, {999_999, 1_000_000, "███▉"}, {1<<62 - 1, 1 << 62, "███▉"},
		{20, 10, "████"}, {-1, 10, "░░░░"}, {0, 0, "░░░░"}, {3, 8, "█▌░░"},
	} {
		if got := progress.Bar(4, c.done, c.all); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.done, c.all, got, c.want)
		}
	}
}

func TestCounts(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000"} {
		if got := progress.Count(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

func TestMeterIsThrottledAndEstimates(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1_000_000, 0)
	m := progress.NewMeter(progress.NewScreen(&out, func() int { return 100 }), "checking", "events", func() time.Time { return now })
	for i := range int64(1000) {
		m.Show(i, 4000, i)
		now = now.Add(10 * time.Millisecond)
	}
	if n := strings.Count(out.String(), "checking"); n != 100 {
		t.Errorf("drawn %d times in ten seconds", n)
	}
	m.Show(1000, 4000, 1000)
	want(t, &out, "checking ██████░░░░░░░░░░░░░░░░░░  25 %  1,000 events, 100 a second, 30s left")
	m.End()
	want(t, &out)
}

func TestWithoutATerminal(t *testing.T) {
	var s *progress.Screen
	s.Draw("nothing")
	s.Clear()
	m := progress.NewMeter(nil, "checking", "events", time.Now)
	m.Show(1, 2, 1)
	m.End()
	if m != nil {
		t.Error("a meter without a screen")
	}
}
