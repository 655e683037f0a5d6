package relaysync

import (
	"context"
	"log/slog"
	"slices"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/sync/peer"
)

// unreached is the text with which a machine reports that its relay could not be reached.
const unreached = "connection failed"

// report logs what the machine reports. It makes the arguments harmless, as they may be a stranger's texts.
func (p *shell) report(ctx context.Context, r peer.Report) {
	args := make([]any, len(r.Args))
	for i, a := range r.Args {
		if s, ok := a.(string); ok && i%2 == 1 {
			a = harmless(s)
		}
		args[i] = a
	}
	if i := slices.Index(args, any("cause")); r.Text == unreached && i >= 0 {
		write, all, mend := p.engine.alike.note(p.now(), p.url, args[i+1].(string))
		if all {
			p.engine.cfg.Logger.Warn("many relays cannot be reached, for one reason", "cause", reasonOf(args[i+1].(string)), "mend", mend)
		}
		if !write {
			return
		}
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
