package logs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
)

// plain writes lines for people who watch: "15:04:05 WARN  connection failed  relay=wss://… attempt=3".
type plain struct {
	attrs slog.Handler // writes the rest of the line into out.line
	out   *plainOut
}

type plainOut struct {
	mu   sync.Mutex // guards the fields below
	w    io.Writer
	line bytes.Buffer
}

func newPlain(w io.Writer, level slog.Level) *plain {
	out := &plainOut{w: w}
	return &plain{out: out, attrs: slog.NewTextHandler(&out.line, &slog.HandlerOptions{Level: level, ReplaceAttr: withoutHead})}
}

// withoutHead leaves out the attributes that stand at the beginning of the line, and the component.
func withoutHead(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey || a.Key == "component") {
		return slog.Attr{}
	}
	return rounded(groups, a)
}

func (p *plain) Enabled(ctx context.Context, l slog.Level) bool { return p.attrs.Enabled(ctx, l) }

func (p *plain) WithAttrs(as []slog.Attr) slog.Handler { return &plain{p.attrs.WithAttrs(as), p.out} }

func (p *plain) WithGroup(name string) slog.Handler { return &plain{p.attrs.WithGroup(name), p.out} }

func (p *plain) Handle(ctx context.Context, r slog.Record) error {
	o := p.out
	o.mu.Lock()
	defer o.mu.Unlock()
	o.line.Reset()
	fmt.Fprintf(&o.line, "%s %-5s %s", r.Time.Format("15:04:05"), r.Level, r.Message)
	head := o.line.Len()
	o.line.WriteString("  ")
	if err := p.attrs.Handle(ctx, r); err != nil {
		return err
	}
	if len(bytes.TrimSpace(o.line.Bytes()[head:])) == 0 {
		o.line.Truncate(head)
		o.line.WriteByte('\n')
	}
	_, err := o.w.Write(o.line.Bytes())
	return err
}
