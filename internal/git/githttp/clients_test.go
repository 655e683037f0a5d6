package githttp_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// TestGitFetches has git clone and fetch in each version of the protocol, and looks at what it took.
func TestGitFetches(t *testing.T) {
	for version := range 3 {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			t.Parallel()
			w := open(t, settings{})
			dir, at := emptyRepository(t), t.TempDir()
			client := func(args ...string) string {
				t.Helper()
				return git(t, at, "", append([]string{"-c", fmt.Sprintf("protocol.version=%d", version)}, args...)...)
			}
			took := func(what, want string) {
				t.Helper()
				if got := w.took(); got != want {
					t.Errorf("%s took %q, not %q", what, got, want)
				}
			}
			w.serve("r", "")
			client("clone", "-q", w.url, "waiting")
			w.serve("r", dir)
			client("clone", "-q", w.url, "nothing")
			took("clones of nothing", "")
			if head := client("-C", "nothing", "symbolic-ref", "HEAD"); version == 2 && head != "refs/heads/trunk\n" {
				t.Errorf("the clone of nothing has its HEAD at %q", head)
			}

			history(t, dir, 30, 100)
			w.serve("r", dir)
			for _, c := range []struct {
				what string
				args []string
				took string
			}{
				{"a clone", nil, "settled:3 pack"},
				{"a clone without blobs", []string{"--filter=blob:none", "--no-checkout"}, "settled:3 pack"},
				{"a mirror", []string{"--mirror"}, "settled:3 pack"},
				{"a shallow clone", []string{"--depth=3"}, map[bool]string{true: "settled:3 upload", false: "settled:3 upload settled:3 upload"}[version == 2]},
			} {
				name := strings.ReplaceAll(c.what, " ", "-")
				client(append(append([]string{"clone", "-q"}, c.args...), w.url, name)...)
				took(c.what, c.took)
				client("-C", name, "fsck", "--connectivity-only")
			}
			took("a look at what is there", "")
			if n := client("-C", "a-shallow-clone", "rev-list", "--count", "HEAD"); n != "3\n" {
				t.Errorf("%s commits in a clone of depth 3", n)
			}
			client("-C", "a-clone", "fetch", "-q")
			took("a fetch of nothing new", "")

			old := strings.TrimSpace(git(t, dir, "", "rev-parse", "trunk~5"))
			client("init", "-q", "by-id")
			client("-C", "by-id", "fetch", "-q", w.url, old)
			took("a fetch by id", map[bool]string{true: "settled:3 unreached settled:3 pack", false: "settled:3 upload"}[version == 2])
			if version == 2 {
				client("init", "-q", "by-id-again")
				client("-C", "by-id-again", "fetch", "-q", "--depth=1", w.url, old)
				if got := w.took(); strings.Contains(got, "unreached") {
					t.Errorf("the same again took %q", got)
				}
			}
			if _, errs, err := tryGit(filepath.Join(at, "by-id"), "", "-c", fmt.Sprint("protocol.version=", version), "fetch", w.url, strings.Repeat("9", 40)); err == nil ||
				!strings.Contains(errs, "not our ref "+strings.Repeat("9", 40)) {
				t.Errorf("a fetch of what is not there: %v, %s", err, errs)
			}
			took("a fetch of what is not there", "")

			git(t, dir, "commit refs/heads/trunk\ncommitter a <a@example.org> 1800000000 +0000\ndata 1\n.\nfrom refs/heads/trunk^0\n", "fast-import", "--quiet")
			w.serve("r", dir)
			client("-C", "a-clone", "fetch", "-q")
			if got := w.took(); !strings.HasSuffix(got, "settled:4 upload") {
				t.Errorf("a fetch took %q", got)
			}
			client("-C", "a-shallow-clone", "fetch", "-q", "--unshallow")
			for _, clone := range []string{"a-clone", "a-shallow-clone"} {
				if n := client("-C", clone, "rev-list", "--count", "origin/trunk"); n != "31\n" {
					t.Errorf("%s commits in %s after all", n, clone)
				}
			}
		})
	}
}

// TestWhatWasTakenBackIsRefused: nobody gets a commit or a tag by id to which no branch or tag leads any more, also with options; what a
// ref leads to is given, tip or not.
func TestWhatWasTakenBackIsRefused(t *testing.T) {
	w := open(t, settings{})
	dir := emptyRepository(t)
	git(t, dir, "blob\nmark :9\ndata 3\nold\n"+
		"commit refs/heads/taken\nmark :1\ncommitter a <a@example.org> 1700000000 +0000\ndata 6\nsecret\nM 644 :9 file\n"+
		"commit refs/heads/taken\nmark :2\ncommitter a <a@example.org> 1700000001 +0000\ndata 5\nagain\nfrom :1\n"+
		"commit refs/heads/trunk\nmark :3\ncommitter a <a@example.org> 1700000002 +0000\ndata 5\nfirst\n"+
		"commit refs/heads/trunk\nmark :4\ncommitter a <a@example.org> 1700000003 +0000\ndata 4\nnext\nfrom :3\n"+
		"tag v1\nfrom :3\ntagger a <a@example.org> 1700000004 +0000\ndata 2\nv1\n", "fast-import", "--quiet")
	id := func(rev string) string { return strings.TrimSpace(git(t, dir, "", "rev-parse", rev)) }
	refused := []string{id("taken"), id("taken~1")}
	given := []string{id("trunk"), id("trunk~1")}
	tag, blob := id("v1"), id("taken:file")
	git(t, dir, "", "update-ref", "-d", "refs/heads/taken")
	git(t, dir, "", "update-ref", "-d", "refs/tags/v1")
	w.serve("r", dir)
	fetch := func(version int, id string, options ...string) error {
		args := append([]string{"-c", fmt.Sprint("protocol.version=", version), "fetch", "-q"}, options...)
		at := emptyRepository(t)
		_, errs, err := tryGit(at, "", append(args, w.url, id)...)
		if err != nil && !strings.Contains(errs, "not our ref "+id) {
			t.Errorf("version %d: %s", version, errs)
		}
		return err
	}
	for version := range 3 {
		for _, options := range [][]string{nil, {"--depth=1"}, {"--filter=blob:none"}, {"--shallow-since=2001-01-01"}} {
			for _, id := range refused {
				if fetch(version, id, options...) == nil {
					t.Errorf("version %d, %v: what was taken back is given", version, options)
				}
			}
			for _, id := range given {
				if err := fetch(version, id, options...); err != nil {
					t.Errorf("version %d, %v: what is there is refused: %v", version, options, err)
				}
			}
		}
	}
	if fetch(2, tag) == nil {
		t.Error("a tag that was deleted is given")
	}
	if err := fetch(2, blob); err != nil {
		t.Errorf("a blob: %v", err)
	}
	git(t, dir, "", "update-ref", "refs/heads/back", refused[0])
	w.serve("r", dir)
	for _, id := range refused {
		if err := fetch(2, id); err != nil {
			t.Errorf("what a branch leads to again: %v", err)
		}
	}
}

// TestGitShowsWhatUploadPackRefuses: what upload-pack tells us alone, before and after it began to answer.
func TestGitShowsWhatUploadPackRefuses(t *testing.T) {
	w := open(t, settings{})
	dir := emptyRepository(t)
	history(t, dir, 3, 10)
	w.serve("r", dir)
	for version := range 3 {
		_, errs, err := tryGit(t.TempDir(), "", "-c", fmt.Sprint("protocol.version=", version), "clone", "--shallow-since=2099-01-01", w.url)
		if err == nil || !strings.Contains(errs, "remote error: no commits selected for shallow requests") {
			t.Errorf("version %d: %v, %s", version, err, errs)
		}
	}
	if got := w.answers(); strings.Count(got, "refused 1") != 3 || strings.Contains(got, "error") {
		t.Error(got)
	}
}

// TestWhatIsAnsweredWithoutAProcess: refs in every version, and what the client has.
func TestWhatIsAnsweredWithoutAProcess(t *testing.T) {
	w := open(t, settings{})
	dir := emptyRepository(t)
	history(t, dir, 3, 10)
	w.serve("r", dir)
	refs := refsOf(t, dir)
	for v := range 3 {
		for _, service := range []gitwire.Service{gitwire.UploadPack, gitwire.ReceivePack} {
			want := string(gitwire.AppendAdvertisement(nil, service, gitwire.Version(v), refs, "graspd"))
			for range 2 { // made, and as it was made
				got := w.ask(t, "GET", "/info/refs?service="+service.String(), "", "Git-Protocol", fmt.Sprint("version=", v))
				if got.body != want || got.status != 200 || got.head.Get("Content-Type") != "application/x-"+service.String()+"-advertisement" ||
					!strings.HasPrefix(got.head.Get("Cache-Control"), "no-cache") {
					t.Errorf("%s, version %d: %+v", service, v, got)
				}
			}
		}
	}
	q := &gitwire.LsRefs{Peel: true, Symrefs: true, Prefixes: []string{"refs/tags/"}}
	for _, agent := range []string{"a", "b"} {
		got := w.post(t, "upload-pack", string(gitwire.Request{Version: 2, LsRefs: q, Agent: agent}.AppendTo(nil)), "Git-Protocol", "version=2")
		if want := string(q.AppendAnswer(nil, refs)); got.body != want || got.status != 200 {
			t.Errorf("got %+v, not %q", got, want)
		}
	}
	tip := refs.List[0].ID
	f := &gitwire.Fetch{Version: 2, Wants: []gitwire.ObjectID{tip}, Haves: []gitwire.ObjectID{tip}, Done: true}
	got := w.post(t, "upload-pack", string(gitwire.Request{Version: 2, Fetch: f}.AppendTo(nil)), "Git-Protocol", "version=2")
	if want := string(f.AppendHead(nil)); got.body != want || want == "" {
		t.Errorf("got %+v, not %q", got, want)
	}
	if took := w.took(); took != "" {
		t.Errorf("it took %s", took)
	}
	const want = "receive-pack 0 log 2, receive-pack 1 log 2, receive-pack 2 log 2, upload-pack 0 log 2, upload-pack 1 log 2, upload-pack 2 log 4, upload-pack 2 none 1"
	if got := w.answers(); got != want {
		t.Errorf("counted %s", got)
	}
}

// post sends a request of that service.
func (w *world) post(t testing.TB, service, body string, head ...string) answer {
	t.Helper()
	return w.ask(t, "POST", "/git-"+service, body, append([]string{"Content-Type", "application/x-git-" + service + "-request"}, head...)...)
}
