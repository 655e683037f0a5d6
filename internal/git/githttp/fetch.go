package githttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/pktline"
)

// fetch answers a POST to git-upload-pack.
func (x *exchange) fetch() error {
	q, err := x.ask()
	var wrong *gitwire.RequestError
	switch {
	case errors.As(err, &wrong):
		x.refuse(q, wrong.Text)
		return nil
	case err != nil:
		return err
	}
	switch {
	case q.LsRefs != nil:
		x.list(q)
	case q.ObjectInfo != nil:
		return x.describe(q)
	case q.Fetch != nil:
		x.began = time.Now()
		x.counts.fetching.Add(1)
		defer x.counts.fetching.Add(-1)
		return x.give(q)
	default:
		x.count(FromNone)
		x.reply("result", nil)
	}
	return nil
}

// ask reads the request to its end.
func (x *exchange) ask() (gitwire.Request, error) {
	_, plain, err := x.open(askTime)
	if err != nil {
		return gitwire.Request{}, err
	}
	if x.req.ContentLength > gitwire.MaxRequest {
		return gitwire.Request{}, tooLarge
	}
	in := &metered{x: x, src: plain}
	q, err := gitwire.ParseRequest(in, x.version)
	in.rest()
	if err == nil {
		const behind = 1 << 10 // bytes behind the request, which git would not read
		_, err = io.CopyN(io.Discard, plain, behind)
	}
	var known *failure
	var wrong *gitwire.RequestError
	switch {
	case err == io.EOF:
		return q, nil
	case err == nil:
		return q, &failure{status: http.StatusBadRequest, text: "more follows the request"}
	case errors.Is(err, pktline.ErrTooMuch), errors.Is(err, errInflates):
		return q, tooLarge
	case errors.As(err, &known), errors.As(err, &wrong):
		return q, err
	case errors.Is(err, errSlow):
		return q, &failure{status: http.StatusRequestTimeout, text: err.Error()}
	}
	return q, &failure{status: http.StatusBadRequest, text: "the request cannot be read to its end"}
}

var tooLarge = &failure{status: http.StatusRequestEntityTooLarge, text: "the request is too large: fetch some refs at a time"}

// refuse answers with the reason why there is no answer, in a form that git shows.
func (x *exchange) refuse(q gitwire.Request, text string) {
	x.count(Refused)
	x.reply("result", q.AppendRefusal(nil, text))
}

// describe answers object-info.
func (x *exchange) describe(q gitwire.Request) error {
	sizes := slices.Repeat([]int64{-1}, len(q.ObjectInfo.IDs))
	answer := FromNone
	if x.repo.Dir != "" && len(sizes) > 0 && q.ObjectInfo.Size {
		ctx := x.req.Context()
		err := x.charge(stepsPerID * len(sizes))
		if err == nil {
			err = x.host.AwaitFiles(ctx, x.of, x.repo.Generation)
		}
		if err == nil {
			sizes, err = x.packs.Sizes(ctx, x.repo.Dir, q.ObjectInfo.IDs, x.party())
		}
		if err != nil {
			return x.broken(q, err)
		}
		answer = FromUpload
	}
	x.count(answer)
	x.reply("result", q.ObjectInfo.AppendAnswer(nil, sizes))
	return nil
}

// give answers a fetch.
func (x *exchange) give(q gitwire.Request) error {
	f := q.Fetch
	var wrong *gitwire.RequestError
	if err := x.check(f); errors.As(err, &wrong) {
		x.refuse(q, wrong.Text)
		return nil
	} else if err != nil {
		return x.broken(q, err)
	}
	work, key := f.Work(), keyOf(&x.repo, f)
	if work == gitwire.WorkPack && f.Version < 2 && !x.showsAll(f.Wants) {
		work, key = gitwire.WorkUpload, "" // git itself finds out whether refs lead there
	}
	switch {
	case work == gitwire.WorkNone:
		x.count(FromNone)
		x.reply("result", f.AppendHead(nil))
		return nil
	case x.repo.Dir == "":
		x.refuse(q, "there is nothing here yet")
		return nil
	case x.waits() > 0:
		wait := x.waits()
		text := fmt.Sprintf("the last fetch from your address was more work than one may be here: try again in %d s", seconds(wait))
		return &failure{http.StatusTooManyRequests, text, wait}
	}
	if err := x.led(f); errors.As(err, &wrong) {
		x.refuse(q, wrong.Text)
		return nil
	} else if err != nil {
		x.penalize(err)
		return x.broken(q, err)
	}
	if work == gitwire.WorkPack {
		return x.sendPack(q, key)
	}
	return x.sendUpload(q, key)
}

// waits returns how long the address has to wait after a fetch that was too much work for git.
func (x *exchange) waits() time.Duration {
	if x.from.Visitor == nil {
		return 0
	}
	return x.overfetched.wait(time.Now(), x.address())
}

// penalize makes the address wait where a fetch of it has failed because it was too much work, and not because of a wrong guess of ours.
func (x *exchange) penalize(err error) {
	var said *gitproc.Error
	if x.from.Visitor != nil && (errors.Is(err, errLarge) || errors.As(err, &said) && said.Ending.ByLimit() && !said.Early) {
		x.overfetched.add(time.Now(), x.address())
	}
}

// check fails with a *gitwire.RequestError where the client wants an object that is not here.
func (x *exchange) check(f *gitwire.Fetch) error {
	if err := f.Resolve(shownRefs(&x.repo)); err != nil {
		return err
	}
	tips := f.Tips()
	if err := x.charge(stepsPerID * (len(tips) + len(f.Haves))); err != nil || len(tips) == 0 {
		return err
	}
	missing := tips
	if x.repo.Dir != "" {
		var err error
		began := time.Now()
		missing, err = x.packs.Missing(x.repo.Dir, tips)
		x.from.Visitor.ChargeTime(time.Since(began)) // a repository may have very many packs
		if err != nil {
			return err
		}
	}
	if len(missing) > 0 && x.showsAll(missing[:1]) {
		return gitwire.Lost(missing[0])
	}
	if len(missing) > 0 {
		return gitwire.NotOurRef(missing[0])
	}
	return nil
}

// showsAll reports whether refs point to all of the ids.
func (x *exchange) showsAll(ids []gitwire.ObjectID) bool { return len(x.notShown(ids)) == 0 }

// notShown returns the ids to which no ref points.
func (x *exchange) notShown(ids []gitwire.ObjectID) []gitwire.ObjectID {
	refs := shownRefs(&x.repo).List
	shown := make(map[gitwire.ObjectID]struct{}, len(refs))
	for i := range refs {
		shown[refs[i].ID] = struct{}{}
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id gitwire.ObjectID) bool { _, ok := shown[id]; return ok })
}

// broken tells the client of a failure of this server, when nothing was sent yet.
func (x *exchange) broken(q gitwire.Request, err error) error {
	var known *failure
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, gitproc.ErrBusy), errors.As(err, new(shortage)):
		return &failure{http.StatusTooManyRequests, excuse(err), busyWait}
	case x.req.Context().Err() != nil || errors.Is(err, context.Canceled):
		x.count(Refused) // the client has left
		return nil
	case x.archives:
		return err
	}
	x.failed(err)
	x.reply("result", q.AppendRefusal(nil, excuse(err)))
	return nil
}

// failed logs and counts a failure of this server.
func (x *exchange) failed(err error) {
	if errors.Is(err, gitproc.ErrBusy) || errors.As(err, new(shortage)) {
		x.count(Refused)
		return
	}
	x.count(Failed)
	x.logger.Error("a fetch failed", "repository", safetext.Printable(x.of.String()), "error", err)
}

const busy = "too much is being fetched: try again later"

// excuse tells the client why there is no pack, without the details that are for the operator alone.
func excuse(err error) string {
	var said *gitproc.Error
	var scarce shortage
	switch {
	case errors.As(err, &scarce):
		return scarce.Error()
	case errors.Is(err, gitproc.ErrBusy):
		return busy
	}
	if errors.As(err, &said) && said.Ending.ByLimit() && !said.Early {
		return "this server could not make the pack: git " + said.Ending.String()
	}
	return "this server could not make the pack: try again later"
}
