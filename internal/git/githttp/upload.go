package githttp

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// sendUpload answers with the answer of upload-pack.
func (x *exchange) sendUpload(q gitwire.Request, key flightKey) error {
	r, how, err := x.have(key, FromUpload, func(ctx context.Context, worker string, w io.Writer) error {
		return x.packs.Upload(ctx, x.repo.Dir, q.ForUploadPack(), worker, w)
	})
	if err != nil {
		return x.broken(q, err)
	}
	defer r.leave()
	x.head("result")
	a := &answerReader{x: x, r: r}
	err = q.Fetch.CopyAnswer(x.out, a)
	var said *gitproc.Error
	var head *gitwire.HeadError
	var tell func(text string) // nil where the client can hear no more
	if errors.As(err, &head) {
		tell = func(text string) { x.out.send(q.AppendRefusal(nil, text)) }
	}
	switch {
	case a.refused: // upload-pack has told the client why
		x.count(Refused)
		return nil
	case (!x.out.begun || tell != nil) && errors.As(err, &said) && said.Ending == gitproc.Exited && said.Stderr != "":
		x.logger.Info("git refused a fetch", "repository", safetext.Printable(x.of.String()), "error", err)
		text := strings.TrimPrefix(said.Stderr, "fatal: ")
		if !x.out.begun {
			x.refuse(q, text)
			return nil
		}
		x.count(Refused)
		tell(text)
		return nil
	}
	return x.sent(q, how, err, tell)
}

// answerReader reads the answer of upload-pack as it comes, and finds out whether it is a refusal.
type answerReader struct {
	x       *exchange
	r       *reading
	began   [8]byte // the first bytes of the answer
	count   int64
	refused bool // the answer is a refusal
}

func (a *answerReader) Read(p []byte) (int, error) {
	for {
		n, more, err := a.r.next(p)
		switch {
		case n > 0:
			if a.count < int64(len(a.began)) {
				copy(a.began[a.count:], p[:n])
			}
			a.count += int64(n)
			return n, nil
		case err != nil:
			return 0, a.verdict(err)
		}
		if a.x.out.begun {
			if err := a.x.out.Flush(); err != nil {
				return 0, err
			}
		}
		select {
		case <-more:
		case <-a.x.req.Context().Done():
			return 0, context.Cause(a.x.req.Context())
		}
	}
}

// verdict returns the error at the end of an answer: none where upload-pack has failed but has told the client why.
func (a *answerReader) verdict(err error) error {
	var said *gitproc.Error
	if errors.As(err, &said) && said.Ending == gitproc.Exited && string(a.began[4:]) == "ERR " {
		a.refused = true
		return io.EOF
	}
	return err
}
