package admin

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/status"
)

// Repositories is the document /repositories.json: the repositories that the request asks for, as many as fit, those with troubles first. It
// knows repositories that name other relays, and those whose git data graspd looks for elsewhere.
type Repositories struct {
	Total        int                `json:"total"`    // all repositories that it knows
	Matching     int                `json:"matching"` // those that fit the search
	Repositories []RepositoryStatus `json:"repositories"`
}

// RepositoryStatus says how one repository stands with its relays. The relays are in the order of their URLs.
type RepositoryStatus struct {
	Address  string           `json:"address"`              // of the owner's announcement
	Title    string           `json:"title,omitempty"`      // what the announcement calls it
	OwnedBy  string           `json:"owner_name,omitempty"` // what the owner calls themselves
	Roots    int              `json:"roots"`                // root events
	Complete bool             `json:"complete"`
	Relays   []RepositoryPart `json:"relays"`
	Git      *status.GitLack  `json:"git,omitempty"` // what it lacks, and how other git servers answered; nil where nothing is known
}

// Owner returns the author of the announcement, in hex.
func (r RepositoryStatus) Owner() string { owner, _ := r.split(); return owner }

// Name returns the identifier of the repository.
func (r RepositoryStatus) Name() string { _, name := r.split(); return name }

func (r RepositoryStatus) split() (owner, name string) {
	_, rest, _ := strings.Cut(r.Address, ":")
	owner, name, _ = strings.Cut(rest, ":")
	return owner, name
}

// RepositoryPart says how one repository stands with one of its relays. Here and Lacks are null where graspd has not compared the two.
type RepositoryPart struct {
	URL       string  `json:"url"`
	Want      int     `json:"want"`      // the repository and its root events
	Confirmed int     `json:"confirmed"` // how many of these graspd knows to be complete here
	Here      *uint64 `json:"held"`      // events that are here
	Lacks     *uint64 `json:"lacks"`     // how many of these the relay lacks
}

// State returns how much of what the relay has is known to be here: complete, partial or unknown.
func (x RepositoryPart) State() string {
	switch x.Confirmed {
	case x.Want:
		return "complete"
	case 0:
		return "unknown"
	}
	return "partial"
}

// Lacking returns how many events graspd knows the relay to lack.
func (x RepositoryPart) Lacking() uint64 {
	if x.Lacks == nil {
		return 0
	}
	return *x.Lacks
}

// mostRepositories is how many repositories a program gets at once at most.
const mostRepositories = 1000

// repositories answers with the document. It has the parameters of the page, and most for how many repositories.
func (p *Pages) repositories(w http.ResponseWriter, r *http.Request) {
	ask, err := parseAsk(r, repositoriesPage, mostRepositories)
	if err != nil {
		answer(w, http.StatusBadRequest, err.Error())
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), patience)
	defer cancel()
	p.rendering.Lock()
	held := p.holdings(ctx, detailsTime)
	chosen := held.choose(ask.pageRef, p.c.about)
	p.rendering.Unlock()
	out := Repositories{Total: len(held.list), Matching: len(chosen), Repositories: []RepositoryStatus{}}
	for _, i := range of(ask, chosen) {
		out.Repositories = append(out.Repositories, p.c.named(held.list[i].RepositoryStatus))
	}
	answerJSON(w, out)
}

// named returns a repository with its name and its owner's.
func (c Config) named(r RepositoryStatus) RepositoryStatus {
	if a, err := nip34.ParseAddress(r.Address); err == nil {
		r.Title, r.OwnedBy = c.title(moderation.At(a)), c.title(moderation.Of(a.PubKey))
	}
	return r
}

// withGit adds what is known about repositories at git servers. It adds also repositories that name no other relay, in any order.
func withGit(list []RepositoryStatus, git map[string]status.GitLack) []RepositoryStatus {
	for i := range list {
		if g, ok := git[list[i].Address]; ok {
			list[i].Git, list[i].Complete = &g, list[i].Complete && len(g.Lacks) == 0
			delete(git, list[i].Address)
		}
	}
	for address, g := range git {
		list = append(list, RepositoryStatus{Address: address, Complete: len(g.Lacks) == 0, Relays: []RepositoryPart{}, Git: &g})
	}
	return list
}

// repositoryStatus gathers the states of all repositories from the details of relays, in any order.
func repositoryStatus(d map[grasp.RelayURL]status.Details) []RepositoryStatus {
	found := make(map[string]*RepositoryStatus)
	for u, x := range d {
		for _, part := range x.Parts {
			r := found[part.Address]
			if r == nil {
				r = &RepositoryStatus{Address: part.Address, Complete: true}
				found[part.Address] = r
			}
			one := RepositoryPart{URL: string(u), Want: 1 + part.Roots, Confirmed: part.Confirmed}
			if part.Here > 0 {
				one.Here, one.Lacks = &part.Here, &part.Lacks
			}
			r.Roots = max(r.Roots, part.Roots)
			r.Complete = r.Complete && part.Complete()
			r.Relays = append(r.Relays, one)
		}
	}
	out := make([]RepositoryStatus, 0, len(found))
	for _, r := range found {
		slices.SortFunc(r.Relays, func(a, b RepositoryPart) int { return cmp.Compare(a.URL, b.URL) })
		out = append(out, *r)
	}
	return out
}
