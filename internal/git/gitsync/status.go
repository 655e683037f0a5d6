package gitsync

import (
	"context"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/status"
)

// lacksTold bounds the repositories that a Status names one by one.
const lacksTold = 20

// Status returns how far the search is, with the first of the repositories that lack something.
func (s *Sync) Status(ctx context.Context) status.GitSync {
	x := s.Stats()
	list, all := s.Lacking(lacksTold)
	out := status.GitSync{
		Lacking: all, Fetching: x.Plan.Fetching, Brought: x.Brought, Bytes: status.Bytes(x.Bytes), Failed: x.Failed, Resting: x.Plan.Resting,
		Looked: x.Swept, ToLook: x.ToSweep, Worst: []status.GitLack{},
	}
	for _, of := range list {
		out.Worst = append(out.Worst, s.Repository(ctx, of))
	}
	return out
}

// Repository returns what one repository lacks, and how other git servers have answered.
func (s *Sync) Repository(ctx context.Context, of nip34.Address) status.GitLack {
	x := s.Standing(ctx, of)
	out := status.GitLack{Address: status.Text(of.String()), Lacks: []status.GitNeed{}, Servers: []status.GitServer{}}
	for _, l := range x.Lacks {
		out.Lacks = append(out.Lacks, status.GitNeed(l))
	}
	for _, a := range x.Sources {
		out.Servers = append(out.Servers, status.GitServer{
			URL: status.Text(a.Source), Fetching: a.Fetching, Asked: status.Moment{Time: a.At}, Error: status.Text(a.Error), Text: status.Text(a.Text),
		})
	}
	return out
}

// Repositories returns the same for every repository that the log has a page of, by address.
func (s *Sync) Repositories(ctx context.Context) map[string]status.GitLack {
	out := map[string]status.GitLack{}
	for _, of := range s.fetchLog.all() {
		out[of.String()] = s.Repository(ctx, of)
	}
	return out
}

// Awaited is a repository that lacks git data for which events of other relays wait.
type Awaited struct {
	Of      nip34.Address
	Through bool // every server has answered, and none has it
}

// Awaited returns all such repositories, and up to which change of rows (store.Changes) Run has looked for what is missing; 0 before its first
// look at everything.
func (s *Sync) Awaited(ctx context.Context) (list []Awaited, looked uint64) {
	looked = s.upToLooked.Load() // before the log is read, which has it
	through := map[nip34.Address]bool{}
	q := make(chan map[nip34.Address]bool, 1)
	select {
	case s.through <- q:
		through = <-q
	case <-s.over:
	case <-ctx.Done():
	}
	for _, of := range s.fetchLog.awaited() {
		list = append(list, Awaited{of, through[of]})
	}
	return list, looked
}
