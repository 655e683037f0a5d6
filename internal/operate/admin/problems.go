package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/status"
)

// Problems is the document /problems.json: what the operator should mend, one sentence each. It is empty when all is well.
type Problems struct {
	Problems []string `json:"problems"`
}

// longBehind is how long something that is wanted may stay unconfirmed.
const longBehind = 24 * time.Hour

// faultTold is how long the problems name the last contained fault.
const faultTold = 24 * time.Hour

func (c Config) problems(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	answerJSON(w, Problems{Problems: c.Look(ctx)})
}

// Look returns what is wrong now, as /problems.json lists it.
func (c Config) Look(ctx context.Context) []string {
	if c.Sync == nil {
		return c.troubles(nil)
	}
	return c.troubles(c.sorted(ctx))
}

// troubles returns what is wrong, also with these relays.
func (c Config) troubles(relays []status.Relay) []string {
	list := []string{}
	if why := c.unstored(); why != "" {
		list = append(list, why)
	} else if err := c.Store.Room(); err != nil {
		list = append(list, fmt.Sprintf("graspd does not know whether there is room on the disk: %v", err))
	} else if c.Git != nil {
		if err := c.Git.Room(); errors.Is(err, store.ErrFull) {
			list = append(list, "graspd takes no push and fetches no git data: their disk has no more room or inodes than graspd keeps free (--disk-floor)")
		} else if err != nil {
			list = append(list, fmt.Sprintf("graspd does not know whether there is room on the disk of the git data: %v", err))
		}
	}
	if c.Bucket != nil && c.Bucket.Problem() != "" {
		list = append(list, c.Bucket.Problem())
	}
	if c.Cluster != nil {
		list = append(list, c.Cluster.Standing().Problems()...)
	}
	if n, last := c.Faults.Seen(); n > 0 && time.Since(last.Time) < faultTold {
		list = append(list, fmt.Sprintf("%s in graspd since the start; a fault ends one connection or one piece of work; the last one at %s in what serves %s: %s at %s; please report it with its lines of the log",
			safetext.Number(n, "fault", "faults"), last.Time.UTC().Format(time.RFC3339), last.In, last.Value, last.Place))
	}
	if c.Backups != nil {
		b := c.Backups.Status()
		if text := b.Problem(time.Now()); text != "" {
			list = append(list, text)
		}
	}
	if c.Sync == nil {
		return list
	}
	if c.Node != nil {
		if n := c.Node.Nothing(); n != nil && n.Amiss() && c.readiness().Ready {
			list = append(list, "no repository is kept here: "+n.Seen())
		}
	}
	if text := c.readiness().Problem(); text != "" {
		list = append(list, text)
	}
	if text := status.Unreached(relays, c.Start); text != "" && !c.Start.IsZero() {
		list = append(list, text)
	}
	for _, r := range relays {
		switch {
		case r.Health == status.Dead && r.Bootstrap:
			list = append(list, fmt.Sprintf("bootstrap relay %s is dead: %s", r.URL, r.Failing()))
		case r.Health == status.Dead: // strangers name whatever relays they like
		case r.Behind >= longBehind:
			list = append(list, fmt.Sprintf("relay %s: for %d hours graspd has not had all that it wants from it; not complete: %s", r.URL, int(r.Behind.Hours()), missing(r)))
		}
	}
	return list
}

// unstored says why nothing can be stored now; "" where something can, as far as is known.
func (c Config) unstored() string {
	if err := c.Store.Failure(); errors.Is(err, store.ErrPaused) {
		return fmt.Sprintf("graspd stores nothing for now, and opens its storage anew every minute until that works: %v", err)
	} else if err != nil {
		return fmt.Sprintf("graspd stores nothing until the next start: %v", err)
	}
	switch err := c.Store.Room(); {
	case errors.Is(err, store.ErrNoInodes):
		return "graspd stores nothing: the disk has no free inodes left but those that graspd keeps free (--disk-floor): remove small files, or use a file system with more inodes"
	case errors.Is(err, store.ErrFull):
		return "graspd stores nothing: the free disk space is at its floor (--disk-floor)"
	}
	return ""
}

// missing says how much of what is wanted of a relay is not complete.
func missing(s status.Relay) string {
	repos, roots := s.Want.Repositories-s.Confirmed.Repositories, s.Want.Roots-s.Confirmed.Roots
	if repos == 0 && roots == 0 {
		return "the list of announcements"
	}
	return safetext.Number(repos, "repository", "repositories") + ", " + safetext.Number(roots, "root event", "root events")
}
