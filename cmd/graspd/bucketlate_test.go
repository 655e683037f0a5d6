package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// serveLate serves a bucket with --bucket-commit in a process of its own, and publishes some events while the bucket is away.
func serveLate(t *testing.T, b *bucketServer, dir string, before, late []*nostr.Event) *child {
	t.Helper()
	p := spawn(t, "serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--domain", bucketDomain, "--data", dir, "--bucket", b.url, "--bucket-commit", "1m",
		"--disk-floor", "1MiB", "--store-cache", "1MiB", "--git=false", "--sync=false")
	at := &beside{child: p, admin: p.out.await(t, `for the operator: open (http://\S+)/\n`)}
	c := dial(t, grasp.RelayURL(p.out.await(t, `listens on (ws://\S+)\n`)))
	for _, e := range before {
		c.publish(e)
	}
	at.becomes(t, "/status.json", http.StatusOK, `"late_commits":0,`)
	b.away.Store(true)
	for _, e := range late {
		c.publish(e)
	}
	at.becomes(t, "/status.json", http.StatusOK, `"late_commits":[1-9]`)
	at.becomes(t, "/metrics", http.StatusOK, `graspd_bucket_late_commits [1-9]`)
	p.kill()
	b.away.Store(false)
	return p
}

// TestABucketThatHearsLater: with --bucket-commit people hear OK while the bucket does not answer, and a kill loses nothing: the next start puts what the
// bucket lacks there before anything else, so that the disk may go then.
func TestABucketThatHearsLater(t *testing.T) {
	b := newBucket(t)
	events := someEvents(8)
	dir := filepath.Join(t.TempDir(), "data")
	serveLate(t, b, dir, events[:3], events[3:6])
	r := serveBucket(t, b, dir, "--bucket-commit", "1s")
	r.logs.await(t, `the bucket has what came last now" commits=[1-9]`)
	c := dial(t, r.url)
	c.publish(events[6])
	if code := r.stop(); code != exitOK {
		t.Fatalf("exit code %d: %s", code, r.logs)
	}
	want := stored(t, dir)
	if n := strings.Count(want, "\n"); n != 7 {
		t.Errorf("%d events are stored", n)
	}
	dir = filepath.Join(t.TempDir(), "other")
	if r = serveBucket(t, b, dir); r.stop() != exitOK || stored(t, dir) != want {
		t.Errorf("another machine has %s, want %s", stored(t, dir), want)
	}
}

// TestABucketThatOthersHaveWrittenMeanwhile: what one disk alone has is not forced upon a bucket that has gone on; a start says so, and keeps it.
func TestABucketThatOthersHaveWrittenMeanwhile(t *testing.T) {
	b := newBucket(t)
	events := someEvents(4)
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	serveLate(t, b, first, events[:2], events[2:3])
	r := serveBucket(t, b, second)
	dial(t, r.url).publish(events[3])
	if code := r.stop(); code != exitOK {
		t.Fatalf("exit code %d: %s", code, r.logs)
	}
	for range 2 {
		code, _, errs := call(t, "", nil, "serve", "--listen", "127.0.0.1:0", "--domain", bucketDomain, "--data", first, "--bucket", b.url)
		if code != exitFail || !strings.Contains(errs, "commits lie on this disk alone") || !strings.Contains(errs, "start on an empty data directory") {
			t.Errorf("%d %s", code, errs)
		}
	}
}

func TestHowLateABucketMayBe(t *testing.T) {
	b := newBucket(t)
	for says, args := range map[string][]string{
		"of no effect without --bucket":     {"--bucket-commit", "1s"},
		"of no use with --cluster-listen":   {"--bucket-commit", "1s", "--bucket", b.url, "--cluster-listen", "127.0.0.1:0"},
		"1m1s is not allowed: at most 1m0s": {"--bucket-commit", "61s", "--bucket", b.url},
	} {
		code, _, errs := call(t, "", nil, append([]string{"serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0"}, args...)...)
		if code != exitUsage || !strings.Contains(errs, says) {
			t.Errorf("%v: %d %s", args, code, errs)
		}
	}
}
