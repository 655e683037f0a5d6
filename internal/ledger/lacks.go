package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/gitwire"
	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/refs"
	"github.com/graspd/graspd/internal/store"
)

// Bounds of what is looked for at a time. What is beyond them is looked for when something has come.
const (
	needsOfStates   = 32   // of one repository
	needsOfTips     = 256  // of one repository, all its needs together
	needsOfWaits    = 160  // of one repository, by pull requests that wait
	tipsKnown       = 4096 // served pull requests of one repository that are looked at, the newest
	sourcesOf       = 64   // of one repository
	sourcesOfTip    = 8    // of one pull request
	mostMaintainers = 64   // of those who decide, how many announcements are read for sources
)

// Lack is the git data that a repository lacks though served or waiting events name it (GRASP-02), and where that data may be.
type Lack struct {
	Repository
	Hosted  bool           // its announcement names this service or is archived, and is served or waits; else nothing is looked for
	Needs   []Need         // each is of use without the others
	Sources []grasp.Source // that the announcements of those who decide for it name, and mirrors, without this service
}

// Need is objects that one event names and the repository does not have.
type Need struct {
	Event   nostr.ID
	Author  nostr.PubKey
	IDs     []gitwire.ObjectID
	Tip     bool           // it is the commit of a pull request
	Came    int64          // unix time at which the event came, if it waits; 0 for a served event
	Pushed  bool           // a client brought the event, and is expected to push
	Sources []grasp.Source // beside those of the repository
}

// lacking finds out what repositories lack.
type lacking struct {
	service grasp.Service    // which is no source for itself
	mirrors []grasp.RelayURL // beside what announcements name
	private bool             // mirrors are asked for no private repository
	data    gitData
	events  *eventReader
	book    *book
}

// of says what a repository lacks for the states that may come to rule it, and for pull requests that wait.
func (l *lacking) of(t Turn, of nip34.Address) (Lack, error) {
	out, err := l.findLacks(t, of)
	if err != nil {
		return out, fmt.Errorf("what %s lacks: %w", of, err)
	}
	return out, nil
}

func (l *lacking) findLacks(t Turn, of nip34.Address) (out Lack, err error) {
	if grasp.IsContributed(of) {
		return l.ofContributed(t, of)
	}
	own, err := announcementsOf(t, of)
	if err != nil {
		return out, err
	}
	out.Of = of
	if out.Hosted = slices.ContainsFunc(own, t.Serves); !out.Hosted {
		return out, nil
	}
	if out.Repository, err = Read(t, of); err != nil {
		return out, err
	}
	f, err := l.events.family(t, of.D)
	if err != nil {
		return out, err
	}
	if err := l.lacksOfStates(f, &out); err != nil {
		return out, err
	}
	if err := l.lacksOfTips(t, &out); err != nil {
		return out, err
	}
	out.Sources, err = l.sources(t, f, of)
	return out, err
}

// lacksOfStates adds the needs of the states of those who decide: of waiting states, and of served ones that would rule if they were complete.
func (l *lacking) lacksOfStates(f *family, out *Lack) error {
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
				if err := l.lackOf(out, s, w); err != nil {
					return err
				}
			}
		}
		s, err := f.state(pk, false)
		if err != nil {
			return err
		}
		r := out.Refs
		if s == nil || r.Ruled && s.ID != r.ID && members.Has(r.Author) && !s.Newer(r.Stamp) {
			continue
		}
		if err := l.lackOf(out, s, store.Waiting{}); err != nil {
			return err
		}
	}
	return nil
}

func (l *lacking) lackOf(out *Lack, s *refs.State, w store.Waiting) error {
	if s.Flaw != "" {
		return nil
	}
	missing, err := l.data.Missing(out.Dir, unique(objectsOf(s)))
	if err != nil || len(missing) == 0 {
		return err
	}
	out.Needs = append(out.Needs, Need{Event: s.ID, Author: s.Author, IDs: missing, Came: w.Came, Pushed: w.Event != nil && w.Source == store.Direct})
	return nil
}

// lacksOfTips adds the needs of the waiting pull requests that name the repository. Their authors take turns, so that nobody who has many
// keeps others from being looked for.
func (l *lacking) lacksOfTips(t Turn, out *Lack) error {
	var all []Need
	for _, d := range []string{out.Of.D, anonymous} {
		waiting, err := l.book.of(t, d)
		if err != nil {
			return err
		}
		for _, e := range waiting {
			if e.Kind != nip34.KindPullRequest && e.Kind != nip34.KindPullRequestUpdate {
				continue
			}
			w, err := t.Waiting(e.ID)
			if err != nil {
				return err
			}
			p, err := l.events.pullRequest(t, e)
			if err != nil {
				return err
			}
			if all, err = l.lackOfTip(all, out, p, e, w); err != nil {
				return err
			}
		}
	}
	out.Needs = append(out.Needs, inTurns(all, needsOfWaits)...)
	return nil
}

// inTurns gives the first most needs when their authors take turns, each with the newest of their own first.
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

// lackOfTip adds to some needs what a repository lacks of a pull request.
func (l *lacking) lackOfTip(to []Need, out *Lack, p refs.PullRequest, e *nostr.Event, w store.Waiting) ([]Need, error) {
	if p.Tip.IsZero() || !p.Names(out.Of) {
		return to, nil
	}
	missing, err := l.data.Missing(out.Dir, []gitwire.ObjectID{p.Tip})
	if err != nil || len(missing) == 0 {
		return to, err
	}
	n := Need{Event: e.ID, Author: e.PubKey, IDs: missing, Tip: true, Came: w.Came, Pushed: w.Event != nil && w.Source == store.Direct}
	if tip, err := nip34.ParseTip(e); err == nil {
		n.Sources = l.service.Sources(nil, tip.Clone, sourcesOfTip)
	}
	return append(to, n), nil
}

// tips adds the needs of served pull requests whose tips the repository lacks, the newest tipsKnown of them looked at. Where there are
// more than needsOfTips, others are looked for every hour. Any goroutine may call tips.
func (l *lacking) tips(ctx context.Context, v *store.View, now time.Time, out *Lack) error {
	if !out.Hosted {
		return nil
	}
	if grasp.IsContributed(out.Of) {
		return l.tipsOfContributed(ctx, v, now, out)
	}
	var all []Need
	var roots []refs.PullRequest
	err := eachServed(ctx, v, tagged('a', out.Of.String()), func(e *nostr.Event, p refs.PullRequest) (err error) {
		if e.Kind == nip34.KindPullRequest {
			roots = append(roots, p)
		}
		all, err = l.lackOfTip(all, out, p, e, store.Waiting{})
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
		err = eachServed(ctx, v, tagged('E', ids...), func(e *nostr.Event, p refs.PullRequest) (err error) {
			if len(p.Repositories) == 0 { // else it names the repository itself, or another one
				all, err = l.lackOfTip(all, out, p.Of(of[p.Updates]), e, store.Waiting{})
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("pull requests that %s lacks: %w", out.Of, err)
	}
	out.Needs = append(out.Needs, hourly(all, needsOfTips-len(out.Needs), now)...)
	return nil
}

// rootsAtOnce is of how many pull requests the updates are asked for at a time.
const rootsAtOnce = 200

func tagged(tag byte, values ...string) nostr.Filter {
	return nostr.Filter{Tags: []nostr.TagFilter{{Name: tag, Values: values}}}
}

// eachServed calls do with the newest of the pull requests and updates that are served and match a filter.
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

// hourly gives those of some needs, most of them, that have their turn in the hour of now. So tips that can be had nowhere do not keep others
// from being looked for.
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

// sources gives the sources in the announcements of everybody who decides for a repository, the owner's first, up to sourcesOf, and after
// them the mirrors, however many the announcements name.
func (l *lacking) sources(t Turn, f *family, of nip34.Address) (out []grasp.Source, err error) {
	private := false
	authors := []nostr.PubKey{of.PubKey}
	for _, pk := range f.allCouncils.Of(of.PubKey).Members {
		if pk != of.PubKey && len(authors) < mostMaintainers {
			authors = append(authors, pk)
		}
	}
	for _, pk := range authors {
		own, err := announcementsOf(t, f.repository(pk))
		if err != nil {
			return nil, err
		}
		for _, a := range own {
			private = private || a.Private
			for _, s := range l.service.Sources(a, a.Clone, sourcesOf) {
				if !slices.Contains(out, s) && len(out) < sourcesOf {
					out = append(out, s)
				}
			}
		}
	}
	if l.private && private {
		return out, nil
	}
	for _, u := range l.mirrors {
		if s, ok := u.Source(of.PubKey, of.D); ok && !l.service.Has(s) && !slices.Contains(out, s) {
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
