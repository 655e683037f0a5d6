package relaysync

import (
	"context"
	"log/slog"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/sync/peer"
)

// report logs what the machine reports. It makes the arguments harmless, as they may be a stranger's texts.
func (p *shell) report(ctx context.Context, r peer.Report) {
	args := make([]any, len(r.Args))
	for i, a := range r.Args {
		if s, ok := a.(string); ok && i%2 == 1 {
			a = harmless(s)
		}
		args[i] = a
	}
	p.logger.Log(ctx, slog.Level(r.Level), r.Text, args...)
}

// harmless cuts a text to safetext.MaxText and escapes what is not printable.
func harmless(s string) string {
	s, cut := safetext.Cut(s, safetext.MaxText)
	if cut {
		s += "…"
	}
	return safetext.Escape(s)
}
