package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/objects/objecttest"
	"github.com/graspd/graspd/internal/base/objects/s3/s3test"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// bucketServer is an S3 server, and the URL of its bucket.
type bucketServer struct {
	url    string
	memory *objecttest.Memory
	away   atomic.Bool
	awayOf atomic.Pointer[string] // it does not answer for names that have this in them
	fault  atomic.Pointer[func(objecttest.Request) objecttest.Fault]
}

func newBucket(t *testing.T) *bucketServer {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.Access)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.Secret)
	b := &bucketServer{memory: new(objecttest.Memory)}
	b.memory.Fault = func(q objecttest.Request) objecttest.Fault {
		if f := b.fault.Load(); f != nil {
			return (*f)(q)
		}
		return objecttest.Fault{}
	}
	s := httptest.NewServer(&s3test.Server{Has: b.memory, Instead: func(w http.ResponseWriter, r *http.Request) bool {
		of := b.awayOf.Load()
		away := b.away.Load() || of != nil && strings.Contains(r.URL.Path, *of)
		if away {
			s3test.Refuse(w, http.StatusServiceUnavailable, "SlowDown")
		}
		return away
	}})
	t.Cleanup(s.Close)
	b.url = "s3://name/prefix?endpoint=" + s.URL + "&region=" + s3test.Region
	return b
}

// someEvents are an announcement and so many issues.
func someEvents(n int) (all []*nostr.Event) {
	now := time.Now().Unix()
	owner := testkit.Key(1)
	all = append(all, testkit.Announcement(owner, now-1000, "proj", "wss://relay.example.org"))
	for i := range n {
		all = append(all, testkit.Issue(testkit.Key(2), now-500+int64(i), testkit.RepositoryAddress(owner, "proj"), fmt.Sprint("issue ", i)))
	}
	return all
}

const bucketDomain = "relay.example.org"

func serveBucket(t *testing.T, b *bucketServer, dir string, args ...string) *running {
	t.Helper()
	return serve(t, append([]string{"--domain", bucketDomain, "--data", dir, "--bucket", b.url}, args...)...)
}

// said is what a command of graspd writes of a data directory.
func said(t *testing.T, command, dir string) string {
	t.Helper()
	code, out, errs := call(t, "", nil, command, "--data", dir)
	if code != exitOK {
		t.Fatalf("%s: %d %s", command, code, errs)
	}
	return out
}

// stored is all that a data directory has, and publicKey whose it is.
func stored(t *testing.T, dir string) string    { t.Helper(); return said(t, "export", dir) }
func publicKey(t *testing.T, dir string) string { t.Helper(); return said(t, "key", dir) }

// TestABucketOutlivesTheDisk: a machine whose data directory is gone has all that was acknowledged again, and is the same relay.
func TestABucketOutlivesTheDisk(t *testing.T) {
	b := newBucket(t)
	events := someEvents(30)
	want := ""
	key := ""
	for i := range 3 {
		dir := filepath.Join(t.TempDir(), "data")
		r := serveBucket(t, b, dir)
		c := dial(t, r.url)
		for _, e := range events[10*i : 10*i+10] {
			c.publish(e)
		}
		if i == 0 {
			r.logs.await(t, `(snapshot .*position=)`) // else the log alone has it
		}
		if code := r.stop(); code != exitOK {
			t.Fatalf("exit code %d: %s", code, r.logs)
		}
		if k := publicKey(t, dir); key != "" && k != key {
			t.Errorf("another key")
		} else {
			key = k
		}
		got := stored(t, dir)
		if !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 10*i+10 {
			t.Errorf("life %d: %d events", i, strings.Count(got, "\n"))
		}
		want = got
		if code, out, errs := call(t, "", nil, "check", "--data", dir); code != exitOK {
			t.Errorf("check: %d %s%s", code, out, errs)
		}
		if code, _, errs := call(t, "", nil, "check", "--repair", "--data", dir); code != exitFail || !strings.Contains(errs, "copy of what is in the bucket") {
			t.Errorf("check --repair: %d %s", code, errs)
		}
		if code, _, errs := call(t, "", nil, "serve", "--data", dir, "--domain", bucketDomain, "--listen", "127.0.0.1:0", "--admin-listen", ""); code != exitFail || !strings.Contains(errs, "graspd bucket export") {
			t.Errorf("serve without the bucket: %d %s", code, errs)
		}
	}
}

// TestFromADiskToABucketAndBack: what is stored, and the key, go into a bucket and come back; what does not belong together is refused and changed
// by nothing.
func TestFromADiskToABucketAndBack(t *testing.T) {
	b := newBucket(t)
	dir, back := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "back")
	events := someEvents(20)
	r := serve(t, "--domain", bucketDomain, "--data", dir)
	c := dial(t, r.url)
	for _, e := range events[:15] {
		c.publish(e)
	}
	r.stop()
	alone, key := stored(t, dir), publicKey(t, dir)
	refused := func(what, says string, args ...string) {
		t.Helper()
		code, out, errs := call(t, "", nil, args...)
		if code != exitFail || !strings.Contains(errs, says) || strings.Contains(errs, s3test.Secret) {
			t.Errorf("%s: %d %s%s", what, code, out, errs)
		}
	}
	start := []string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "", "--domain", bucketDomain, "--bucket", b.url, "--data"}
	refused("a store beside an empty bucket", "graspd bucket init --bucket", append(start, dir)...)
	refused("the status of an empty bucket", "has no relay", "bucket", "status", "--bucket", b.url)
	refused("an export of an empty bucket", "has no relay", "bucket", "export", "--bucket", b.url, back)
	refused("init of nothing", "no such file", "bucket", "init", "--bucket", b.url, "--from", filepath.Join(dir, "none"))

	code, out, errs := call(t, "", nil, "bucket", "init", "--bucket", b.url, "--from", dir)
	if code != exitOK || !strings.Contains(out, "start graspd serve with --bucket") {
		t.Fatalf("init: %d %s%s", code, out, errs)
	}
	if stored(t, dir) != alone || publicKey(t, dir) != key {
		t.Error("init changes what is stored")
	}
	refused("init of a bucket that has a relay", "has a relay already", "bucket", "init", "--bucket", b.url, "--from", dir)
	other := t.TempDir()
	r = serve(t, "--domain", bucketDomain, "--data", other)
	r.stop()
	refused("another store beside the bucket", "nothing to do with each other", append(start, other)...)

	if code, out, errs = call(t, "", nil, "bucket", "status", "--bucket", b.url); code != exitOK || !strings.Contains(out, "(term 1)") || !strings.Contains(out, "snapshot: position 1,") {
		t.Errorf("status: %d %s%s", code, out, errs)
	}
	r = serveBucket(t, b, filepath.Join(t.TempDir(), "elsewhere")) // the directory may be gone
	c = dial(t, r.url)
	for _, e := range events[15:] {
		c.publish(e)
	}
	refused("init while a relay runs", "has a relay already", "bucket", "init", "--bucket", b.url, "--from", dir)
	r.stop()
	refused("another domain", "has relay.example.org", "serve", "--listen", "127.0.0.1:0", "--admin-listen", "", "--bucket", b.url, "--data", dir, "--domain", "other.example.org", "--log-level", "error")
	if code, out, errs = call(t, "", nil, "bucket", "status", "--bucket", b.url); code != exitOK || !strings.Contains(out, "for "+bucketDomain) || !strings.Contains(out, "(term 2)") {
		t.Errorf("status: %d %s%s", code, out, errs)
	}
	if code, out, errs = call(t, "", nil, "bucket", "export", "--bucket", b.url, back); code != exitOK {
		t.Fatalf("export: %d %s%s", code, out, errs)
	}
	if got := stored(t, back); !strings.HasPrefix(got, alone) || strings.Count(got, "\n") != 21 || publicKey(t, back) != key {
		t.Errorf("the export has %d events", strings.Count(got, "\n"))
	}
	refused("an export over something", "exists", "bucket", "export", "--bucket", b.url, back)
	r = serve(t, "--domain", bucketDomain, "--data", back)
	dial(t, r.url).publish(someEvents(21)[21])
}

// TestAnInterruptedInitGoesOn: until the end nothing is of the bucket, and the next init does the rest.
func TestAnInterruptedInitGoesOn(t *testing.T) {
	b := newBucket(t)
	dir := filepath.Join(t.TempDir(), "data")
	r := serve(t, "--domain", bucketDomain, "--data", dir)
	c := dial(t, r.url)
	for _, e := range someEvents(10) {
		c.publish(e)
	}
	r.stop()
	alone := stored(t, dir)
	args := []string{"bucket", "init", "--bucket", b.url, "--from", dir}
	for n := 1; ; n += 1 + n/20 {
		ctx, cut := context.WithCancel(t.Context())
		puts := 0
		b.fault.Store(new(func(q objecttest.Request) objecttest.Fault {
			if q.Op == "put" {
				puts++
			}
			if puts == n {
				cut()
			}
			return objecttest.Fault{}
		}))
		errs := newOutput()
		code := run(ctx, args, stdio{strings.NewReader(""), io.Discard, errs}, noEnv)
		cut()
		if code == exitOK {
			if n < 20 {
				t.Errorf("only %d puts", n)
			}
			break
		}
		if stored(t, dir) != alone || n > 100 {
			t.Fatalf("cut at put %d: something else is stored, or it never ends: %s", n, errs)
		}
	}
	b.fault.Store(nil)
	again := filepath.Join(t.TempDir(), "data")
	r = serveBucket(t, b, again)
	r.stop()
	if stored(t, again) != alone {
		t.Error("another machine has something else")
	}
}

// TestTheLastOneToStartWrites: a second machine takes over, and the first one ends with an exit code of its own and says who writes.
func TestTheLastOneToStartWrites(t *testing.T) {
	b := newBucket(t)
	first := spawn(t, "serve", "--listen", "127.0.0.1:0", "--admin-listen", "", "--domain", bucketDomain, "--data", t.TempDir(), "--bucket", b.url, "--disk-floor", "1MiB")
	first.out.await(t, `listens on (ws://\S+)\n`)
	second := serveBucket(t, b, t.TempDir())
	if code := first.wait(t); code != exitOther {
		t.Errorf("exit code %d", code)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if errs := first.errs.String(); !strings.Contains(errs, host+", for "+bucketDomain+", since ") {
		t.Errorf("it says: %s", errs)
	}
	dial(t, second.url).publish(someEvents(0)[0])
}

// TestAStartWithoutABucketSaysWhy, and repeats no secret.
func TestAStartWithoutABucketSaysWhy(t *testing.T) {
	b := newBucket(t)
	b.away.Store(true)
	dir := filepath.Join(t.TempDir(), "data")
	args := []string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "", "--domain", bucketDomain, "--data", dir, "--bucket"}
	if code, _, errs := call(t, "", nil, append(args, b.url)...); code != exitFail || !strings.Contains(errs, "SlowDown") || !strings.Contains(errs, "s3://name/prefix") {
		t.Errorf("%d %s", code, errs)
	}
	if _, err := os.Stat(node.StoreIn(dir)); err == nil {
		t.Error("there is a store")
	}
	for url, says := range map[string]string{
		"s3://key:" + s3test.Secret + "@name?region=eu-1": "the keys of a bucket do not belong into its URL",
		"https://name": "a bucket is written as",
	} {
		if code, _, errs := call(t, "", nil, append(args, url)...); code != exitUsage || !strings.Contains(errs, says) || strings.Contains(errs, s3test.Secret) {
			t.Errorf("%s: %d %s", url, code, errs)
		}
	}
	for _, line := range [][]string{{"bucket"}, {"bucket", "init"}, {"bucket", "status"}, {"bucket", "export", "--bucket", b.url}, {"bucket", "status", "x", "--bucket", b.url}, {"bucket", "init", "--bucket", b.url}, {"bucket", "status", "--from", "x", "--bucket", b.url}} {
		if code, _, errs := call(t, "", nil, line...); code != exitUsage {
			t.Errorf("%q: %d %s", line, code, errs)
		}
	}
}
