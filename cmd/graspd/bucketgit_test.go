package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/base/objects/objecttest"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// hoster is a relay whose git data may lie in a bucket, and a project in it.
type hoster struct {
	*testing.T
	addr string // where it listens
	at   int64  // of the last state
}

// project is a repository of an owner, and somebody's checkout of it.
type project struct {
	h        *hoster
	d, dir   string
	tip      string // that git said is there
	announce *nostr.Event
}

var hosterKey = testkit.Key(1)

func bucketService(t *testing.T) grasp.Service {
	t.Helper()
	s, err := grasp.ParseService(bucketDomain)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (h *hoster) url(d string) string {
	s := bucketService(h.T)
	return "http://" + h.addr + strings.TrimPrefix(s.CloneURL(hosterKey.PubKey(), d), s.WebURL())
}

func (h *hoster) dial() *client {
	h.Helper()
	u, err := grasp.NormalizeRelay("ws://" + h.addr)
	if err != nil {
		h.Fatal(err)
	}
	return dial(h.T, u)
}

// begin announces a project and pushes a commit of so many bytes that nothing makes smaller.
func (h *hoster) begin(d string, noise int) *project {
	h.Helper()
	s := bucketService(h.T)
	p := &project{h: h, d: d, dir: h.TempDir()}
	p.announce = testkit.Sign(hosterKey, time.Now().Unix()-100, nip34.KindRepository, "", nostr.Tag{"d", d}, nostr.Tag{"name", d},
		nostr.Tag{"clone", s.CloneURL(hosterKey.PubKey(), d)}, nostr.Tag{"relays", s.RelayURL().String()})
	h.dial().publish(p.announce)
	git(h.T, p.dir, "init", "-q", "-b", "main")
	b := make([]byte, noise)
	_, _ = rand.NewChaCha8([32]byte{byte(len(d)), d[len(d)-1]}).Read(b)
	if err := os.WriteFile(filepath.Join(p.dir, "noise"), b, 0o600); err != nil {
		h.Fatal(err)
	}
	p.push("one")
	return p
}

// push pushes a commit.
func (p *project) push(text string) {
	p.h.Helper()
	tip := commitIn(p.h.T, p.dir, text)
	p.h.at++
	p.h.dial().publish(testkit.Sign(hosterKey, time.Now().Unix()-50+p.h.at, nip34.KindState, "", nostr.Tag{"d", p.d}, nostr.Tag{"refs/heads/main", tip}, nostr.Tag{"HEAD", "ref: refs/heads/main"}))
	git(p.h.T, p.dir, "push", "-q", p.h.url(p.d), "main")
	p.tip = tip
}

// cloned clones the project, and requires that all of it comes.
func (p *project) cloned() (dir string) {
	p.h.Helper()
	dir = filepath.Join(p.h.TempDir(), "clone")
	git(p.h.T, p.h.TempDir(), "clone", "-q", p.h.url(p.d), dir)
	git(p.h.T, dir, "fsck", "--full")
	if got := git(p.h.T, dir, "rev-parse", "HEAD"); got != p.tip {
		p.h.Errorf("the clone of %s is at %s, not %s", p.d, got, p.tip)
	}
	return dir
}

// hosts starts a relay with git in this process, with a bucket or without.
func (h *hoster) hosts(dir string, args ...string) *running {
	h.Helper()
	r := serve(h.T, append([]string{"--domain", bucketDomain, "--data", dir, "--git", "--sync=false"}, args...)...)
	h.addr = strings.TrimPrefix(string(r.url), "ws://")
	return r
}

// packsIn are the files of packs in a data directory, of a kind, and their bytes.
func packsIn(t *testing.T, data, suffix string) (files []string, bytes int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(data, "git/??/??/*/objects/pack/*"+suffix))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	return files, bytes
}

// TestGitDataOutlivesTheDisk: a machine whose data directory goes while it runs has all repositories again on an empty one, and what was pushed before
// its event; check reads what is in the bucket.
func TestGitDataOutlivesTheDisk(t *testing.T) {
	b, h := newBucket(t), &hoster{T: t}
	dir := filepath.Join(t.TempDir(), "data")
	line := func() []string {
		return []string{"serve", "--git", "--sync=false", "--listen", "127.0.0.1:0", "--admin-listen", "", "--disk-floor", "1MiB", "--domain", bucketDomain, "--data", dir, "--bucket", b.url}
	}
	first := spawn(t, line()...)
	h.addr = first.out.await(t, `listens on ws://(\S+)\n`)
	p := h.begin("tool", 1000)
	p.push("two")
	change := commitIn(t, p.dir, "a change")
	pr := testkit.Sign(testkit.Key(2), time.Now().Unix(), nip34.KindPullRequest, "", nostr.Tag{"c", change}, nostr.Tag{"a", testkit.RepositoryAddress(hosterKey, "tool")})
	git(t, p.dir, "push", "-q", h.url("tool"), change+":refs/nostr/"+pr.ID.String())
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	first.kill()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	second := spawn(t, line()...)
	h.addr = second.out.await(t, `listens on ws://(\S+)\n`)
	clone := p.cloned()
	c := h.dial()
	c.publish(pr)
	git(t, clone, "fetch", "-q", "origin", "refs/nostr/"+pr.ID.String())
	if got := git(t, clone, "rev-parse", "FETCH_HEAD"); got != change {
		t.Errorf("the pull request is at %s", got)
	}
	git(t, p.dir, "reset", "-q", "--hard", p.tip)
	p.push("three")
	p.cloned()
	if err := second.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := second.wait(t); code != exitOK {
		t.Errorf("exit code %d: %s", code, second.errs)
	}
	if code, out, errs := call(t, "", nil, "check", "--git", "--data", dir); code != exitOK || !strings.Contains(out, "the git data of 1 repository is in a bucket, and was not looked at") {
		t.Errorf("check: %d %s%s", code, out, errs)
	}
	if code, out, errs := call(t, "", nil, "check", "--git", "--data", dir, "--bucket", b.url); code != exitOK || !strings.HasSuffix(out, "\nsound\n") || strings.Contains(out, "not looked at") {
		t.Errorf("check: %d %s%s", code, out, errs)
	}
	b.damage(t, ".pack")
	if code, out, errs := call(t, "", nil, "check", "--git", "--data", dir, "--bucket", b.url); code != exitFail || !strings.Contains(out+errs, "is damaged") {
		t.Errorf("check of what is damaged: %d %s%s", code, out, errs)
	}
	back := filepath.Join(t.TempDir(), "back")
	if code, out, errs := call(t, "", nil, "bucket", "export", "--bucket", b.url, back); code != exitFail || !strings.Contains(errs, "git data is lost in the bucket") || !strings.Contains(errs, ":tool: ") {
		t.Errorf("export of what is damaged: %d %s%s", code, out, errs)
	}
	// What is whole goes on without the bucket, and what is lost is pushed again.
	if code, _, errs := call(t, "", nil, "check", "--git", "--data", back); code != exitFail || !strings.Contains(errs, ":tool: ") {
		t.Errorf("check of the export: %d %s", code, errs)
	}
	if code, _, errs := call(t, "", nil, "check", "--git", "--repair", "--data", back); code != exitFail || !strings.Contains(errs, "git data is lost") {
		t.Errorf("repair of the export: %d %s", code, errs)
	}
	r := h.hosts(back)
	p.push("four")
	p.cloned()
	r.stop()
}

// damage changes a byte of each object of packs of a kind: some may be of no repository any more.
func (b *bucketServer) damage(t *testing.T, suffix string) {
	t.Helper()
	all, err := b.memory.List(t.Context(), "prefix/packs/", "", objects.MaxList)
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for _, x := range all {
		if !strings.HasSuffix(x.Name, suffix) {
			continue
		}
		damaged++
		body, err := b.memory.Get(t.Context(), x.Name, 0, int(x.Size))
		if err != nil {
			t.Fatal(err)
		}
		body[x.Size/2] ^= 1
		if err := b.memory.Delete(t.Context(), x.Name); err != nil {
			t.Fatal(err)
		}
		if o, err := b.memory.Put(t.Context(), x.Name, strings.NewReader(string(body))); o != objects.Done {
			t.Fatal(err)
		}
	}
	if damaged == 0 {
		t.Fatalf("no object ends with %s among %d", suffix, len(all))
	}
}

// TestMoreRepositoriesThanDisk: with --git-local all are cloned, one after the other, and the disk stays within it.
func TestMoreRepositoriesThanDisk(t *testing.T) {
	b, h := newBucket(t), &hoster{T: t}
	const bound = 250 << 10
	some := []string{"--bucket", b.url, "--git-max-repository", "200KiB", "--git-local", "250KiB"}
	r := h.hosts(t.TempDir(), some...)
	var all []*project
	for i := range 4 {
		all = append(all, h.begin(fmt.Sprint("tool", i), 100<<10))
	}
	r.stop()
	dir := t.TempDir()
	r = h.hosts(dir, some...)
	if files, _ := packsIn(t, dir, ".pack"); len(files) > 0 {
		t.Errorf("packs come before anybody asks: %q", files)
	}
	for range 2 {
		for _, p := range all {
			p.cloned()
			if _, bytes := packsIn(t, dir, ".pack"); bytes > bound || bytes < 100<<10 {
				t.Errorf("%d bytes of packs are here", bytes)
			}
		}
	}
	if files, _ := packsIn(t, dir, ".idx"); len(files) != len(all) {
		t.Errorf("%d indexes", len(files))
	}
	r.stop()
	for says, args := range map[string][]string{
		"of no effect without --bucket": {"--git-local", "3GiB"}, "1GiB are less than one repository may have (--git-max-repository 2GiB)": {"--git-local", "1GiB", "--bucket", b.url},
	} {
		ctx, over := context.WithTimeout(t.Context(), 20*time.Second) // else it would serve
		errs := newOutput()
		code := run(ctx, append([]string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "", "--domain", bucketDomain, "--data", dir}, args...), stdio{strings.NewReader(""), io.Discard, errs}, noEnv)
		if over(); code != exitUsage || !strings.Contains(errs.String(), says) {
			t.Errorf("%q: %d %s", args, code, errs)
		}
	}
}

// TestGitDataGoesIntoABucketAndBack: with init and export, through a life without a bucket, and into another one.
func TestGitDataGoesIntoABucketAndBack(t *testing.T) {
	b, h := newBucket(t), &hoster{T: t}
	dir, back := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "back")
	r := h.hosts(dir)
	p := h.begin("tool", 1000)
	p.push("two")
	r.stop()
	into := func(url, from string) {
		t.Helper()
		if code, out, errs := call(t, "", nil, "bucket", "init", "--bucket", url, "--from", from); code != exitOK || !strings.Contains(out, "the git data") {
			t.Fatalf("init: %d %s%s", code, out, errs)
		}
		if err := os.RemoveAll(from); err != nil {
			t.Fatal(err)
		}
	}
	into(b.url, dir)
	r = h.hosts(filepath.Join(t.TempDir(), "elsewhere"), "--bucket", b.url)
	p.cloned()
	p.push("three")
	r.stop()
	if code, out, errs := call(t, "", nil, "bucket", "export", "--bucket", b.url, back); code != exitOK || !strings.Contains(out, "the git data") {
		t.Fatalf("export: %d %s%s", code, out, errs)
	}
	whole := func(data string) {
		t.Helper()
		if code, out, errs := call(t, "", nil, "check", "--git", "--data", data); code != exitOK || !strings.HasSuffix(out, "\nsound\n") || strings.Contains(out, "bucket") || !strings.Contains(out, "1 repository with 1 ref") {
			t.Errorf("check: %d %s%s", code, out, errs)
		}
	}
	whole(back)
	r = h.hosts(back)
	p.cloned()
	p.push("four")
	r.stop()
	whole(back)
	other := strings.Replace(b.url, "/prefix?", "/other?", 1)
	into(other, back)
	r = h.hosts(filepath.Join(t.TempDir(), "third"), "--bucket", other)
	p.cloned()
	p.push("five")
	r.stop()
}

// TestAnInterruptedInitPutsNoPackTwice: what is there already is not put again, and the last one does the rest.
func TestAnInterruptedInitPutsNoPackTwice(t *testing.T) {
	b, h := newBucket(t), &hoster{T: t}
	dir := filepath.Join(t.TempDir(), "data")
	r := h.hosts(dir)
	var all []*project
	for i := range 4 {
		all = append(all, h.begin(fmt.Sprint("tool", i), 1000))
	}
	r.stop()
	args := []string{"bucket", "init", "--bucket", b.url, "--from", dir}
	put := map[string]int{}
	for n := 1; ; n++ {
		ctx, cut := context.WithCancel(t.Context())
		packs := 0
		b.fault.Store(new(func(q objecttest.Request) (f objecttest.Fault) {
			if q.Op != "put" || !strings.Contains(q.Name, "packs/") {
				return f
			}
			if packs++; packs > n {
				cut()
				return objecttest.Fault{Lost: true}
			}
			put[q.Name]++
			return f
		}))
		errs := newOutput()
		code := run(ctx, args, stdio{strings.NewReader(""), io.Discard, errs}, noEnv)
		cut()
		if code == exitOK {
			break
		}
		if n > 20 {
			t.Fatalf("it never ends: %s", errs)
		}
	}
	b.fault.Store(nil)
	if len(put) != 8 {
		t.Errorf("%d objects: %v", len(put), put)
	}
	for name, n := range put {
		if n != 1 {
			t.Errorf("%s is put %d times", name, n)
		}
	}
	r = h.hosts(filepath.Join(t.TempDir(), "again"), "--bucket", b.url)
	for _, p := range all {
		p.cloned()
	}
	r.stop()
}

// TestABackupOfARelayWithABucket has all git data, also what was not on the disk, and serves without a bucket; of a stopped relay whose packs are not here
// there is none.
func TestABackupOfARelayWithABucket(t *testing.T) {
	b, h := newBucket(t), &hoster{T: t}
	r := h.hosts(t.TempDir(), "--bucket", b.url)
	one, two := h.begin("one", 1000), h.begin("two", 1000)
	r.stop()
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	r = h.hosts(dir, "--bucket", b.url)
	one.cloned()
	r.stop()
	for _, where := range []string{to, "-"} {
		code, _, errs := call(t, "", nil, "backup", "--data", dir, where)
		if code != exitFail || !strings.Contains(errs, "git data is in the bucket alone: of 1 repository, 1 MiB") || !strings.Contains(errs, "graspd bucket export") {
			t.Errorf("a backup without packs: %d %s", code, errs)
		}
	}
	r = h.hosts(dir, "--bucket", b.url, "--admin-listen", "127.0.0.1:0")
	admin := r.out.await(t, `at (http://\S+)/status.json\n`)
	if code, out, errs := call(t, "", nil, "backup", "--data", dir, "--admin", admin, to); code != exitOK {
		t.Fatalf("backup: %d %s%s", code, out, errs)
	}
	// The operator is told how the bucket stands.
	if _, out, errs := call(t, "", nil, "status", "--data", dir, "--admin", admin); !strings.Contains(out, "bucket s3://name/prefix") || !strings.Contains(out, " of packs are on this disk; ") || !strings.Contains(out, ", 0 failed\n") {
		t.Errorf("status: %s%s", out, errs)
	}
	figures := page(t, admin+"/metrics")
	for _, want := range []string{`graspd_bucket_request_seconds_count{kind="get"} `, `graspd_bucket_failures_total{kind="put"} 0`, "graspd_bucket_position ", "graspd_bucket_away_since_timestamp_seconds 0\n"} {
		if !strings.Contains(figures, want) || strings.Contains(figures, want+"0\n") {
			t.Errorf("no %s in the metrics", want)
		}
	}
	r.stop()
	closed := filepath.Join(t.TempDir(), "closed")
	if code, out, errs := call(t, "", nil, "backup", "--data", dir, closed); code != exitOK {
		t.Errorf("backup of what is all here: %d %s%s", code, out, errs)
	}
	for _, data := range []string{to, closed} {
		if code, out, errs := call(t, "", nil, "check", "--git", "--data", data); code != exitOK || !strings.Contains(out, "2 repositories with 2 refs") {
			t.Errorf("check: %d %s%s", code, out, errs)
		}
		r = h.hosts(data)
		one.cloned()
		two.cloned()
		two.push("on the copy of " + filepath.Base(data))
		two.cloned()
		git(t, two.dir, "reset", "-q", "--hard", "HEAD~1")
		two.tip = git(t, two.dir, "rev-parse", "HEAD")
		r.stop()
	}
}

// TestDamageInABucketIsTold: once somebody needs an object that is not as it was put.
func TestDamageInABucketIsTold(t *testing.T) {
	b, h := newBucket(t), &hoster{T: t}
	r := h.hosts(t.TempDir(), "--bucket", b.url)
	p := h.begin("tool", 1000)
	r.stop()
	b.damage(t, ".pack")
	dir := t.TempDir()
	r = h.hosts(dir, "--bucket", b.url, "--admin-listen", "127.0.0.1:0")
	admin := r.out.await(t, `at (http://\S+)/status.json\n`)
	if text := page(t, admin+"/problems.json"); strings.Contains(text, "has lost or changed") {
		t.Errorf("nobody has asked yet: %s", text)
	}
	if out, err := gitIn(t, t.TempDir(), "clone", "-q", h.url(p.d), "x"); err == nil {
		t.Errorf("it is cloned: %s", out)
	}
	if text := page(t, admin+"/problems.json"); !strings.Contains(text, "the bucket has lost or changed 1 object of packs") || !strings.Contains(text, "graspd check --bucket names all") || !strings.Contains(text, ".pack: ") {
		t.Errorf("the operator is not told: %s", text)
	}
}

// page is what an address answers.
func page(t *testing.T, url string) string {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Accept", "text/html, */*")
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestGitDataWaitsForTheBucket: a start whose bucket stops to answer waits until it does, and a stop ends that.
func TestGitDataWaitsForTheBucket(t *testing.T) {
	b, h := newBucket(t), &hoster{T: t}
	r := h.hosts(t.TempDir(), "--bucket", b.url)
	p := h.begin("tool", 1000)
	r.stop()
	b.awayOf.Store(new("/packs/"))
	r = h.hosts(t.TempDir(), "--bucket", b.url)
	r.logs.await(t, "(cannot be made ready yet)")
	b.awayOf.Store(nil)
	p.cloned()
	r.stop()
	b.awayOf.Store(new("/packs/"))
	r = h.hosts(t.TempDir(), "--bucket", b.url)
	if code := r.stop(); code != exitOK {
		t.Errorf("exit code %d: %s", code, r.logs)
	}
}
