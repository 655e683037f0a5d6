package githttp_test

import (
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// TestBodiesInflateSoFar: a body may be some times as large as what is sent of it, and beyond that is given up, whatever else it
// may be.
func TestBodiesInflateSoFar(t *testing.T) {
	w := open(t, settings{})
	w.serve("r", "")
	read := int64(0)
	w.decides(func(_ context.Context, p githttp.PushCall) githttp.PushResult {
		n, err := io.Copy(io.Discard, p.Pack)
		if read = n; err != nil {
			return githttp.PushResult{Unpack: err.Error(), Outcomes: p.Push.RefuseAll("unpack")}
		}
		return githttp.PushResult{Outcomes: p.Push.RefuseAll("")}
	})
	push := gitwire.Push{Commands: []gitwire.Command{{Ref: "refs/heads/x", New: mustID(t, strings.Repeat("9", 40))}}, Report: gitwire.ReportStatus}
	head := push.AppendTo(nil)
	noise := make([]byte, 512<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise) // it never fails
	for _, c := range []struct {
		what string
		pack []byte
		want string
		most int64
	}{
		{"a bomb", make([]byte, 16<<20), "the body inflates to more than 32 times what was sent", 4 << 20},
		{"little", make([]byte, 512<<10), "unpack ok", 512 << 10},
		{"noise", noise, "unpack ok", 512 << 10},
		{"noise and zeros", append(noise[:len(noise):len(noise)], make([]byte, 15<<20)...), "unpack ok", 16 << 20},
	} {
		body := zipped(t, append(head[:len(head):len(head)], c.pack...))
		got := w.post(t, "receive-pack", body, "Content-Encoding", "gzip")
		if !strings.Contains(got.body, c.want) || read > c.most {
			t.Errorf("%s: %d bytes were read, %.300q", c.what, read, got.body)
		}
	}
}
