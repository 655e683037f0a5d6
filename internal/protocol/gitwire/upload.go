package gitwire

import (
	"fmt"
	"io"
	"math"

	"github.com/graspd/graspd/internal/protocol/pktline"
)

// ForUploadPack returns the request to give to upload-pack for [WorkUpload]. Call it after Resolve: the returned request wants the ids that
// Resolve found in place of names, so git's own refs have no say. [Fetch.CopyAnswer] tells the client which ids those were.
func (q Request) ForUploadPack() Request {
	if q.Fetch == nil || len(q.Fetch.WantRefs) == 0 {
		return q
	}
	f := *q.Fetch
	f.Wants, f.WantRefs, f.wanted = f.Tips(), nil, nil
	q.Fetch = &f
	return q
}

// HeadError says why upload-pack's answer broke off before its pack. CopyAnswer has copied whole frames only, so a refusal may follow.
type HeadError struct{ Err error }

func (e *HeadError) Error() string { return "copy answer: " + e.Err.Error() }

func (e *HeadError) Unwrap() error { return e.Err }

// CopyAnswer copies upload-pack's answer to dst, and puts the ids of refs wanted by name where they belong, before the pack. git itself
// writes them before the shallow commits, where its own clients do not take them. CopyAnswer fails with a *HeadError where an answer of
// version 2 breaks off before its pack.
func (f *Fetch) CopyAnswer(dst io.Writer, answer io.Reader) error {
	if f.Version == 2 {
		if over, err := f.copyHead(dst, answer); over || err != nil {
			return err
		}
	}
	if _, err := io.Copy(dst, answer); err != nil {
		return fmt.Errorf("copy answer: %w", err)
	}
	return nil
}

// copyHead copies the frames up to the first of the pack. It reports whether the answer ended without a pack.
func (f *Fetch) copyHead(dst io.Writer, answer io.Reader) (over bool, err error) {
	r := pktline.NewReader(answer, math.MaxInt64)
	first := string(f.appendLine(nil, "packfile\n")[4:]) // of the pack
	var frame []byte
	for {
		kind, payload, err := r.Next()
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return true, &HeadError{err}
		}
		begins := kind == pktline.Data && string(payload) == first
		switch kind {
		case pktline.Flush:
			frame = pktline.AppendFlush(frame[:0])
		case pktline.Delim:
			frame = pktline.AppendDelim(frame[:0])
		case pktline.ResponseEnd:
			frame = pktline.AppendResponseEnd(frame[:0])
		default:
			frame = pktline.Append(frame[:0], payload)
		}
		if begins {
			frame = f.appendPackHead(frame[:0])
		}
		if _, err := dst.Write(frame); err != nil {
			return true, fmt.Errorf("copy answer: %w", err)
		}
		if begins {
			return false, nil
		}
	}
}
