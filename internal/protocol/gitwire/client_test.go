package gitwire_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/pktline"
)

// server serves one repository to git clients with nothing but this package between them and git's plumbing.
type server struct {
	t      *testing.T
	dir    string
	refuse map[string]string // refs, and why they are not pushed to
	deny   string            // why nothing is taken, before the commands are judged

	mu     sync.Mutex
	work   []gitwire.Work
	pushes []*gitwire.Push
}

// serve gives the URL of a server.
func serve(t *testing.T, dir string) (*server, string) {
	t.Helper()
	s := &server{t: t, dir: dir}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return s, h.URL + "/r.git"
}

// took are the sorts of work since the last call.
func (s *server) took() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.work = nil }()
	return fmt.Sprint(s.work)
}

func (s *server) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body := io.Reader(q.Body)
	if q.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(q.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = z
	}
	version := gitwire.ParseVersion(q.Header.Get("Git-Protocol"))
	var answer []byte
	var err error
	switch q.URL.Path {
	case "/r.git/info/refs":
		service, ok := gitwire.ParseService(q.URL.Query().Get("service"))
		if !ok {
			http.Error(w, "the dumb protocol", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/x-"+service.String()+"-advertisement")
		answer = gitwire.AppendAdvertisement(nil, service, version, refsOf(s.t, s.dir), "graspd/test")
	case "/r.git/git-upload-pack":
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		answer, err = s.upload(body, version)
	case "/r.git/git-receive-pack":
		w.Header().Set("Content-Type", "application/x-git-receive-pack-result")
		answer, err = s.receive(body)
	default:
		http.NotFound(w, q)
		return
	}
	if err != nil {
		s.t.Error(err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := w.Write(answer); err != nil {
		s.t.Log(err)
	}
}

func (s *server) upload(body io.Reader, version gitwire.Version) ([]byte, error) {
	q, err := gitwire.ParseRequest(body, version)
	if err != nil {
		return q.AppendRefusal(nil, err.Error()), nil
	}
	refs := refsOf(s.t, s.dir)
	switch {
	case q.LsRefs != nil:
		return q.LsRefs.AppendAnswer(nil, refs), nil
	case q.Fetch == nil:
		return nil, nil
	}
	f := q.Fetch
	if err := f.Resolve(refs); err != nil {
		return q.AppendRefusal(nil, err.Error()), nil
	}
	work := f.Work()
	s.mu.Lock()
	s.work = append(s.work, work)
	s.mu.Unlock()
	switch work {
	case gitwire.WorkNone:
		return f.AppendHead(nil), nil
	case gitwire.WorkUpload:
		args := []string{"-c", "uploadpack.allowFilter=true", "-c", "uploadpack.allowReachableSHA1InWant=true", "-c", "uploadpack.allowSidebandAll=true", "upload-pack", "--stateless-rpc", s.dir}
		out, errs, err := tryGit("", []string{fmt.Sprintf("GIT_PROTOCOL=version=%d", version)}, string(q.ForUploadPack().AppendTo(nil)), args...)
		if err != nil && out == "" { // else it says itself what is wrong
			return nil, fmt.Errorf("%w: %s", err, errs)
		}
		var answer bytes.Buffer
		err = f.CopyAnswer(&answer, strings.NewReader(out))
		return answer.Bytes(), err
	}
	for _, tip := range f.Tips() {
		if _, _, err := tryGit(s.dir, nil, "", "cat-file", "-e", tip.String()); err != nil {
			return q.AppendRefusal(nil, gitwire.NotOurRef(tip).Error()), nil
		}
	}
	out := bytes.NewBuffer(f.AppendHead(nil))
	pack := packOf(s.t, s.dir, f)
	if f.PackFrame() == 0 {
		out.WriteString(pack)
		return out.Bytes(), nil
	}
	bands := pktline.NewSideband(out, f.PackFrame())
	if err := bands.Progress([]byte("from graspd\n")); err != nil {
		return nil, err
	}
	if _, err := bands.Write([]byte(pack)); err != nil {
		return nil, err
	}
	err = bands.Flush()
	return out.Bytes(), err
}

func (s *server) receive(body io.Reader) ([]byte, error) {
	p, err := gitwire.ParsePush(body)
	s.mu.Lock()
	s.pushes = append(s.pushes, p)
	s.mu.Unlock()
	switch {
	case err != nil:
		return p.AppendRefusal(nil, err.Error()), nil
	case p.Empty():
		return nil, nil
	case s.deny != "":
		return p.AppendRefusal(nil, s.deny), nil
	}
	if p.NeedsPack() {
		pack, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		if _, errs, err := tryGit(s.dir, nil, string(pack), "index-pack", "--stdin", "--fix-thin"); err != nil {
			return p.AppendReport(nil, "index-pack failed: "+errs, p.RefuseAll("no pack")), nil
		}
	}
	var outcomes []gitwire.Outcome
	var updates strings.Builder
	for _, c := range p.Commands {
		outcomes = append(outcomes, gitwire.Outcome{Ref: c.Ref, Refused: s.refuse[c.Ref]})
		if s.refuse[c.Ref] == "" {
			fmt.Fprintf(&updates, "update %s %s %s\n", c.Ref, c.New, c.Old)
		}
	}
	if _, errs, err := tryGit(s.dir, nil, updates.String(), "update-ref", "--stdin"); err != nil {
		return nil, fmt.Errorf("%w: %s", err, errs)
	}
	var answer []byte
	if p.Sideband {
		answer = pktline.AppendBand(nil, pktline.Sideband64kFrame, pktline.BandProgress, []byte("judged by graspd\n"))
	}
	return p.AppendReport(answer, "", append(outcomes, p.RefuseAll("")[len(outcomes):]...)), nil
}

// TestGitClients has git itself clone, fetch and push, in each version of the protocol.
func TestGitClients(t *testing.T) {
	for version := range 3 {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			t.Parallel()
			s, url := serve(t, emptyRepository(t, "refs/heads/trunk"))
			at := t.TempDir()
			client := func(dir string, args ...string) string {
				t.Helper()
				return git(t, dir, "", append([]string{"-c", fmt.Sprintf("protocol.version=%d", version), "-c", "commit.gpgsign=false"}, args...)...)
			}
			wants := func(what, want string) {
				t.Helper()
				if got := s.took(); got != want {
					t.Errorf("%s took %s, not %s", what, got, want)
				}
			}
			a := filepath.Join(at, "a")
			client(at, "clone", "-q", url, a)
			if head := client(a, "symbolic-ref", "HEAD"); version == 2 && head != "refs/heads/trunk\n" {
				t.Errorf("the clone of nothing has its HEAD at %q", head)
			}
			wants("a clone of nothing", "[]")

			var history strings.Builder
			for i := range 40 {
				fmt.Fprintf(&history, "commit refs/heads/trunk\ncommitter a <a@example.org> %d +0000\ndata 1\n.\n", 1700000000+i)
			}
			git(t, a, history.String(), "fast-import", "--quiet")
			client(a, "checkout", "-q", "trunk")
			write(t, filepath.Join(a, "file"), strings.Repeat("content\n", 1000))
			client(a, "add", "file")
			client(a, "commit", "-q", "-m", "a file")
			client(a, "tag", "-a", "-m", "t", "v1")
			client(a, "push", "-q", "origin", "HEAD:refs/heads/trunk", "v1")

			for what, c := range map[string]struct {
				args []string
				work string
			}{
				"a clone":               {nil, "[pack]"},
				"a clone without blobs": {[]string{"--filter=blob:none", "--no-checkout"}, "[pack]"},
				"a mirror":              {[]string{"--mirror"}, "[pack]"},
				"a bare clone of v1":    {[]string{"--bare", "--branch=v1", "--single-branch"}, "[pack]"},
				"a shallow clone":       {[]string{"--depth=3"}, map[int]string{0: "[upload upload]", 1: "[upload upload]", 2: "[upload]"}[version]},
			} {
				dir := filepath.Join(at, strings.ReplaceAll(what, " ", "-"))
				client(at, append(append([]string{"clone", "-q"}, c.args...), url, dir)...)
				wants(what, c.work)
				client(dir, "fsck", "--connectivity-only")
				wants("fsck after "+what, "[]")
			}
			shallow := filepath.Join(at, "a-shallow-clone")
			if n := client(shallow, "rev-list", "--count", "HEAD"); n != "3\n" {
				t.Errorf("%s commits in a clone of depth 3", n)
			}

			client(a, "commit", "-q", "--allow-empty", "-m", "more")
			client(a, "push", "-q", "origin", "HEAD:refs/heads/trunk", "HEAD~3:refs/heads/old")
			b := filepath.Join(at, "a-clone")
			client(b, "fetch", "-q")
			if got := s.took(); !strings.Contains(got, "upload") {
				t.Errorf("a fetch took %s", got)
			}
			if client(b, "rev-parse", "origin/trunk", "origin/old") != client(a, "rev-parse", "HEAD", "HEAD~3") {
				t.Error("the fetch did not bring what was pushed")
			}
			client(b, "fetch", "-q")
			wants("a fetch of nothing new", "[]")
			client(shallow, "fetch", "-q", "--unshallow")
			if n := client(shallow, "rev-list", "--count", "origin/trunk"); n != "42\n" {
				t.Errorf("%s commits after all", n)
			}
			s.took()
			client(a, "push", "-q", "origin", ":refs/heads/old")
			fetched := filepath.Join(at, "by-id")
			client(at, "init", "-q", fetched)
			client(fetched, "fetch", "-q", url, strings.TrimSpace(client(a, "rev-parse", "HEAD~5")))
			wants("a fetch by id", "[pack]")
		})
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestGitShowsRefusals has git push what is refused, and fetch what is not there, and reads what it prints.
func TestGitShowsRefusals(t *testing.T) {
	s, url := serve(t, emptyRepository(t, "refs/heads/main"))
	s.refuse = map[string]string{"refs/heads/no": "no state event for this push"}
	dir := filepath.Join(t.TempDir(), "a")
	git(t, "", "", "init", "-q", "-b", "main", dir)
	git(t, dir, "", "commit", "-q", "--allow-empty", "-m", "x")
	try := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, environment()
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("git %v succeeds", args)
		}
		return string(out)
	}
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"one of two refs", []string{"push", url, "main:refs/heads/yes", "main:refs/heads/no"}, []string{"remote: judged by graspd", "[remote rejected] main -> no (no state event for this push)", "[new branch]      main -> yes"}},
		{"a ref that cannot be", []string{"push", url, "HEAD:refs/heads/-x"}, []string{`[remote rejected] HEAD -> -x ('refs/heads/-x' begins with a dash after refs/heads/)`}},
		{"a fetch of nobody's", []string{"fetch", url, hexOf("9")}, []string{"upload-pack: not our ref " + hexOf("9")}},
		{"a fetch with a costly filter", []string{"clone", "--filter=tree:2", url, "x"}, []string{"tree filter allows max depth 0, but got 2"}},
		{"a fetch with a costly filter, version 0", []string{"-c", "protocol.version=0", "clone", "--filter=sparse:oid=main", url, "x"}, []string{"filter 'sparse:oid' not supported"}},
		{"an old clone of a branch that is not there", []string{"-c", "protocol.version=0", "fetch", "--shallow-exclude=--x", url, "yes"}, []string{`deepen-not is not a ref: '--x'`}},
	} {
		out := try(c.args...)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: git prints\n%swithout %q", c.name, out, want)
			}
		}
	}
	s.deny = "no such repository: announce it first"
	if out := try("push", url, "main"); !strings.Contains(out, "remote: no such repository: announce it first") || strings.Contains(out, "bad band") {
		t.Errorf("git prints\n%s", out)
	}
	s.deny = ""
	if refs := git(t, s.dir, "", "for-each-ref", "--format=%(refname)"); refs != "refs/heads/yes\n" {
		t.Errorf("%q is pushed", refs)
	}
	if p := s.pushes[0]; p.Report != gitwire.ReportStatusV2 || !p.Sideband || len(p.Commands) != 2 || !strings.HasPrefix(p.Agent, "git/") {
		t.Errorf("%+v", p)
	}
}

// TestGitProbes: git asks whether it may post, with an empty request, before it sends much.
func TestGitProbes(t *testing.T) {
	s, url := serve(t, emptyRepository(t, "refs/heads/main"))
	dir := filepath.Join(t.TempDir(), "a")
	git(t, "", "", "init", "-q", "-b", "main", dir)
	noise := make([]byte, 100_000)
	for i, r := 0, seeded(1); i < len(noise); i++ {
		noise[i] = byte(r.Uint32())
	}
	write(t, filepath.Join(dir, "noise"), string(noise))
	git(t, dir, "", "add", "noise")
	git(t, dir, "", "commit", "-q", "-m", "noise")
	git(t, dir, "", "-c", "http.postBuffer=65536", "push", "-q", url, "main")
	if len(s.pushes) != 2 || !s.pushes[0].Empty() || s.pushes[1].Empty() {
		t.Errorf("%d posts", len(s.pushes))
	}
	git(t, dir, "", "push", "-q", "--atomic", url, "main:refs/heads/a", "main:refs/heads/b")
	if p := s.pushes[len(s.pushes)-1]; !p.Atomic || !slices.ContainsFunc(p.Commands, func(c gitwire.Command) bool { return c.Ref == "refs/heads/b" && c.Old.IsZero() }) {
		t.Errorf("%+v", p)
	}
}
