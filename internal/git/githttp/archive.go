package githttp

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Archives are made, shared and kept as packs are, by the ids of their commits.
const (
	mostArchive = 256 << 20        // bytes of an archive
	archiveWait = 20 * time.Second // for a whole archive; one that takes longer is sent as it comes, without its length
	archiveKeys = "archive "       // begins the keys of archives
)

var noSuchCommit = &failure{status: http.StatusNotFound, text: "there is no such branch, tag or commit here"}

var errLarge = errors.New("the archive is too large")

// archiveIn returns the name of what an escaped path below a repository asks for as an archive: a branch, a tag, or the id of a commit.
func archiveIn(rest string) (name string, ok bool) {
	name, below := strings.CutPrefix(rest, "/archive/")
	name, packed := strings.CutSuffix(name, ".tar.gz")
	name, err := url.PathUnescape(name)
	return name, below && packed && err == nil
}

// archive answers with the files of a commit, as <identifier>-<ref>.tar.gz, within a directory of that name.
func (x *exchange) archive(asked string) error {
	if wait := x.waits(); wait > 0 {
		return &failure{http.StatusTooManyRequests, "your address has asked for more work than one may here: try again later", wait}
	}
	id, name, err := x.archived(asked)
	if err != nil {
		x.penalize(err)
		return x.noArchive(err)
	}
	key := archiveKeys + x.repo.Dir + " " + id.String() + " " + name
	h := x.w.Header()
	h.Set("Etag", fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(key))))
	if strings.Contains(x.req.Header.Get("If-None-Match"), h.Get("Etag")) {
		x.count(FromNone)
		x.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	r, how, err := x.have(flightKey(key), FromPack, func(ctx context.Context, worker string, w io.Writer) error {
		left := int64(mostArchive)
		return x.packs.Archive(ctx, x.repo.Dir, id, name, worker, writing(func(p []byte) (int, error) {
			if left -= int64(len(p)); left < 0 {
				return 0, errLarge
			}
			return w.Write(p)
		}))
	})
	if err == nil {
		defer r.leave()
		err = x.awaitWhole(r)
	}
	if err != nil && err != io.EOF {
		return x.noArchive(err)
	}
	h.Set("Content-Type", "application/gzip")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name + ".tar.gz"}))
	h.Set("X-Robots-Tag", "noindex")
	if err == nil {
		if _, err = io.Copy(x.out, &answerReader{x: x, r: r}); err != nil && !x.out.begun {
			return x.noArchive(err)
		}
		return x.sent(gitwire.Request{}, how, err, nil)
	}
	http.ServeContent(paced{x.w, x.out}, x.req, "", time.Time{}, whole{r})
	x.count(how)
	return nil
}

// archived returns the commit that a name stands for, and what its archive is called. An id is no name of a ref.
func (x *exchange) archived(asked string) (id gitwire.ObjectID, name string, err error) {
	if id, err = gitwire.ParseObjectID(asked); err != nil {
		r, ok := shownRefs(&x.repo).Named(asked)
		if !ok {
			return id, "", noSuchCommit
		}
		if r.Name == "HEAD" {
			r.Name = shownRefs(&x.repo).Head
		}
		return r.Tip(), gitproc.Plain(x.of.D + "-" + strings.TrimPrefix(strings.TrimPrefix(r.Name, "refs/heads/"), "refs/tags/")), nil
	}
	if x.repo.Dir == "" {
		return id, "", noSuchCommit
	}
	f := &gitwire.Fetch{Version: 2, Wants: []gitwire.ObjectID{id}}
	if err = x.check(f); err == nil {
		err = x.led(f)
	}
	return id, gitproc.Plain(x.of.D + "-" + asked[:10]), err
}

// awaitWhole waits until an answer is whole, and returns io.EOF then; nil where that takes long.
func (x *exchange) awaitWhole(r *reading) error {
	late := time.NewTimer(archiveWait)
	defer late.Stop()
	for {
		_, _, more, err := r.await(math.MaxInt64)
		if err != nil {
			return err
		}
		r.flight.progress(caughtUp)
		select {
		case <-more:
		case <-late.C:
			return nil
		case <-x.req.Context().Done():
			return context.Cause(x.req.Context())
		}
	}
}

// noArchive returns why there is no archive.
func (x *exchange) noArchive(err error) error {
	x.w.Header().Del("Etag")
	x.w.Header().Del("Content-Disposition")
	var said *gitproc.Error
	switch failed := errors.As(err, &said); {
	case errors.Is(err, errLarge):
		return &failure{status: http.StatusNotFound, text: "this archive would be too large: clone the repository"}
	case errors.As(err, new(*gitwire.RequestError)), failed && said.Ending == gitproc.Exited:
		return noSuchCommit
	case failed && said.Ending.ByLimit():
		return &failure{status: http.StatusServiceUnavailable, text: "this archive takes too much work: clone the repository"}
	}
	return x.broken(gitwire.Request{}, err)
}

// whole is a whole answer, which its reader reads from anywhere.
type whole struct{ r *reading }

func (w whole) Read(p []byte) (int, error) {
	n, _, err := w.r.next(p)
	return n, err
}

func (w whole) Seek(to int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
		w.r.at = to
	case io.SeekCurrent:
		w.r.at += to
	case io.SeekEnd:
		w.r.at = w.r.length() + to
	}
	return w.r.at, nil
}

// paced gives a client time for each piece of an answer.
type paced struct {
	http.ResponseWriter
	out *output
}

func (p paced) Write(b []byte) (int, error) { return p.out.Write(b) }
