package githttp_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitproc"
)

// names returns the names of what is in an archive.
func names(t *testing.T, archive string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return strings.Join(all, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h.Name)
	}
}

// archives tells how they were answered.
func (w *world) archives() string {
	var all []string
	for a, n := range w.server.Stats().Archives {
		if n > 0 {
			all = append(all, fmt.Sprint(githttp.Answer(a), " ", n))
		}
	}
	return strings.Join(all, ", ")
}

func TestArchives(t *testing.T) {
	w := open(t, settings{Config: githttp.Config{CacheBytes: 1 << 20, Name: "git.example.org"}})
	dir := emptyRepository(t)
	history(t, dir, 2, 10)
	git(t, dir, "", "branch", "feature/<x>", "trunk~1")
	gone := strings.TrimSpace(git(t, dir, "", "commit-tree", "-m", "taken back", "trunk^{tree}"))
	w.serve("r", dir)
	id := strings.TrimSpace(git(t, dir, "", "rev-parse", "trunk"))
	tree := strings.TrimSpace(git(t, dir, "", "rev-parse", "trunk^{tree}"))
	w.took()
	for asked, want := range map[string]string{
		"trunk": "r-trunk", "HEAD": "r-trunk", "v1": "r-v1", "refs/tags/v1": "r-v1", "refs/heads/trunk": "r-trunk", "feature/%3Cx%3E": "r-feature--x-", id: "r-" + id[:10],
	} {
		got := w.ask(t, "GET", "/archive/"+asked+".tar.gz", "")
		h := got.head
		if got.status != 200 || h.Get("Content-Disposition") != "attachment; filename="+want+".tar.gz" || h.Get("Content-Type") != "application/gzip" || h.Get("X-Robots-Tag") != "noindex" || h.Get("Content-Length") != fmt.Sprint(len(got.body)) {
			t.Fatalf("%s: %d %v", asked, got.status, h)
		}
		files := want + "/ " + want + "/f0"
		if !strings.HasPrefix(want, "r-feature") {
			files += " " + want + "/f1"
		}
		if got := names(t, got.body); got != "pax_global_header "+files && got != files {
			t.Errorf("%s: %s", asked, got)
		}
	}
	if n := strings.Count(w.took(), "archive:"); n != 4 {
		t.Errorf("git made %d", n)
	}
	for asked, want := range map[string]int{
		"nothing": 404, gone: 404, strings.Repeat("e", 40): 404, tree: 404, "..": 404, "trunk%00": 404, "": 404,
	} {
		if got := w.ask(t, "GET", "/archive/"+asked+".tar.gz", ""); got.status != want || got.head.Get("Etag") != "" {
			t.Errorf("%q: %d %s", asked, got.status, got.body)
		}
	}
	page := w.ask(t, "GET", "/archive/nothing.tar.gz", "", "Accept", "text/html,*/*;q=0.8")
	if page.status != 404 || !strings.HasPrefix(page.head.Get("Content-Type"), "text/html") || !strings.Contains(page.body, "There is no such archive here") ||
		!strings.Contains(page.body, "no such branch, tag or commit") || !strings.Contains(page.body, `<a href="/">All repositories of git.example.org</a>`) ||
		!strings.Contains(page.body, `<nav aria-label="Repository"><ul>`+"\n"+`<li><a href="`+path("r")+`">r</a></li>`) {
		t.Errorf("in a browser: %d %v %s", page.status, page.head, page.body)
	}
	nobody := w.askURL(t, "GET", "http://"+w.addr+path("nobodys")+"/archive/trunk.tar.gz", "", "Accept", "text/html")
	if nobody.status != 404 || !strings.Contains(nobody.body, "All repositories") || strings.Contains(nobody.body, "<nav") {
		t.Errorf("of a repository that is not here: %d %s", nobody.status, nobody.body)
	}
	if text := w.ask(t, "GET", "/archive/nothing.tar.gz", "", "Accept", "*/*"); text.body != "404 not found: there is no such branch, tag or commit here\n" {
		t.Errorf("for everybody else: %q", text.body)
	}
	for rest, want := range map[string]int{"/archive/trunk.zip": 403, "/archive": 403, "/archives/trunk.tar.gz": 403} {
		if got := w.ask(t, "GET", rest, ""); got.status != want {
			t.Errorf("%q: %d", rest, got.status)
		}
	}
	w.serve("empty", "")
	if got := w.askURL(t, "GET", "http://"+w.addr+path("empty")+"/archive/"+id+".tar.gz", ""); got.status != 404 {
		t.Errorf("of nothing: %d", got.status)
	}
	if got := w.ask(t, "POST", "/archive/trunk.tar.gz", ""); got.status != 405 {
		t.Errorf("a POST: %d", got.status)
	}
}

// An archive can be had in parts, and is not sent to who has it.
func TestPartsOfArchives(t *testing.T) {
	w := open(t, settings{Config: githttp.Config{CacheBytes: 1 << 20}})
	dir := emptyRepository(t)
	history(t, dir, 1, 3000)
	w.serve("r", dir)
	w.took()
	const at = "/archive/trunk.tar.gz"
	whole := w.ask(t, "GET", at, "")
	tag := whole.head.Get("Etag")
	part := w.ask(t, "GET", at, "", "Range", "bytes=100-199", "If-Range", tag)
	if part.status != http.StatusPartialContent || part.body != whole.body[100:200] {
		t.Errorf("a part: %d, %d bytes", part.status, len(part.body))
	}
	if last := w.ask(t, "GET", at, "", "Range", "bytes=-7"); last.status != http.StatusPartialContent || last.body != whole.body[len(whole.body)-7:] {
		t.Errorf("the end: %d, %d bytes", last.status, len(last.body))
	}
	if head := w.ask(t, "HEAD", at, ""); head.status != 200 || head.body != "" || head.head.Get("Content-Length") != fmt.Sprint(len(whole.body)) {
		t.Errorf("HEAD: %d %v", head.status, head.head)
	}
	if same := w.ask(t, "GET", at, "", "If-None-Match", "W/"+tag+`, "x"`); same.status != http.StatusNotModified || same.body != "" {
		t.Errorf("who has it: %d", same.status)
	}
	if took := w.took(); strings.Count(took, "archive:") != 1 {
		t.Errorf("it took %s", took)
	}
	if got := w.archives(); got != "none 1, cache 3, pack 1" {
		t.Errorf("counted %s", got)
	}
	if got := w.answers(); got != "" {
		t.Errorf("counted as git's: %s", got)
	}
}

func (w *bubbled) download(t testing.TB, from string) *client {
	t.Helper()
	c := w.dial(t, from)
	c.send("GET " + path("r") + "/archive/trunk.tar.gz HTTP/1.1\r\nHost: x\r\n\r\n")
	return c
}

// Those who ask for the same archive at the same time share one process, and the last of them to leave ends it. One that takes long comes without its length.
func TestOneArchiveForAll(t *testing.T) {
	inBubble(t, settings{Config: githttp.Config{CacheBytes: 1 << 20}}, func(t *testing.T, w *bubbled) {
		p := w.paced()
		left := w.download(t, stranger)
		synctest.Wait()
		left.Close()
		synctest.Wait()
		if err := <-p.ended; err == nil {
			t.Error("nobody ended it")
		}
		w.took()
		first, second := w.download(t, stranger), w.download(t, another)
		synctest.Wait()
		p.pieces <- "some"
		time.Sleep(10 * time.Second)
		p.pieces <- " more"
		close(p.pieces)
		synctest.Wait()
		for _, c := range []*client{first, second, w.download(t, another)} {
			if res := c.answer(); res.ContentLength != 9 || c.all() != "some more" {
				t.Errorf("%d bytes", res.ContentLength)
			}
		}
		if took := w.took(); took != "settled:1 archive:r-trunk" {
			t.Errorf("it took %s", took)
		}
		w.tip = mustID(t, strings.Repeat("2", 40))
		w.change()
		p = w.paced()
		slow := w.download(t, stranger)
		synctest.Wait()
		p.pieces <- "some"
		time.Sleep(25 * time.Second)
		if res := slow.answer(); res.ContentLength != -1 || res.StatusCode != 200 {
			t.Errorf("%d, %d bytes", res.StatusCode, res.ContentLength)
		}
		p.pieces <- " more"
		close(p.pieces)
		if got := slow.all(); got != "some more" {
			t.Errorf("it came as %q", got)
		}
		if got := w.archives(); got != "cache 1, flight 1, pack 2, refused 1" {
			t.Errorf("counted %s", got)
		}
	})
}

// What an archive costs is bounded, and who asks for too much waits before the next one.
func TestArchivesThatCostTooMuch(t *testing.T) {
	large := func(_ context.Context, out io.Writer) (err error) {
		n := 0
		for b := make([]byte, 1<<20); err == nil; n++ {
			_, err = out.Write(b)
		}
		if n > 257 {
			t.Errorf("%d MiB are made", n)
		}
		return err
	}
	fails := func(err error) func(context.Context, io.Writer) error {
		return func(context.Context, io.Writer) error { return err }
	}
	for name, c := range map[string]struct {
		pack    func(context.Context, io.Writer) error
		status  int
		text    string
		penalty bool
	}{
		"large": {large, 404, "too large", true}, "out of time": {fails(&gitproc.Error{Ending: gitproc.OutOfTime}), 503, "too much work", true},
		"busy": {fails(gitproc.ErrBusy), 429, "too much", false}, "no commit": {fails(&gitproc.Error{Ending: gitproc.Exited, Code: 128}), 404, "no such", false},
		"a fault": {fails(io.ErrUnexpectedEOF), 500, "fault", false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
				w.pack = c.pack
				d := w.download(t, stranger)
				if res := d.answer(); res.StatusCode != c.status || !strings.Contains(d.all(), c.text) {
					t.Errorf("%d", res.StatusCode)
				}
				if res := w.download(t, stranger).answer(); (res.StatusCode == 429 && res.Header.Get("Retry-After") == "60") != c.penalty {
					t.Errorf("the next one: %d %v", res.StatusCode, res.Header)
				}
			})
		})
	}
}
