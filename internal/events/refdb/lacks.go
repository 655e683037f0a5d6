package refdb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of what graspd looks for at a time. It looks for the rest when something has come.
const (
	needsOfStates   = 32   // needs of one repository for states
	needsOfTips     = 256  // needs of one repository in all
	needsOfWaits    = 160  // needs of one repository for waiting pull requests
	tipsKnown       = 4096 // served pull requests of one repository that tips looks at, the newest
	sourcesOf       = 64   // sources of one repository
	sourcesOfTip    = 8    // sources of one pull request
	mostMaintainers = 64   // maintainers of one repository whose announcements are read for sources
)

// Lack is the git data that a repository lacks though served or waiting events name it (GRASP-02), and where that data may be.
type Lack struct {
	Repository
	Hosted  bool           // its announcement names this service or is archived, and is served or waits; else graspd looks for nothing
	Needs   []Need         // each need is of use without the others
	Sources []grasp.Source // sources that the announcements of those who decide for it name, and mirrors, without this service
}

// Need has the objects that one event names and the repository does not have.
type Need struct {
	Event   nostr.ID
	Author  nostr.PubKey
	IDs     []gitwire.ObjectID
	Refs    []string       // the refs that the event names
	Tip     bool           // the object is the commit of a pull request
	Came    int64          // unix time at which the event came, if it waits; 0 for a served event
	Pushed  bool           // a client brought the event, and will probably push
	Sources []grasp.Source // sources beside those of the repository
}

// Lacks returns what a repository lacks: for the states that may come to rule it, for waiting pull requests, and for served ones.
func (r *Reader) Lacks(ctx context.Context, of nip34.Address) (Lack, error) {
	out, err := r.findLacks(of)
	if err != nil {
		return out, fmt.Errorf("what %s lacks: %w", of, err)
	}
	return out, r.tips(ctx, &out)
}

func (r *Reader) findLacks(of nip34.Address) (out Lack, err error) {
	if grasp.IsContributed(of) {
		return r.ofContributed(of)
	}
	own, err := announcementsOf(r, of)
	if err != nil {
		return out, err
	}
	out.Of = of
	if out.Hosted = slices.ContainsFunc(own, r.serves); !out.Hosted {
		return out, nil
	}
	if out.Repository, err = Read(r, of); err != nil {
		return out, err
	}
	f, err := r.family(r, of.D)
	if err != nil {
		return out, err
	}
	if err := r.lacksOfStates(f, &out); err != nil {
		return out, err
	}
	if err := r.lacksOfTips(&out); err != nil {
		return out, err
	}
	out.Sources, err = r.sources(f, of)
	return out, err
}

// lacksOfStates adds the needs of states by those who decide: of waiting states, and of served states that would rule if they were complete.
func (r *Reader) lacksOfStates(f *family, out *Lack) error {
	members := f.allCouncils.Of(out.Of.PubKey)
	for _, pk := range members.Members {
		if len(out.Needs) >= needsOfStates {
			break
		}
		if s, err := f.state(pk, true); err != nil {
			return err
		} else if s != nil {
			if first, err := f.firstHome(pk); err != nil {
				return err
			} else if first == out.Of.PubKey { // else the state is completed in its first home, and this repository follows that one
				w, err := f.t.Waiting(s.ID)
				if err != nil {
					return err
				}
				if err := r.lackOf(out, s, w); err != nil {
					return err
				}
			}
		}
		s, err := f.state(pk, false)
		if err != nil {
			return err
		}
		p := out.Refs
		if s == nil || p.Ruled && s.ID != p.ID && members.Has(p.Author) && !s.Newer(p.Stamp) {
			continue
		}
		if err := r.lackOf(out, s, store.Waiting{}); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) lackOf(out *Lack, s *refs.State, w store.Waiting) error {
	if s.Flaw != "" {
		return nil
	}
	missing, err := r.data.Missing(r, out.Dir, unique(objectsOf(s)))
	if err != nil || len(missing) == 0 {
		return err
	}
	n := Need{Event: s.ID, Author: s.Author, IDs: missing, Came: w.Came, Pushed: w.Event != nil && w.Source == store.Direct}
	for _, x := range s.Refs {
		n.Refs = append(n.Refs, x.Name)
	}
	out.Needs = append(out.Needs, n)
	return nil
}

// lacksOfTips adds the needs of the waiting pull requests that name the repository. Their authors take turns, so that nobody with many pull
// requests takes the place of others.
func (r *Reader) lacksOfTips(out *Lack) error {
	var all []Need
	for _, d := range []string{out.Of.D, anonymous} {
		waiting, err := r.waitIndex.of(r, d, &grasp.Set{})
		if err != nil {
			return err
		}
		for _, e := range waiting {
			if e.Kind != nip34.KindPullRequest && e.Kind != nip34.KindPullRequestUpdate {
				continue
			}
			w, err := r.Waiting(e.ID)
			if err != nil {
				return err
			}
			p, err := r.pullRequest(r, e)
			if err != nil {
				return err
			}
			if all, err = r.lackOfTip(all, out, p, e, w); err != nil {
				return err
			}
		}
	}
	out.Needs = append(out.Needs, inTurns(all, needsOfWaits)...)
	return nil
}

// inTurns returns the first most needs when their authors take turns, each with their newest first.
func inTurns(all []Need, most int) []Need {
	slices.SortFunc(all, func(a, b Need) int { return cmp.Or(cmp.Compare(b.Came, a.Came), a.Event.Compare(b.Event)) })
	turn, of := make(map[nostr.ID]int, len(all)), map[nostr.PubKey]int{}
	for _, n := range all {
		turn[n.Event] = of[n.Author]
		of[n.Author]++
	}
	slices.SortStableFunc(all, func(a, b Need) int { return cmp.Compare(turn[a.Event], turn[b.Event]) })
	return all[:min(len(all), most)]
}

// lackOfTip adds the need of a pull request to to, if the repository lacks the tip. It returns the needs.
func (r *Reader) lackOfTip(to []Need, out *Lack, p refs.PullRequest, e *nostr.Event, w store.Waiting) ([]Need, error) {
	if p.Tip.IsZero() || !p.Names(out.Of) {
		return to, nil
	}
	missing, err := r.data.Missing(r, out.Dir, []gitwire.ObjectID{p.Tip})
	if err != nil || len(missing) == 0 {
		return to, err
	}
	n := Need{Event: e.ID, Author: e.PubKey, IDs: missing, Refs: []string{p.Name()}, Tip: true, Came: w.Came, Pushed: w.Event != nil && w.Source == store.Direct}
	if tip, err := nip34.ParseTip(e); err == nil {
		n.Sources = r.service.Sources(nil, tip.Clone, sourcesOfTip)
	}
	return append(to, n), nil
}

// tips adds the needs of served pull requests whose tips the repository lacks. It looks at the newest tipsKnown pull requests. Where there
// are more than needsOfTips needs, it adds others every hour.
func (r *Reader) tips(ctx context.Context, out *Lack) error {
	if !out.Hosted {
		return nil
	}
	if grasp.IsContributed(out.Of) {
		return r.tipsOfContributed(ctx, out)
	}
	var all []Need
	var roots []refs.PullRequest
	err := eachServed(ctx, r.View, tagged('a', out.Of.String()), func(e *nostr.Event, p refs.PullRequest) (err error) {
		if e.Kind == nip34.KindPullRequest {
			roots = append(roots, p)
		}
		all, err = r.lackOfTip(all, out, p, e, store.Waiting{})
		return err
	})
	for some := range slices.Chunk(roots, rootsAtOnce) {
		of := map[nostr.ID]refs.PullRequest{}
		var ids []string
		for _, p := range some {
			of[p.ID], ids = p, append(ids, p.ID.String())
		}
		if err != nil {
			break
		}
		err = eachServed(ctx, r.View, tagged('E', ids...), func(e *nostr.Event, p refs.PullRequest) (err error) {
			if len(p.Repositories) == 0 { // else the update itself names this repository, or another one
				all, err = r.lackOfTip(all, out, p.Of(of[p.Updates]), e, store.Waiting{})
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("pull requests that %s lacks: %w", out.Of, err)
	}
	out.Needs = append(out.Needs, hourly(all, needsOfTips-len(out.Needs), r.at)...)
	return nil
}

// rootsAtOnce is for how many pull requests tips asks the store for updates at a time.
const rootsAtOnce = 200

func tagged(tag byte, values ...string) nostr.Filter {
	return nostr.Filter{Tags: []nostr.TagFilter{{Name: tag, Values: values}}}
}

// eachServed calls do with the newest tipsKnown of the served pull requests and updates that match a filter.
func eachServed(ctx context.Context, v *store.View, f nostr.Filter, do func(*nostr.Event, refs.PullRequest) error) error {
	n := 0
	f.Kinds = []nostr.Kind{nip34.KindPullRequest, nip34.KindPullRequestUpdate}
	for row, err := range v.Query(ctx, f) {
		if err == nil && n >= tipsKnown {
			return nil
		}
		n++
		var e *nostr.Event
		if err == nil {
			e, err = row.Event()
		}
		var p refs.PullRequest
		if err == nil {
			p, err = refs.ReadPullRequest(e)
		}
		if err == nil {
			err = do(e, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hourly returns those of the needs, at most most, that have their turn in the hour of now. So tips that nobody has do not keep graspd from
// looking for others.
func hourly(all []Need, most int, now time.Time) []Need {
	if len(all) <= most {
		return all
	}
	if most <= 0 {
		return nil
	}
	pages := (len(all) + most - 1) / most
	first := int(now.Unix()/3600%int64(pages)) * most
	return all[first:min(first+most, len(all))]
}

// sources returns up to sourcesOf sources from the announcements of everybody who decides for a repository, the owner's first, and after
// them all mirrors.
func (r *Reader) sources(f *family, of nip34.Address) (out []grasp.Source, err error) {
	private := false
	authors := []nostr.PubKey{of.PubKey}
	for _, pk := range f.allCouncils.Of(of.PubKey).Members {
		if pk != of.PubKey && len(authors) < mostMaintainers {
			authors = append(authors, pk)
		}
	}
	for _, pk := range authors {
		own, err := announcementsOf(r, f.repository(pk))
		if err != nil {
			return nil, err
		}
		for _, a := range own {
			private = private || a.Private
			for _, s := range r.service.Sources(a, a.Clone, sourcesOf) {
				if !slices.Contains(out, s) && len(out) < sourcesOf {
					out = append(out, s)
				}
			}
		}
	}
	if r.private && private {
		return out, nil
	}
	for _, u := range r.mirrors {
		if s, ok := u.Source(of.PubKey, of.D); ok && !r.service.Has(s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out, nil
}

func unique(ids []gitwire.ObjectID) []gitwire.ObjectID {
	seen := make(map[gitwire.ObjectID]bool, len(ids))
	out := ids[:0]
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}
