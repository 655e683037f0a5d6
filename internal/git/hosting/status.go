package hosting

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
)

// Bounds of the lists in a Status.
const (
	waitsTold    = 20
	refusalsTold = 20
	reasonBytes  = 300
)

// Status returns the part of the status that hosting knows. The caller adds those of HTTP and of git's processes.
func (h *Host) Status() (status.Git, error) {
	s := h.Stats()
	out := status.Git{
		Pushes: s.Pushing, Uploads: s.Uploads, UploadBytes: status.Bytes(s.UploadBytes), Waiting: h.cfg.Store.Stats().Waiting,
		Waits: []status.Wait{}, Refused: h.refusals.newest(), Processes: []status.Processes{},
	}
	n, bytes, err := h.Kept()
	out.Repositories, out.Bytes = n, status.Bytes(bytes)
	v := h.cfg.Store.View()
	defer v.Close()
	enough := errors.New("enough are told")
	failed := v.EachWait(func(w store.Waiting) error {
		if len(out.Waits) == waitsTold {
			return enough
		}
		out.Waits = append(out.Waits, status.Wait{
			ID: w.Event.ID.String(), Kind: w.Event.Kind, Repository: status.Text(repositoryOf(w.Event)), Why: status.Text(whyWaits(w.Event)),
			Until: status.Unix(w.Until),
		})
		return nil
	})
	if errors.Is(failed, enough) {
		failed = nil
	}
	return out, errors.Join(err, failed)
}

// repositoryOf returns the first repository that a waiting event concerns.
func repositoryOf(e *nostr.Event) string {
	switch e.Kind {
	case nip34.KindRepository, nip34.KindState:
		return short(nip34.Address{Kind: nip34.KindRepository, PubKey: e.PubKey, D: e.Tags.D()}.String())
	}
	for _, a := range nip34.Repositories(e) {
		return short(a.String())
	}
	return ""
}

// whyWaits says what an event waits for.
func whyWaits(e *nostr.Event) string {
	switch e.Kind {
	case nip34.KindRepository:
		return "until a state of it, or a pull request, has its git data here"
	case nip34.KindState:
		s, err := refs.ReadState(e)
		if err != nil || s.Flaw != "" {
			return "for ever, as no repository can be as it says"
		}
		return fmt.Sprintf("until %d branches and tags are complete here", len(s.Refs))
	}
	t, err := nip34.ParseTip(e)
	if err != nil || t.Commit == "" {
		return "until the pull request that it is about is served"
	}
	return short("until commit " + t.Commit + " is complete here")
}

func short(s string) string {
	s, _ = safetext.Cut(s, reasonBytes)
	return s
}

// refusals has the last pushes that failed, or of which a ref was refused.
type refusals struct {
	mu   sync.Mutex
	list []status.Refusal // the newest last
}

func (r *refusals) add(x status.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == refusalsTold {
		r.list = append(r.list[:0], r.list[1:]...)
	}
	r.list = append(r.list, x)
}

func (r *refusals) newest() []status.Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := append([]status.Refusal{}, r.list...)
	slices.Reverse(out)
	return out
}

// refused notes a push that failed, or of which a ref was refused.
func (h *Host) refused(of nip34.Address, result githttp.PushResult, err error) {
	if why := whyRefused(result, err); why != "" {
		h.refusals.add(refusal(h.cfg.Now(), of, why))
	}
}

func refusal(now time.Time, of nip34.Address, why string) status.Refusal {
	return status.Refusal{At: status.Moment{Time: now}, Repository: status.Text(short(of.String())), Reason: status.Text(short(why))}
}
