package relay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of the list of repositories on the page.
const (
	mostListed = 10_000 // repositories: those last pushed to, and the newest announcements, together
	perPage    = 50
	mostQuery  = 200              // bytes of a query
	perEffort  = 50               // the relay shows a list for so many times as long as it took to make the list
	mostAbout  = 200              // bytes of a description
	mostWeb    = 3                // links of one repository
	listedTime = 30 * time.Second // the least time for which the relay shows a list
)

// listed keeps the last list, for everybody who comes soon after it was made.
type listed struct {
	mu    sync.Mutex
	until time.Time
	list  []repositoryView
	more  int64
	read  uint64          // up to where Store.Changes was read
	rules <-chan struct{} // closed when the list was made by rules of before
}

// repositoryView is one repository on the page.
type repositoryView struct {
	Name, About, Owner string
	Short              string   // the beginning and the end of Owner
	Clone              string   // the URL for git with ngit
	Client             string   // the page in a web client
	Web                []string // the owner's own links
	Page               string   // the URL that git clones and a browser shows; "" where this relay hosts no repositories
	Pushed             string   // when the refs last changed
	Announced          int64    // unix time
	search             string   // the text that find searches, in lower case
}

// listNow returns a list of the repositories that is at most a short while old, and how many announcements the list left out. It makes the
// list anew where the operator has taken something away or put it back, or other rules are in force.
func (r *Relay) listNow() ([]repositoryView, int64, error) {
	l := &r.listed
	l.mu.Lock()
	defer l.mu.Unlock()
	begun := time.Now()
	if !l.outdated(r.store) && begun.Before(l.until) {
		return l.list, l.more, nil
	}
	rules, changed := r.rules.FollowRules()
	l.rules = changed
	list, more, err := r.repositories(rules)
	if err != nil {
		l.list = nil
		return nil, 0, err
	}
	now := time.Now()
	l.list, l.more, l.until = append([]repositoryView{}, list...), more, now.Add(max(listedTime, perEffort*now.Sub(begun)))
	return l.list, more, nil
}

// outdated reports whether the list must not be shown any more, however new it is. The caller holds mu, and makes another one then.
func (l *listed) outdated(s *store.Store) bool {
	names, upTo, all, _ := s.Changes(l.read)
	l.read = upTo
	select {
	case <-l.rules:
		return true
	default:
	}
	return l.list == nil || all || slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, ingest.CaseRows) })
}

// find returns the repositories of a list that have every word of a query in their text.
func find(list []repositoryView, query string) []repositoryView {
	wanted := strings.Fields(strings.ToLower(query))
	if len(wanted) == 0 {
		return list
	}
	var out []repositoryView
	for _, x := range list {
		if !slices.ContainsFunc(wanted, func(word string) bool { return !strings.Contains(x.search, word) }) {
			out = append(out, x)
		}
	}
	return out
}

// repositories lists the repositories with git data, the last pushed to first, then the repositories of the newest announcements that list
// this relay. more is how many announcements it has not looked at.
func (r *Relay) repositories(rules policy.Rules) (out []repositoryView, more int64, err error) {
	v := r.store.View()
	defer v.Close()
	looked := map[string]bool{}
	if out, err = r.hosted(v, rules, looked); err != nil {
		return nil, 0, fmt.Errorf("list repositories: %w", err)
	}
	most := mostListed
	for e, err := range v.Events(context.Background(), nostr.Filter{Kinds: []nostr.Kind{nip34.KindRepository}, Limit: &most}) {
		if err != nil {
			return nil, 0, fmt.Errorf("list repositories: %w", err)
		}
		if looked[e.Address()] || len(looked) >= mostListed {
			continue
		}
		looked[e.Address()] = true
		if a, err := nip34.ParseAnnouncement(e); err == nil && rules.Serves(a) {
			out = append(out, r.repositoryView(a))
		}
	}
	return out, max(0, r.store.Stats().Repositories-int64(len(looked))), nil
}

// hosted lists the repositories with git data, and notes in looked whose announcements it has looked at.
func (r *Relay) hosted(v *store.View, rules policy.Rules, looked map[string]bool) (out []repositoryView, err error) {
	if r.moved == nil {
		return nil, nil
	}
	list, err := r.moved(mostListed)
	if err != nil {
		return nil, err
	}
	for _, x := range list {
		e, ok, err := v.At(x.Of.String())
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		a, err := nip34.ParseAnnouncement(e)
		if err != nil || !rules.Serves(a) {
			continue
		}
		looked[x.Of.String()] = true
		one := r.repositoryView(a)
		one.Pushed = time.Unix(x.Moved, 0).UTC().Format("2006-01-02 15:04")
		out = append(out, one)
	}
	return out, nil
}

func (r *Relay) repositoryView(a *nip34.Announcement) repositoryView {
	owner, d := a.Address.PubKey, a.Address.D
	v := repositoryView{
		Name: a.Name, About: safetext.Line(a.Description, mostAbout), Owner: nip19.Npub(owner), Clone: r.service.NostrURL(owner, d),
		Client: r.service.ClientURL(owner, d), Web: grasp.WebPages(a, mostWeb),
	}
	v.Short = v.Owner[:12] + "…" + v.Owner[len(v.Owner)-4:]
	if r.moved != nil {
		v.Page = r.service.CloneURL(owner, d)
	}
	if strings.TrimSpace(v.Name) == "" {
		v.Name = d
	}
	v.Name = safetext.Line(v.Name, mostAbout)
	v.Announced = a.CreatedAt
	v.search = strings.ToLower(v.Name + " " + safetext.Line(d, mostAbout) + " " + v.About + " " + v.Owner)
	return v
}
