// Package logs writes log lines: for people on a terminal, as key=value for files and journals, as JSON for machines.
// No line can be written so often that it hides the others.
package logs

import (
	"io"
	"log/slog"
	"time"
)

// The formats of Config.
const (
	Text = "text" // for people and journals
	JSON = "json" // for machines
)

// Config says how lines are written.
type Config struct {
	Level    slog.Level
	Format   string           // Text or JSON; "" is Text
	Terminal bool             // people watch: times are short, and time, level and message have no names
	Now      func() time.Time // the clock of the bounds, not of the lines; nil is time.Now
}

// rounded rounds times of a second and more to tenths.
func rounded(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration && a.Value.Duration() >= time.Second {
		a.Value = slog.DurationValue(a.Value.Duration().Round(time.Second / 10))
	}
	return a
}

// inSeconds writes lengths of time for machines: as a number of seconds, with fractions.
func inSeconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.Float64Value(a.Value.Duration().Seconds())
	}
	return a
}

// New returns a logger that writes whole lines to w, each with one Write.
func New(w io.Writer, c Config) *slog.Logger {
	if c.Now == nil {
		c.Now = time.Now
	}
	o := &slog.HandlerOptions{Level: c.Level}
	var h slog.Handler
	switch {
	case c.Format == JSON:
		o.ReplaceAttr = inSeconds
		h = slog.NewJSONHandler(w, o)
	case c.Terminal:
		h = newPlain(w, c.Level)
	default:
		o.ReplaceAttr = rounded
		h = slog.NewTextHandler(w, o)
	}
	return slog.New(&bounded{Handler: h, bounds: newBounds(c.Now)})
}
