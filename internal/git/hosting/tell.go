package hosting

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/protocol/nip19"
)

// tell logs a push for the operator: what it changed, or why it was refused. It does not say whose address it came from.
func (p *push) tell(began time.Time, v refs.Verdict, result githttp.PushResult, err error) {
	log := p.h.cfg.Logger.With("repository", p.call.Of.String(), "took", p.h.cfg.Now().Sub(began).Round(time.Millisecond))
	if why := whyRefused(result, err); why != "" {
		log.Info("push refused", "cause", short(why))
		return
	}
	by := "nobody yet"
	switch {
	case v.State != nil:
		by = nip19.Npub(v.State.Author)
	case len(v.PullRequests) > 0:
		by = "the authors of pull requests"
	}
	log.Info("push", "count", len(p.call.Push.Commands), "bytes", p.bytes, "signed_by", by)
}

// whyRefused says why a push failed, or a ref of it was refused; "" where all of it was taken.
func whyRefused(result githttp.PushResult, err error) string {
	if errors.Is(err, context.Canceled) {
		return "whoever pushed has left, or this server was stopped"
	}
	for _, o := range result.Outcomes {
		if o.Refused != "" {
			return o.Refused
		}
	}
	return ""
}

// tellFirst logs that a repository has git data for the first time.
func tellFirst(log *slog.Logger, r refdb.Repository) {
	if r.Refs.Generation == 1 {
		log.Info("repository is served for the first time", "repository", r.Of.String())
	}
}
