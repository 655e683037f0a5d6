package gitsync

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/git/gitfetch"
	"github.com/graspd/graspd/internal/git/gitplan"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// fetch has one conversation with one server, and returns its outcome for the plan.
func (s *Sync) fetch(ctx context.Context, f gitplan.Fetch) gitplan.Outcome {
	if len(f.Needs) == 0 {
		return s.survey(ctx, f)
	}
	lack, err := s.cfg.Host.Lacks(ctx, f.Of)
	if err != nil {
		s.report("what a repository lacks", err)
		return gitplan.Outcome{Answer: gitplan.Ours}
	}
	out := gitplan.Outcome{Answer: gitplan.Ours, Brought: noLonger(f.Needs, lack)}
	lack.Needs = slices.DeleteFunc(lack.Needs, func(n refdb.Need) bool { return !slices.Contains(f.Needs, n.Event) })
	if !lack.Hosted || len(lack.Needs) == 0 {
		return out
	}
	taking, err := s.cfg.Host.Take(ctx, lack, gitproc.OtherServers)
	if err != nil {
		s.fetchLog.noted(f, s.cfg.Now().Wall, err, "")
		return out
	}
	defer taking.Close()
	began := s.cfg.Now()
	result, text, err := s.ask(ctx, f, lack, taking)
	if !errors.Is(err, context.Canceled) {
		s.counts.time(err != nil, s.cfg.Now().Mono-began.Mono)
	}
	out.Answer, out.Retry = s.answerTo(f, result, err)
	out.Brought, out.Requests = append(out.Brought, taking.Brought...), result.Requests
	if notTaken(err) && len(lack.Needs) == 1 && len(f.Needs) == 1 {
		s.refused.put(lack.Needs[0].IDs)
	}
	out.Useless = useless(err)
	s.count(f, result, text, taking, err)
	return out
}

// useless reports whether a URL leads to no git server, or to one that graspd must not ask.
func useless(err error) bool {
	if status, is := errors.AsType[*gitfetch.StatusError](err); is {
		return status.Code >= 400 && status.Code < 500 && status.Code != 408 && status.Code != 429
	}
	_, protocol := errors.AsType[*gitfetch.ProtocolError](err)
	return protocol || errors.Is(err, publicnet.ErrForbidden)
}

// noLonger returns the events whose data is not missing any more.
func noLonger(events []nostr.ID, lack refdb.Lack) (out []nostr.ID) {
	for _, id := range events {
		if !slices.ContainsFunc(lack.Needs, func(n refdb.Need) bool { return n.Event == id }) {
			out = append(out, id)
		}
	}
	return out
}

// ask fetches the missing data from a server, and tells the plan when the server is quiet and when it has sent everything. It returns in words
// what did not come.
func (s *Sync) ask(ctx context.Context, f gitplan.Fetch, lack refdb.Lack, taking *hosting.Taking) (gitfetch.Result, string, error) {
	r := gitfetch.Request{URL: string(f.Source), Exempt: grasp.Implied(s.cfg.Bootstrap, f.Of), Haves: taking.Haves(), MaxBytes: taking.MaxBytes()}
	if s.cfg.Reticent && !slices.Contains(lack.Sources, f.Source) {
		r.Haves = nil
	}
	for _, n := range lack.Needs {
		r.Groups = append(r.Groups, n.IDs)
	}
	inTurn(f.ID, r.Groups)
	ctx, stop := context.WithCancelCause(ctx) // ends the connection, so that a pack that gives way is not read on
	defer stop(nil)
	r.Pack = func(ctx context.Context, ids []gitwire.ObjectID, pack io.Reader) error {
		return taking.Pack(ctx, ids, pack, stop)
	}
	tell := func(what chan<- uint64) {
		select {
		case what <- f.ID:
		case <-ctx.Done():
		}
	}
	silent := time.AfterFunc(gitplan.QuietFor, func() { tell(s.quiet) })
	defer silent.Stop()
	r.Alive = func() { silent.Reset(gitplan.QuietFor) }
	r.Heard = func() {
		silent.Stop()
		tell(s.heard)
	}
	first, err := s.cfg.Fetcher.Fetch(ctx, r)
	if err != nil {
		return first, "", yielded(ctx, err)
	}
	return s.led(ctx, f, r, lack, taking, first)
}

// yielded returns err, or why the pack gave way where that ended the connection.
func yielded(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); hosting.GaveWay(cause) {
		return cause
	}
	return err
}

// answerTo returns what a fetch tells about its server, as answerOf does. That a stranger's URL is not dialed tells nothing about the server
// of a bootstrap relay, which graspd asks under the repositories' own URLs all the same.
func (s *Sync) answerTo(f gitplan.Fetch, r gitfetch.Result, err error) (gitplan.Answer, time.Duration) {
	server := f.Source.Server()
	if errors.Is(err, publicnet.ErrForbidden) && r.Requests == 0 && slices.ContainsFunc(grasp.Implied(s.cfg.Bootstrap, f.Of), func(u Source) bool { return u.Server() == server }) {
		return gitplan.Ours, 0
	}
	return answerOf(err, r)
}

// answerOf returns what the error of a fetch tells about the server, and for how long the server wants to be left alone.
func answerOf(err error, r gitfetch.Result) (gitplan.Answer, time.Duration) {
	var status *gitfetch.StatusError
	var pack *gitrepo.PackError
	var missing *gitrepo.MissingError
	switch {
	case err == nil:
		return gitplan.Answered, 0
	case errors.As(err, &status):
		switch status.Code {
		case 401, 403, 404, 410, 451:
			return gitplan.Absent, 0
		case 429, 503:
			return gitplan.Limited, status.RetryAfter
		}
		return gitplan.Failed, 0
	case errors.Is(err, gitfetch.ErrTooMuch) && r.Refs == nil:
		return gitplan.TooMuch, 0
	case hosting.TooMuch(err), errors.Is(err, gitfetch.ErrTooMuch), notTaken(err):
		return gitplan.Refused, 0
	case errors.As(err, &pack), errors.As(err, &missing):
		return gitplan.Failed, 0 // the server broke git's protocol
	case hosting.GaveWay(err), errors.Is(err, context.Canceled), errors.Is(err, gitproc.ErrBusy), errors.Is(err, gitrepo.ErrNoSpace):
		return gitplan.Ours, 0
	case errors.Is(err, publicnet.ErrForbidden):
		return gitplan.Failed, 0
	}
	return gitplan.Failed, 0
}

// notTaken reports whether a pack is in order but for an object that graspd does not take.
func notTaken(err error) bool {
	pack, is := errors.AsType[*gitrepo.PackError](err)
	return is && pack.Check != ""
}

func (s *Sync) count(f gitplan.Fetch, r gitfetch.Result, text string, taking *hosting.Taking, err error) {
	s.counts.fetches.Add(1)
	s.counts.bytes.Add(uint64(r.Bytes))
	s.counts.brought.Add(uint64(len(taking.Brought)))
	if err != nil && !errors.Is(err, context.Canceled) {
		s.counts.failed.Add(1)
	}
	if len(taking.Brought) > 0 {
		text = ""
	}
	s.fetchLog.noted(f, s.cfg.Now().Wall, err, text)
	if len(taking.Brought) > 0 {
		s.cfg.Logger.Info("git data fetched", "repository", f.Of.String(), "from", string(f.Source), "count", len(taking.Brought))
	} else if err != nil && !errors.Is(err, context.Canceled) {
		s.cfg.Logger.Debug("git data not fetched", "repository", f.Of.String(), "from", string(f.Source), "error", err)
	}
}

// survey compares the refs that a server advertises with those that are served here.
func (s *Sync) survey(ctx context.Context, f gitplan.Fetch) gitplan.Outcome {
	r, err := s.cfg.Fetcher.Advertised(ctx, gitfetch.Request{URL: string(f.Source), Exempt: grasp.Implied(s.cfg.Bootstrap, f.Of)})
	s.counts.surveys.Add(1)
	text := ""
	if err == nil {
		ours, ok, failed := s.cfg.Host.Find(f.Of)
		if failed != nil {
			s.report("refs of a repository", failed)
			return gitplan.Outcome{Answer: gitplan.Ours}
		}
		if ok {
			text = gitplan.Compare(ours.Refs, r.Refs).String()
		}
	}
	s.fetchLog.noted(f, s.cfg.Now().Wall, err, text)
	answer, retry := s.answerTo(f, r, err)
	return gitplan.Outcome{Answer: answer, Retry: retry, Requests: r.Requests}
}
