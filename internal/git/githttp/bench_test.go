package githttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// BenchmarkLsRefs answers ls-refs of a thousand refs: as it was made before, made anew, and by a process.
func BenchmarkLsRefs(b *testing.B) {
	w := open(b, settings{})
	dir := emptyRepository(b)
	history(b, dir, 1, 10)
	tip := strings.TrimSpace(git(b, dir, "", "rev-parse", "trunk"))
	var updates strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&updates, "create refs/heads/b%d %s\n", i, tip)
	}
	git(b, dir, updates.String(), "update-ref", "--stdin")
	git(b, dir, "", "pack-refs", "--all")
	w.serve("r", dir)
	q := gitwire.Request{Version: 2, LsRefs: &gitwire.LsRefs{Peel: true, Symrefs: true}}
	body := string(q.AppendTo(nil))
	for _, c := range []struct {
		name string
		anew bool
	}{{"again", false}, {"anew", true}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if c.anew {
					w.repos["r"].generation++
				}
				got := w.post(b, "upload-pack", body, "Git-Protocol", "version=2")
				if len(got.body) < 50_000 {
					b.Fatalf("%d bytes", len(got.body))
				}
			}
		})
	}
	b.Run("process", func(b *testing.B) {
		for b.Loop() {
			err := w.git.Run(b.Context(), gitproc.UploadPack(true), gitproc.Run{
				At: gitproc.Dirs{Repository: dir}, Protocol: 2, In: strings.NewReader(body), Out: io.Discard,
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkSharedPack sends a pack of 11 MB that is there already.
func BenchmarkSharedPack(b *testing.B) {
	w := open(b, settings{Config: githttp.Config{CacheBytes: 1 << 30}})
	dir := emptyRepository(b)
	history(b, dir, 1, 10)
	w.serve("r", dir)
	const size = 11 << 20
	w.pack = func(_ context.Context, out io.Writer) error {
		for range size >> 15 {
			if _, err := out.Write(make([]byte, 32<<10)); err != nil {
				return err
			}
		}
		return nil
	}
	f := &gitwire.Fetch{Version: 2, Wants: []gitwire.ObjectID{refsOf(b, dir).List[0].ID}, Done: true}
	body := string(gitwire.Request{Version: 2, Fetch: f}.AppendTo(nil))
	b.SetBytes(size)
	for b.Loop() {
		req, err := http.NewRequestWithContext(b.Context(), "POST", w.url+"/git-upload-pack", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-git-upload-pack-request")
		req.Header.Set("Git-Protocol", "version=2")
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err != nil || n < size {
			b.Fatal(n, err)
		}
	}
}
