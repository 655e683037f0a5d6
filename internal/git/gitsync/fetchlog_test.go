package gitsync_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/git/gitfetch"
	"github.com/graspd/graspd/internal/git/gitplan"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/gitsync"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// What an error tells about a server, whether something else failed, and for how long the server is left alone.
func TestWhatAnErrorTells(t *testing.T) {
	status := func(code int) error {
		return fmt.Errorf("fetch: %w", &gitfetch.StatusError{Code: code, RetryAfter: time.Duration(code) * time.Second})
	}
	for _, tt := range []struct {
		err    error
		answer gitplan.Answer
		retry  time.Duration
	}{
		{nil, gitplan.Answered, 0},
		{status(401), gitplan.Absent, 0}, {status(403), gitplan.Absent, 0}, {status(404), gitplan.Absent, 0}, {status(410), gitplan.Absent, 0}, {status(451), gitplan.Absent, 0},
		{status(429), gitplan.Limited, 429 * time.Second}, {status(503), gitplan.Limited, 503 * time.Second},
		{status(500), gitplan.Failed, 0}, {status(302), gitplan.Failed, 0}, {status(400), gitplan.Failed, 0},
		{&gitrepo.PackError{Text: "too large", ByLimit: true}, gitplan.Refused, 0}, {&gitrepo.PackError{Check: "badTimezone"}, gitplan.Refused, 0},
		{fmt.Errorf("x: %w", gitfetch.ErrTooMuch), gitplan.TooMuch, 0},
		{&gitrepo.PackError{Text: "damaged"}, gitplan.Failed, 0}, {fmt.Errorf("x: %w", &gitrepo.MissingError{}), gitplan.Failed, 0},
		{fmt.Errorf("x: %w", publicnet.ErrForbidden), gitplan.Failed, 0}, {gitfetch.ErrSilent, gitplan.Failed, 0},
		{&gitfetch.ServerError{Text: "no"}, gitplan.Failed, 0}, {&gitfetch.ProtocolError{Text: "no"}, gitplan.Failed, 0}, {errors.New("what else"), gitplan.Failed, 0},
		{fmt.Errorf("x: %w", context.Canceled), gitplan.Ours, 0}, {fmt.Errorf("x: %w", gitproc.ErrBusy), gitplan.Ours, 0}, {fmt.Errorf("x: %w", gitrepo.ErrNoSpace), gitplan.Ours, 0},
	} {
		if answer, retry := gitsync.AnswerOf(tt.err); answer != tt.answer || retry != tt.retry {
			t.Errorf("%v: %d after %v, want %d after %v", tt.err, answer, retry, tt.answer, tt.retry)
		}
	}
	if answer := gitsync.AnswerAfterRefs(fmt.Errorf("x: %w", gitfetch.ErrTooMuch)); answer != gitplan.Refused {
		t.Errorf("a pack with too much: %d", answer)
	}
}

// Of many repositories those are forgotten that nothing was heard of for longest.
func TestWhatIsKnownIsBounded(t *testing.T) {
	s := gitsync.New(gitsync.Config{})
	of := func(i int) nip34.Address { return nip34.Address{Kind: nip34.KindRepository, D: fmt.Sprint(i)} }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	lacks := func(i int) refdb.Lack {
		l := refdb.Lack{Hosted: true, Needs: []refdb.Need{{Event: nostr.ID{1}}}, Sources: []grasp.Source{"https://a.example.org/r"}}
		l.Of = of(i)
		return l
	}
	for i := range gitsync.PagesKept + 5 {
		s.Looked(lacks(i))
		s.Noted(of(1), "https://a.example.org/r", time.Unix(1, 0), errors.New("no"))
		if i%100 < 10 && s.Known() > gitsync.PagesKept { // it counts them
			t.Fatalf("%d are known", s.Known())
		}
	}
	if n := s.Known(); n < gitsync.PagesKept*8/10 {
		t.Errorf("%d are known", n)
	}
	if x := s.Standing(ctx, of(1)); len(x.Sources) != 1 || x.Sources[0].Error != "no" {
		t.Errorf("what was heard of just now is forgotten: %+v", x)
	}
	if x := s.Standing(ctx, of(0)); len(x.Lacks) != 0 {
		t.Errorf("%+v", x)
	}
	// A server that is not named any more, what has come, and a repository that has gone.
	l := lacks(1)
	l.Sources = nil
	s.Looked(l)
	if x := s.Standing(ctx, of(1)); len(x.Sources) != 0 || len(x.Lacks) != 1 {
		t.Errorf("%+v", x)
	}
	if list, all := s.Lacking(3); len(list) != 3 || all != s.Known() {
		t.Errorf("%d of %d", len(list), all)
	}
	l.Needs = nil
	s.Looked(l)
	if x := s.Standing(ctx, of(1)); len(x.Lacks) != 0 {
		t.Errorf("%+v", x)
	}
	known := s.Known()
	l.Hosted = false
	s.Looked(l)
	s.Looked(refdb.Lack{Hosted: true})
	if s.Known() != known-1 {
		t.Errorf("%d are known", s.Known())
	}
	s.Noted(of(2), "https://a.example.org/r", time.Unix(1, 0), fmt.Errorf("fetch: %w", context.Canceled))
	if x := s.Standing(ctx, of(2)); len(x.Sources) != 0 {
		t.Errorf("%+v", x)
	}
}
