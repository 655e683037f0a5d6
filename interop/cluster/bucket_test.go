package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/base/objects/objecttest"
	"github.com/graspd/graspd/internal/base/objects/s3"
	"github.com/graspd/graspd/internal/events/store/bucketlog"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/logtest"
)

// The keys of the server.
const access, secret = "cluster-test", "cluster-test-secret"

// gateway is the program of the server, which make cluster has built.
var gateway = filepath.Join("..", ".build", "versitygw")

// server is a real S3 server with one bucket.
type server struct {
	address, dir string
	process      *exec.Cmd
}

func begin(t *testing.T) *server {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", access)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{address: l.Addr().String(), dir: t.TempDir()}
	l.Close()
	s.start(t)
	t.Cleanup(s.kill)
	c, err := minio.New(s.address, &minio.Options{Creds: credentials.NewStaticV4(access, secret, ""), Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.MakeBucket(t.Context(), "name", minio.MakeBucketOptions{Region: "us-east-1"}); err != nil {
		t.Fatal(err)
	}
	return s
}

// start starts the server, and waits until it answers.
func (s *server) start(t *testing.T) {
	t.Helper()
	s.process = exec.Command(gateway, "--port", s.address, "--access", access, "--secret", secret, "--region", "us-east-1", "--quiet", "posix", "--sidecar", filepath.Join(s.dir, "attributes"), filepath.Join(s.dir, "data"))
	s.process.Stderr = os.Stderr
	for _, dir := range []string{"attributes", "data"} {
		if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.process.Start(); err != nil {
		t.Fatalf("%v: make cluster builds it", err)
	}
	for range 300 {
		if c, err := net.Dial("tcp", s.address); err == nil {
			c.Close()
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the server does not answer")
}

func (s *server) kill() {
	s.process.Process.Kill()
	s.process.Wait()
}

// prefixes makes each part of the bucket another one.
var prefixes atomic.Int64

func newPrefix() string { return fmt.Sprint("p", prefixes.Add(1)) }

func open(t testing.TB, address, prefix string) *s3.Bucket {
	t.Helper()
	at, err := s3.ParseLocation("s3://name/" + prefix + "?endpoint=http://" + address)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s3.Open(at, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestContracts(t *testing.T) {
	s := begin(t)
	objecttest.Contract(t, func(t testing.TB) objects.Store { return open(t, s.address, newPrefix()) })
	logtest.Contract(t, func(t testing.TB) commitlog.Log { return bucketlog.New(open(t, s.address, newPrefix())) })
}

// live lets nodes write one log of a server through an address, and checks what is there in the end.
func live(t *testing.T, s *server, through string, nodes logtest.Nodes) {
	prefix := newPrefix()
	ctx, end := context.WithCancel(t.Context())
	seen := make(chan commitlog.Position)
	go func() {
		r := bucketlog.New(open(t, through, prefix)).From(0, commitlog.Chain{})
		var last commitlog.Entry
		for ctx.Err() == nil {
			e, err := r.Next(ctx)
			if err == nil && !e.Follows(last.At, last.Chain) {
				t.Errorf("a reader saw %d after %d", e.At, last.At)
			}
			if err == nil {
				last = e
			}
		}
		seen <- last.At
	}()
	nodes.Run(t, func() commitlog.Log { return bucketlog.New(open(t, through, prefix)) })
	// The server may be down just now.
	all := nodes.Check(t, bucketlog.New(objects.Patient{Store: open(t, s.address, prefix)}))
	time.Sleep(5 * time.Second) // for the reader
	end()
	if at := <-seen; int(at) != len(all) {
		t.Errorf("a reader saw %d of %d entries", at, len(all))
	}
	t.Logf("%d commits, of which %d came into the log", nodes.Count*nodes.Commits, len(all))
}

// TestBehindABadProxy: nodes write one log, and one request in ten is lost, unanswered, late, cut or repeated.
func TestBehindABadProxy(t *testing.T) {
	s := begin(t)
	p, address := newProxy(t, s.address)
	live(t, s, address, logtest.Nodes{Seed: 1, Count: 4, Commits: 50, Freeze: 200 * time.Millisecond})
	for way := range p.spoiled {
		if n := p.spoiled[way].Load(); n < 3 {
			t.Errorf("way %d was tried %d times", way, n)
		}
	}
	t.Logf("%d requests", p.requests.Load())
}

// TestTheServerIsKilled: again and again while nodes write.
func TestTheServerIsKilled(t *testing.T) {
	s := begin(t)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for range 5 {
			time.Sleep(time.Second)
			s.kill()
			s.start(t)
		}
	}()
	live(t, s, s.address, logtest.Nodes{Seed: 2, Count: 3, Commits: 100, Freeze: 200 * time.Millisecond})
	<-over
}
